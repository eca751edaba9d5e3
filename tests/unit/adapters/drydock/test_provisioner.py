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
from tests.unit.tables import table

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


def test_a_site_without_nodes_is_refused_before_any_group_is_asked(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("POST /nodefilter", Answer(200, []))
    with pytest.raises(Refused, match="names no node, or Drydock could not read it"):
        drydock.select_nodes(DESIGN, [(Selector(node_names=frozenset({N1})),)])
    assert len(peer.requests) == 1


def test_a_selection_that_breaks_breaks_the_whole(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("POST /nodefilter", Answer(200, ["n1"]), BROKEN)
    with pytest.raises(Unavailable):
        drydock.select_nodes(DESIGN, [(Selector(node_tags=frozenset({"t"})),)])


@table(
    ("created", "date", "found"),
    {
        "their clock an hour ahead": ("2026-03-02 12:59:59", "Mon, 02 Mar 2026 13:00:01 GMT", True),
        "ahead, made before": ("2026-03-02 11:54:50", "Mon, 02 Mar 2026 13:00:01 GMT", False),
        "their clock an hour behind": ("2026-03-02 10:59:59", "Mon, 02 Mar 2026 11:00:01 GMT", True),
        "no date: within 5 minutes": ("2026-03-02 11:55:05", None, True),
        "no date: before that": ("2026-03-02 11:54:05", None, False),
    },
)
def test_a_task_is_found_by_drydocks_own_clock(
    peer: Peer, drydock: DrydockProvisioner, created: str, date: str | None, found: bool
) -> None:
    filters = [{"filter_type": "union", "node_names": ["n1", "n2"]}]
    listed = {
        "task_id": JOB,
        "action": "prepare_nodes",
        "parent_task_id": None,
        "design_ref": DESIGN,
        "node_filter": {"filter_set_type": "union", "filter_set": filters},
        "created": created,
    }
    peer.on("GET /tasks", Answer(200, [listed], {"Date": date} if date else {}))
    job = drydock.find(MARKER, PREPARE, intended_at=NOON - timedelta(seconds=1))
    assert job == (JOB if found else None)
    assert peer.requests[0].headers["x-context-marker"] == MARKER


def test_a_purged_task_is_lost(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("GET /tasks/t1", Answer(404, {"type": "error", "message": "Task not found", "retry": False}))
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.ok) == (JobState.LOST, False)


def test_reasons_are_fetched_once_the_task_has_ended(peer: Peer, drydock: DrydockProvisioner) -> None:
    told = {"message": "no PXE", "error": True, "context_type": "node", "context": "n2", "ts": "1"}
    errors = {"s": {"details": {"messageList": [told]}}}
    failed = task("complete", successes=("n1",), failures=("n2",), subtask_errors=errors)
    peer.on("GET /tasks/t1", task("running"), failed)
    peer.on("GET /nodes", machines(n1="Ready"))
    assert drydock.report(JOB, PREPARE).state is JobState.RUNNING
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, {N1}, {N2})
    assert report.reasons == {"n2": "no PXE"}
    assert [one.query for one in peer.asked("GET /tasks/t1")] == [[], [], [("subtaskerrors", "true")]]


@table(
    "second",
    {
        "broken": BROKEN,
        "purged meanwhile": Answer(404, {"type": "error", "message": "gone"}),
    },
)
def test_results_count_even_if_their_reasons_cannot_be_fetched(
    peer: Peer, drydock: DrydockProvisioner, second: Answer
) -> None:
    peer.on("GET /tasks/t1", task("complete", failures=("n1", "n2")), second)
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.failed) == (JobState.ENDED, {N1, N2})


def test_a_node_still_commissioning_is_waited_for(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("GET /tasks/t1", task("complete", successes=("n1", "n2")))
    peer.on("GET /nodes", machines(n1="Ready", n2="Commissioning"), machines(n1="Ready", n2="Failed commissioning"))
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.succeeded, report.failed) == (JobState.RUNNING, {N1}, set())
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.succeeded, report.failed) == (JobState.ENDED, {N1}, {N2})
    assert "Failed commissioning" in report.reasons[N2]


def test_drydocks_word_counts_if_maas_cannot_be_asked(peer: Peer, drydock: DrydockProvisioner) -> None:
    peer.on("GET /tasks/t1", task("complete", successes=("n1", "n2")))
    peer.on("GET /nodes", BROKEN)
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.ok, report.succeeded) == (JobState.ENDED, True, {N1, N2})
    assert "not confirmed by MAAS" in report.message


def test_nothing_is_certain_of_a_running_prepare_if_maas_cannot_be_asked(
    peer: Peer, drydock: DrydockProvisioner
) -> None:
    peer.on("GET /tasks/t1", task("running", successes=("n1",)))
    peer.on("GET /nodes", BROKEN)
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
    peer.on(f"GET /tasks/{JOB}", *[task("queued")] * 4, task("running"))
    peer.on("GET /tasks", Answer(200, [other, {"task_id": JOB, "status": "queued", **times}]))
    peer.on("GET /tasks/t0", Answer(200, other))

    ahead = [drydock.report(JOB, PREPARE).ahead for _ in range(5)]

    assert ahead == [None, *[JobAhead(JobId("t0"), "mara", "deploy_nodes")] * 3, None]
    assert len(peer.asked("GET /tasks")) == 1


def test_the_state_of_a_queued_task_counts_if_the_tasks_cannot_be_listed(
    peer: Peer, drydock: DrydockProvisioner
) -> None:
    peer.on(f"GET /tasks/{JOB}", task("queued"))
    peer.on("GET /tasks", BROKEN)
    drydock.report(JOB, PREPARE)
    report = drydock.report(JOB, PREPARE)
    assert (report.state, report.ahead) == (JobState.QUEUED, None)
