"""The port's promises where only a peer that lies, breaks or forgets can test them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.ports.provisioner import JobAhead, JobId, JobState, Marker, Operation, Work
from tests.peer import Answer, Peer

JOB = JobId("t1")
MARKER = Marker("7f4d4d0e-3a2f-4d57-9d1b-0a51d5c0a6f3")
DESIGN = "deckhand+http://127.0.0.1:9000/api/v1.0/revisions/3/rendered-documents"
TEMPLATE = DESIGN.replace("/3/", "/{revision}/")
NOON = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
N1, N2 = NodeName("n1"), NodeName("n2")
PREPARE = Work(Operation.PREPARE_NODES, DESIGN, (N1, N2))
BROKEN = Answer(500, {"title": "500 Internal Server Error"})


@pytest.fixture
def drydock(peer: Peer) -> Iterator[DrydockProvisioner]:
    client = DrydockClient(peer.url, token=lambda: "token", retry_pause=0.0)
    yield DrydockProvisioner(client, design_url=TEMPLATE, now=lambda: NOON)
    client.close()


def task(status: str, *, successes: tuple[str, ...] = (), failures: tuple[str, ...] = (), **more: Any) -> Answer:
    result = {"status": "partial_success", "successes": list(successes), "failures": list(failures)}
    return Answer(200, {"task_id": JOB, "status": status, "result": result} | more)


def machines(**labels: str) -> Answer:
    return Answer(200, [{"hostname": name, "status_name": label} for name, label in labels.items()])


def test_a_design_is_addressed_by_its_revision(drydock: DrydockProvisioner) -> None:
    assert drydock.design_reference(3) == DESIGN


def test_an_address_drydock_cannot_follow_is_refused_at_construction(peer: Peer) -> None:
    client = DrydockClient(peer.url, token=lambda: "token")
    with pytest.raises(ValueError, match="scheme"):
        DrydockProvisioner(client, design_url="deckhand+https://dh/{revision}")


def test_each_distinct_question_is_asked_once_and_all_nodes_not_again(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("POST /nodefilter", Answer(200, ["n1", "n2"]))
    one, other = Selector(node_names=frozenset({N1})), Selector(node_tags=frozenset({"t"}))
    assert drydock.select_nodes(DESIGN, [(one,), (), (other,), (one,), (Selector(),)]) == ({N1, N2},) * 5
    assert len(peer.requests) == 3
    assert peer.requests[0].json == {"design_ref": DESIGN, "node_filter": None}


def test_a_site_without_nodes_is_refused_and_a_selection_that_breaks_breaks_the_whole(
    peer: Peer, drydock: DrydockProvisioner
) -> None:
    """A design that could not be fetched shows no nodes, too: whoever serves it may be restarting."""
    peer.on("POST /nodefilter", Answer(200, []), Answer(200, []), Answer(200, ["n1"]), BROKEN)
    unread = Answer(500, {"type": "error", "message": "'NoneType' object has no attribute 'baremetal_nodes'"})
    peer.on("POST /validatedesign", Answer(200, {"kind": "Status", "status": "Success"}), unread)
    for error, told in ((Refused, "names no node"), (Unavailable, "could not fetch the design"), (Unavailable, "500")):
        with pytest.raises(error, match=told):
            drydock.select_nodes(DESIGN, [(Selector(node_tags=frozenset({"t"})),)])
    assert len(peer.asked("POST /nodefilter")) == 2 + 4  # it is asked three times while it breaks


def test_a_task_is_found_by_drydocks_own_clock(peer: Peer, drydock: DrydockProvisioner) -> None:
    filters = [{"filter_type": "union", "node_names": ["n1", "n2"]}]
    listed = {
        "task_id": JOB,
        "action": "prepare_nodes",
        "parent_task_id": None,
        "design_ref": DESIGN,
        "node_filter": {"filter_set_type": "union", "filter_set": filters},
        "created": "2026-03-02 10:59:59",
    }
    peer.on("GET /tasks", Answer(200, [listed], {"Date": "Mon, 02 Mar 2026 11:00:01 GMT"}), Answer(200, [listed]))
    found = [drydock.find(MARKER, PREPARE, intended_at=NOON - timedelta(seconds=1)) for _ in range(2)]
    assert found == [JOB, None]  # without a date, only clocks that agree are assumed
    assert peer.requests[0].headers["x-context-marker"] == MARKER


def test_reasons_are_fetched_once_the_task_has_ended(peer: Peer, drydock: DrydockProvisioner) -> None:
    told = {"message": "no PXE", "error": True, "context_type": "node", "context": "n2", "ts": "1"}
    errors = {"s": {"details": {"messageList": [told]}}}
    failed = task("complete", successes=("n1",), failures=("n2",), subtask_errors=errors)
    purged = Answer(404, {"type": "error", "message": "Task not found", "retry": False})
    peer.on("GET /tasks/t1", task("running"), failed)
    peer.on("GET /nodes", machines(n1="Ready"))
    assert drydock.report(JOB, PREPARE).state is JobState.RUNNING
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, {N1}, {N2})
    assert report.reasons == {"n2": "no PXE"}
    assert [one.query for one in peer.asked("GET /tasks/t1")] == [[], [], [("subtaskerrors", "true")]]

    for answer in (BROKEN, purged):  # the results count even without reasons
        peer.on("GET /tasks/t1", task("complete", failures=("n1", "n2")), answer)
        report = drydock.report(JOB, PREPARE)
        assert (report.state, report.failed) == (JobState.ENDED, {N1, N2})
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.ok) == (JobState.LOST, False)


def test_maas_is_asked_about_what_drydock_has_prepared(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("GET /tasks/t1", task("complete", successes=("n1", "n2")))
    settling = machines(n1="Ready", n2="Commissioning")
    peer.on("GET /nodes", settling, machines(n1="Ready", n2="Failed commissioning"), BROKEN)
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.succeeded, report.failed) == (JobState.RUNNING, {N1}, set())
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, {N1}, {N2})
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.ok, report.succeeded) == (JobState.ENDED, True, {N1, N2})
    assert "not confirmed by MAAS" in report.message
    peer.on("GET /tasks/t1", task("running", successes=("n1",)))  # then nothing is certain
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.succeeded) == (JobState.RUNNING, set())


def test_maas_is_asked_only_after_a_prepare_and_only_if_wanted(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("GET /tasks/t1", task("complete", successes=("n1", "n2")))
    drydock.report(JOB, Work(Operation.DEPLOY_NODES, DESIGN, (N1, N2)))
    trusting = DrydockProvisioner(
        DrydockClient(peer.url, token=lambda: "token"), design_url=TEMPLATE, verify_after_prepare=False
    )
    assert trusting.report(JOB, PREPARE).ok
    assert not peer.asked("GET /nodes")


def test_a_queued_task_names_the_task_ahead_with_one_list_of_all_tasks(peer: Peer, drydock: DrydockProvisioner) -> None:
    times = {"created": "2026-03-02 12:00:00", "parent_task_id": None}
    other = {"task_id": "t0", "status": "running", "action": "deploy_nodes", "created_by": "mara", **times}
    peer.on(f"GET /tasks/{JOB}", *[task("queued")] * 4, task("running"), task("queued"))
    peer.on("GET /tasks", Answer(200, [other, {"task_id": JOB, "status": "queued", **times}]), BROKEN)
    peer.on("GET /tasks/t0", Answer(200, other))

    ahead = [drydock.report(JOB, PREPARE).ahead for _ in range(5)]

    assert ahead == [None, *[JobAhead(JobId("t0"), "mara", "deploy_nodes")] * 3, None]
    assert len(peer.asked("GET /tasks")) == 1
    reports = [drydock.report(JOB, PREPARE) for _ in range(2)]  # the tasks cannot be listed
    assert [(one.state, one.ahead) for one in reports] == [(JobState.QUEUED, None)] * 2
