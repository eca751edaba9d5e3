"""The port's promises where only a peer that lies, breaks or is busy can test them."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.ironic.translate import claim
from shipyard_api.domain.burn_in import BurnIn
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.markers import marker_of
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.nodes import Node as Machine
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.errors import Busy, Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation, Wipe, Work
from tests.fakes.clock import FakeClock
from tests.peer import Answer, Peer
from tests.unit.tables import every_row, table

N1, N2 = NodeName("n1"), NodeName("n2")
MARKER, JOB = Marker("7f4d"), JobId("7f4d")
NOW = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
LOCKED = "Node u1 is locked by host c1, please retry after the current operation is completed."
MOVING = "Node n1 can not be updated while a state transition is in progress."
PROVISION, PATCH = "PUT /v1/nodes/u1/states/provision", "PATCH /v1/nodes/u1"
DONE = Answer(202)
Start = Callable[..., IronicProvisioner]


def work(operation: Operation, *names: str, wipe: Wipe = Wipe.ALL, step: DeployStep | None = None) -> Work:
    nodes = tuple(map(NodeName, names)) or (N1,)
    return Work(operation, "revision:3", nodes, wipe, {node: [step] for node in nodes} if step else {})


PREPARE, DEPLOY, DESTROY = Operation.PREPARE_NODES, Operation.DEPLOY_NODES, Operation.DESTROY_NODES


def no(status: int, text: str = "") -> Answer:
    return Answer(status, {"error_message": json.dumps({"faultstring": text})})


def node(state: str, name: str = "n1", *, mark: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    extra = {"shipyard": {"marker": MARKER, "operation": "prepare_nodes", **mark}} if mark is not None else {}
    return {"uuid": f"u{name[1:]}", "name": name, "provision_state": state, "extra": extra, **more}


def listed(*nodes: dict[str, Any]) -> Answer:
    return Answer(200, {"nodes": list(nodes)})


@pytest.fixture
def ironic(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> Peer:
    """A peer whose nodes all accept every change; one that is read alone is what the last listing says."""

    def on(route: str, *answers: Answer) -> None:
        Peer.on(peer, route, *answers)
        for entry in (entry for answer in answers if route == "GET /v1/nodes" for entry in answer.body["nodes"]):
            Peer.on(peer, f"{route}/{entry['uuid']}", Answer(200, entry))

    monkeypatch.setattr(peer, "on", on)
    head = "X-OpenStack-Ironic-API"
    peer.on("GET /v1", Answer(200, {}, {f"{head}-Minimum-Version": "1.1", f"{head}-Maximum-Version": "1.115"}))
    for number in (1, 2):
        peer.on(f"PATCH /v1/nodes/u{number}", Answer(200, {}))
        peer.on(f"PUT /v1/nodes/u{number}/states/provision", DONE)
        peer.on(f"PUT /v1/nodes/u{number}/states/power", DONE)
    return peer


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def start(ironic: Peer, slept: list[float]) -> Iterator[Start]:
    client = IronicClient(ironic.url, read_pause=0.0)
    inventory = Inventory.of([Machine(N1), Machine(N2)])
    yield lambda **options: IronicProvisioner(client, lambda _: inventory, sleep=slept.append, **options)
    client.close()


@pytest.fixture
def port(start: Start) -> IronicProvisioner:
    return start()


def bodies(peer: Peer, route: str) -> list[Any]:
    return [one.json for one in peer.asked(route)]


def running(report: JobReport) -> bool:
    return (report.state, report.ok, report.failed) == (JobState.RUNNING, False, frozenset())


# Designs


@every_row([UnreadableDesign("no such revision"), KeyError(3)])
def test_a_revision_that_cannot_be_read_is_refused(error: Exception) -> None:
    def inventory(_: int) -> Inventory:
        raise error

    port = IronicProvisioner(IronicClient("http://127.0.0.1:1"), inventory)
    for design in ("", "3", "revision:", "revision:x", "revision:-1", "http://h/3", "revision:3"):
        with pytest.raises(Refused):
            port.select_nodes(design, [])
    port = IronicProvisioner(IronicClient("http://127.0.0.1:1"), lambda _: Inventory.of([]))
    with pytest.raises(Refused, match="names no node"):
        port.select_nodes("revision:3", [(Selector(),)])


# Starting


def test_a_node_is_marked_before_it_is_moved(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("enroll")))
    assert port.submit(MARKER, work(PREPARE)) == JOB
    assert ironic.changes == [PATCH, PROVISION]
    assert bodies(ironic, PATCH) == [
        [
            {
                "op": "add",
                "path": "/extra/shipyard",
                "value": {"marker": MARKER, "operation": "prepare_nodes", "tried": {"manage": ""}},
            }
        ]
    ]
    assert bodies(ironic, PROVISION) == [{"target": "manage"}]


def test_a_node_that_needs_nothing_is_marked_so_that_the_job_is_found(port: IronicProvisioner, ironic: Peer) -> None:
    for mark in (None, {}):
        ironic.on("GET /v1/nodes", listed(node("available", mark=mark)))
        assert port.submit(MARKER, work(PREPARE)) == JOB
    assert ironic.changes == [PATCH]
    assert port.find(MARKER, work(PREPARE), intended_at=NOW) == JOB


def test_a_node_that_is_not_ours_is_not_even_marked(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("available", instance_uuid="9b"), node("enroll", "n2", maintenance=True)))
    assert port.submit(MARKER, work(PREPARE, "n1", "n2", "n9")) == JOB
    report = port.report(JOB, work(PREPARE, "n1", "n2", "n9"))
    assert (report.state, report.failed) == (JobState.ENDED, {"n1", "n2", "n9"})
    assert ironic.changes == []


def test_work_of_which_no_node_can_be_marked_has_to_wait(
    port: IronicProvisioner, ironic: Peer, slept: list[float]
) -> None:
    ironic.on("GET /v1/nodes", listed(node("cleaning")))
    ironic.on(PATCH, no(409, MOVING))
    with pytest.raises(Busy):
        port.submit(MARKER, work(PREPARE))
    assert slept == []


def test_every_node_is_started_before_one_without_an_answer_is_told(start: Start, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("enroll"), node("enroll", "n2")))
    ironic.on(PATCH, no(500, "database is locked"), no(406))  # or a version that ends half-way
    for count in (1, 2):
        with pytest.raises(Unavailable) as trouble:
            start().submit(MARKER, work(PREPARE, "n1", "n2"))
        assert trouble.value.marker == MARKER
        assert len(ironic.asked("PUT /v1/nodes/u2/states/provision")) == count


def test_a_taken_node_fails_and_is_not_deployed(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("available", mark={"operation": "deploy_nodes"})))
    ironic.on(PATCH, no(409, "Node u1 is associated with instance 9b."))
    report = port.report(JOB, work(DEPLOY))
    assert (report.state, report.reasons) == (JobState.ENDED, {N1: "n1: Node u1 is associated with instance 9b."})
    assert ironic.changes == [PATCH]


def test_no_more_requests_than_threads_are_under_way(start: Start, ironic: Peer) -> None:
    names = [f"n{number}" for number in range(1, 31)]
    most, now, lock = 0, 0, threading.Lock()
    gate = threading.Event()

    def configdrive(_: NodeName) -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        gate.wait(0.005)
        with lock:
            now -= 1

    ironic.on("GET /v1/nodes", listed(*(node("available", name) for name in names)))
    for number in range(1, 31):
        ironic.on(f"PATCH /v1/nodes/u{number}", Answer(200, {}))
        ironic.on(f"PUT /v1/nodes/u{number}/states/provision", DONE)
    start(threads=3, configdrive=configdrive).submit(MARKER, work(DEPLOY, *names))
    assert 1 < most <= 3


def test_a_call_that_lasts_leaves_the_rest_to_the_next_report(start: Start, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("verifying", mark={}), node("enroll", "n2")))
    assert running(start(span=-1.0).report(JOB, work(PREPARE, "n1", "n2")))
    assert ironic.changes == []
    assert running(start().report(JOB, work(PREPARE, "n1", "n2")))
    assert len(ironic.changes) == 2


# Answers to verbs


def test_a_lock_is_waited_for_a_little_and_else_the_node_left_to_the_next_report(
    port: IronicProvisioner, ironic: Peer, slept: list[float]
) -> None:
    ironic.on("GET /v1/nodes", listed(node("manageable", mark={})))
    locked, room = no(409, LOCKED), no(503, "due to lack of free conductor workers")
    ironic.on(PROVISION, locked, locked, DONE, *[locked] * 4, room, no(500, "bug"), DONE)
    for asked in (3, 7, 8, 9, 10):
        assert running(port.report(JOB, work(PREPARE)))
        assert len(ironic.asked(PROVISION)) == asked
    assert slept == [0.5, 1.0, 0.5, 1.0, 2.0]
    ironic.on(PATCH, no(409, MOVING))  # it cannot even be marked
    assert running(port.report(JOB, work(PREPARE)))
    assert len(ironic.asked(PROVISION)) == 10


def test_a_verb_that_somebody_else_was_quicker_with_is_no_failure(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("manageable", mark={})))
    ironic.on(PROVISION, no(400, 'The requested action "provide" can not be performed'))
    for state_now, ended in (("available", True), ("cleaning", False), ("enroll", False)):
        before, after = node("manageable", mark={}), node(state_now, mark={})
        ironic.on("GET /v1/nodes/u1", Answer(200, before), Answer(200, after))
        report = port.report(JOB, work(PREPARE))
        assert (report.state is JobState.ENDED, report.ok, report.failed) == (ended, ended, frozenset())


def test_a_verb_that_ironic_refuses_fails_the_node_for_good(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("manageable", mark={})))
    ironic.on(PROVISION, no(400, "Failed to validate power info"))
    ironic.on("GET /v1/nodes/u1", Answer(200, node("manageable", mark={})))
    report = port.report(JOB, work(PREPARE))
    assert (report.state, report.reasons) == (JobState.ENDED, {N1: "n1: Failed to validate power info"})
    written = bodies(ironic, PATCH)[-1][0]["value"]
    ironic.on("GET /v1/nodes", listed(node("manageable", mark=written)))
    assert port.report(JOB, work(PREPARE)) == report
    assert len(ironic.asked(PROVISION)) == 1


def test_our_arguments_are_in_no_error(start: Start, ironic: Peer) -> None:
    deploy = work(DEPLOY, step=DeployStep(Interface.BIOS, "x", {"password": "hunter22"}, 90))
    port = start(configdrive=lambda name: {"meta_data": {"name": name}})
    claimed = {"instance_uuid": claim(MARKER, "n1")}
    failed = node("deploy failed", mark={"claim": MARKER}, last_error="step x: hunter22", **claimed)
    ironic.on("GET /v1/nodes", listed(failed), listed(node("available", mark={})))
    assert port.report(JOB, deploy).reasons == {N1: "n1 is deploy failed: step x: ******"}
    ironic.on(PROVISION, no(500, "cannot use hunter22"))
    assert "cannot use ******" in port.report(JOB, deploy).message
    with pytest.raises(Unavailable, match=r"cannot use \*{6}") as trouble:
        port.submit(MARKER, deploy)
    assert "hunter22" not in str(trouble.value)


# Reports


def test_work_that_left_no_mark_is_lost_and_nothing_is_begun(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("enroll"), node("cleaning", "n2")))
    report = port.report(JOB, work(PREPARE, "n1", "n2"))
    assert (report.state, report.ok) == (JobState.LOST, False)
    assert ironic.changes == []


def test_a_report_asks_one_question_for_all_nodes_and_goes_on_where_a_submission_broke_off(
    port: IronicProvisioner, ironic: Peer
) -> None:
    ironic.on("GET /v1/nodes", listed(node("cleaning", mark={}), node("available", "n2", mark={})))
    report = port.report(JOB, work(PREPARE, "n1", "n2"))
    assert (report.state, report.succeeded) == (JobState.RUNNING, {N2})
    assert [f"{one.method} {one.path}" for one in ironic.requests] == ["GET /v1", "GET /v1/nodes"]
    ironic.on("GET /v1/nodes", listed(node("verifying", mark={}), node("enroll", "n2")))
    assert running(port.report(JOB, work(PREPARE, "n1", "n2")))
    assert ironic.changes == ["PATCH /v1/nodes/u2", "PUT /v1/nodes/u2/states/provision"]


def test_steps_that_ironic_drops_fail_the_node_once_that_is_written_down(start: Start, ironic: Peer) -> None:
    step = DeployStep(Interface.DEPLOY, "hold", {}, 70)
    internal = {"user_deploy_steps": [step.to_json()], "deploy_steps": [{"interface": "deploy", "step": "deploy"}]}
    port = start()
    ironic.on("GET /v1/nodes", listed(node("available")))
    noted = {"provision_state": "deploying", "driver_internal_info": internal}
    ironic.on("GET /v1/nodes/u1", Answer(200, node("available")), Answer(200, noted))
    port.submit(MARKER, work(DEPLOY, step=step))
    claimed = {"instance_uuid": claim(MARKER, "n1")}
    ironic.on("GET /v1/nodes", listed(node("active", mark={"claim": MARKER}, **claimed)))
    assert running(port.report(JOB, work(DEPLOY, step=step)))
    written = bodies(ironic, PATCH)[-1][0]["value"]
    ironic.on("GET /v1/nodes", listed(node("active", mark=written, **claimed)))
    report = start().report(JOB, work(DEPLOY, step=step))
    assert (report.state, report.reasons) == (JobState.ENDED, {N1: "n1: not supported by the node: deploy.hold"})


def test_steps_go_with_the_deployment_of_their_node_and_traits_do_not(port: IronicProvisioner, ironic: Peer) -> None:
    """Also where a report begins the deployment, after a crash."""
    steps = [
        DeployStep(Interface.RAID, "apply", {"disks": 2}, 150),
        DeployStep(Interface.DEPLOY, "boot_instance", {}, 0),
    ]
    both = Work(DEPLOY, "revision:3", (N1, N2), steps={N1: steps})
    ironic.on("GET /v1/nodes", listed(node("available"), node("available", "n2", mark={})))
    for call in (lambda: port.submit(MARKER, both), lambda: port.report(JOB, both)):
        ironic.on("GET /v1/nodes/u1", Answer(200, node("available")), Answer(200, {"provision_state": "active"}))
        call()
    sent = [body.get("deploy_steps") for body in bodies(ironic, PROVISION)]
    assert sent == [[step.to_json() for step in steps]] * 2
    assert [body.get("deploy_steps") for body in bodies(ironic, "PUT /v1/nodes/u2/states/provision")] == [None, None]
    assert not any("traits" in change["path"] for body in bodies(ironic, PATCH) for change in body)


def test_steps_of_a_preparation_are_steps_of_a_cleaning(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("manageable")))
    port.submit(MARKER, work(PREPARE, step=DeployStep(Interface.RAID, "erase", {"disks": 2}, 150)))
    steps = [{"interface": "raid", "step": "erase", "args": {"disks": 2}}]
    assert bodies(ironic, PROVISION) == [{"target": "clean", "clean_steps": steps}]


def test_a_burn_in_sets_its_options_with_the_mark_and_is_remembered_with_the_next_verb(
    port: IronicProvisioner, ironic: Peer
) -> None:
    burn_in = Work(PREPARE, "revision:3", (N1,), steps={N1: [one.step for one in BurnIn({"memory": 60}).steps]})
    ironic.on("GET /v1/nodes", listed(node("manageable")))
    port.submit(MARKER, burn_in)
    (options, mark), verb = bodies(ironic, PATCH)[-1], bodies(ironic, PROVISION)[-1]
    assert options == {"op": "add", "path": "/driver_info/agent_burnin_vm_timeout", "value": 60}
    assert verb == {
        "target": "clean",
        "clean_steps": [{"interface": "deploy", "step": "burnin_memory", "args": {}}],
    }

    ironic.on("GET /v1/nodes", listed(node("manageable", mark=mark["value"], provision_updated_at="later")))
    port.report(JOB, burn_in)
    assert (bodies(ironic, PROVISION)[-1], bodies(ironic, PATCH)[-1][0]["value"]["burned_in"]) == (
        {"target": "provide"},
        "burnin_memory=60",
    )


def test_a_report_says_what_was_erased_and_which_steps_nobody_saw(port: IronicProvisioner, ironic: Peer) -> None:
    decides = "Ironic's automated cleaning decides what was erased"
    for wipe, message in (
        (Wipe.OS_DISK_ONLY, "automated cleaning was skipped: nothing was erased"),
        (Wipe.ALL, decides),
    ):
        ironic.on("GET /v1/nodes", listed(node("available", mark={})))
        report = port.report(JOB, work(DESTROY, wipe=wipe))
        assert (report.ok, report.message) == (True, message)
    claimed = {"instance_uuid": claim(MARKER, "n1")}
    ironic.on("GET /v1/nodes", listed(node("active", mark={"claim": MARKER}, **claimed)))
    report = port.report(JOB, work(DEPLOY, step=DeployStep(Interface.DEPLOY, "hold", {}, 70)))
    assert (report.ok, report.message) == (True, "unknown whether Ironic ran all deploy steps on n1")


# Stopping


def test_a_stop_interrupts_what_waits_and_keeps_the_rest_where_it_is(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("clean wait", mark={}), node("verifying", "n2", mark={})))
    ironic.on(PATCH, no(409, MOVING))
    ironic.on("PATCH /v1/nodes/u2", no(409, MOVING))
    port.abort(JOB, work(PREPARE, "n1", "n2"))
    assert bodies(ironic, PROVISION) == [{"target": "abort"}]
    assert bodies(ironic, "PUT /v1/nodes/u2/states/provision") == []
    failed = node("clean failed", mark={"tried": {"provide": "t"}}, provision_updated_at="t2")
    ironic.on("GET /v1/nodes", listed(failed, node("manageable", "n2", mark={})))
    report = port.report(JOB, work(PREPARE, "n1", "n2"))
    assert (report.state, report.failed) == (JobState.ENDED, {N1, N2})
    assert report.reasons[N2] == "n2 was left manageable because the work was stopped"


def test_a_stop_that_one_node_knows_of_holds_for_all_after_a_restart(start: Start, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("manageable", mark={})))
    start().abort(JOB, work(PREPARE))
    written = bodies(ironic, PATCH)[-1][0]["value"]
    assert written["stopped"] is True
    ironic.on("GET /v1/nodes", listed(node("manageable", mark=written), node("enroll", "n2")))
    report = start().report(JOB, work(PREPARE, "n1", "n2"))
    assert (report.state, report.failed) == (JobState.ENDED, {N1, N2})
    assert len(ironic.changes) == 1


FINISHED = "Ironic does not work on it for this job any more: it is available"
POWERED = {
    "done": ("cleaning", DONE, {}, 1),
    "refused": ("cleaning", no(409, "no"), {N1: "no"}, 1),
    "perhaps done": ("cleaning", no(500), {}, 1),
    "perhaps done, and cut off": ("cleaning", Answer(202, "x" * 9, cut=5), {}, 1),
    "finished": ("available", DONE, {N1: FINISHED}, 0),
}


@table(("state", "answer", "refused", "changes"), POWERED)
def test_a_node_is_power_cycled_at_most_once_and_only_while_its_job_works_on_it(
    port: IronicProvisioner, ironic: Peer, state: str, answer: Answer, refused: dict[NodeName, str], changes: int
) -> None:
    ironic.on("GET /v1/nodes/n1", Answer(200, node(state, mark={})))
    ironic.on("PUT /v1/nodes/n1/states/power", answer)

    assert port.power_cycle(JOB, work(PREPARE)) == refused
    assert len(ironic.changes) == changes


# What our user may not do

DENIED = no(403, "Access was denied to the following resource: baremetal:node:update_extra")


def test_a_node_that_our_user_may_not_change_does_not_keep_the_others(port: IronicProvisioner, ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", listed(node("enroll"), node("enroll", "n2")))
    ironic.on(PATCH, DENIED)
    ironic.on("PATCH /v1/nodes/u2", DENIED, Answer(200, {}))
    with pytest.raises(Refused, match="may change none of the nodes: n1: Access was denied"):
        port.submit(MARKER, work(PREPARE, "n1", "n2"))
    assert {one.split()[0] for one in ironic.changes} == {"PATCH"}

    job = port.submit(MARKER, work(PREPARE, "n1", "n2"))
    ironic.on("GET /v1/nodes", listed(node("enroll"), node("available", "n2", mark={})))
    report = port.report(job, work(PREPARE, "n1", "n2"))
    assert (report.succeeded, set(report.failed)) == ({N2}, {N1})
    assert "Access was denied" in report.reasons[N1]


# Work on the site


def test_a_site_is_verified_if_a_conductor_is_alive_or_our_user_may_see_none(
    port: IronicProvisioner, ironic: Peer
) -> None:
    verify = Work(Operation.VERIFY_SITE, "revision:3")
    job = port.submit(MARKER, verify)
    assert port.find(MARKER, verify, intended_at=NOW, known={job}) is None
    ironic.on("GET /v1/conductors", Answer(200, {"conductors": [{"hostname": "c1", "alive": False}]}))
    report = port.report(job, verify)
    assert (report.state, report.ok) == (JobState.ENDED, False)
    assert "not alive: c1" in report.message
    with pytest.raises(Unavailable):
        port.check_health()

    ironic.on("GET /v1/conductors", no(403, "Access was denied to the following resource: baremetal:conductor:get"))
    report = port.report(job, verify)
    assert report.ok
    assert "not visible to Shipyard's user" in report.message
    port.check_health()


# Reasons

HISTORY = [
    {"created_at": "2026-03-02T09:00:00+00:00", "severity": "ERROR", "event": "the failure of last week"},
    {"created_at": "2026-03-02T11:59:58+00:00", "severity": "INFO", "event": "deployment began"},
    {"created_at": "2026-03-02T11:59:59+00:00", "severity": "ERROR", "event": "no disk"},
    {"created_at": "2026-03-02T12:05:00.5", "severity": "ERROR", "event": "power sync failed"},
]


def test_a_reason_that_ironic_has_cleared_is_read_from_the_history(ironic: Peer, start: Start) -> None:
    failed = node(
        "clean failed", mark={"tried": {"provide": "before"}}, provision_updated_at="2026-03-02T12:00:00+00:00"
    )
    ironic.on("GET /v1/nodes", listed(failed | {"last_error": "no PXE"}), listed(failed))
    assert start().report(JOB, work(PREPARE)).reasons == {N1: "n1 is clean failed: no PXE"}
    assert ironic.asked("GET /v1/nodes/u1/history") == []
    for answer, reason in (
        (Answer(200, {"history": HISTORY}), "no disk"),
        (Answer(200, {"history": []}), "Ironic gives no reason"),
        (no(404), "Ironic gives no reason"),
        (no(500), "Ironic gives no reason"),
    ):
        ironic.on("GET /v1/nodes/u1/history", answer)
        assert start().report(JOB, work(PREPARE)).reasons == {N1: f"n1 is clean failed: {reason}"}


# One listing for the reports of several jobs


SHARED = 20.0


def shared(start: Start, clock: FakeClock) -> IronicProvisioner:
    return start(shared_seconds=SHARED, now=clock.now)


def test_reports_share_a_listing_that_shows_all_that_matters_to_each(start: Start, ironic: Peer) -> None:
    clock = FakeClock()
    port = shared(start, clock)
    marks = [node("cleaning", mark={}), node("available", "n2", mark={"marker": "other"})]
    ironic.on("GET /v1/nodes", listed(*marks))
    jobs = {JobId(MARKER): work(PREPARE), JobId("other"): work(PREPARE, "n2")}

    port.reports(jobs)
    states = [port.report(job, each).state for job, each in jobs.items()]

    assert states == [JobState.RUNNING, JobState.ENDED]
    assert len(ironic.asked("GET /v1/nodes")) == 1
    clock.advance(SHARED)
    port.report(JobId(MARKER), work(PREPARE))
    assert len(ironic.asked("GET /v1/nodes")) == 2


OLDER: dict[str, tuple[dict[str, Any] | None, bool]] = {
    "not submitted": (node("cleaning"), False),
    "submitted to a job before": (node("cleaning", mark={"marker": "earlier"}), False),
    "due for a verb": (node("manageable", mark={}), False),
    "stopped": (node("manageable", mark={}), True),
    "not enrolled": (None, False),
    "wanted fresh": (node("cleaning", mark={}), False),
}


def test_a_listing_that_may_be_older_than_what_a_report_must_show_is_read_anew(start: Start, ironic: Peer) -> None:
    other = node("cleaning", "n2", mark={"marker": "other"})
    newest = listed(other, node("available", mark={}))
    for title, (before, stopped) in OLDER.items():
        port = shared(start, FakeClock())
        older = listed(other, *([before] if before else []))
        ironic.on("GET /v1/nodes", older, *([older] if stopped else []), newest)
        port.report(JobId("other"), work(PREPARE, "n2"))
        if stopped:
            port.abort(JobId(MARKER), work(PREPARE))
        report = port.report(JobId(MARKER), replace(work(PREPARE), fresh=title == "wanted fresh"))
        assert (report.state, report.ok) == (JobState.ENDED, True), title


def large_site(*known: dict[str, Any]) -> Answer:
    return listed(*known, *({"uuid": f"x{at}", "name": f"x{at}"} for at in range(2000)))


def test_the_nodes_of_a_small_job_are_read_one_by_one_until_a_listing_costs_no_more(start: Start, ironic: Peer) -> None:
    """2,002 nodes are three pages of Ironic: two requests about single nodes are fewer than the next listing."""
    clock = FakeClock()
    port = shared(start, clock)
    ironic.on("GET /v1/nodes", large_site(node("cleaning", mark={}), node("cleaning", "n2", mark={})))
    ironic.on("GET /v1/nodes/u1", Answer(200, node("available", mark={})))
    asked = []
    for _ in range(4):
        port.report(JobId(MARKER), work(PREPARE))
        clock.advance(SHARED)
        asked.append((len(ironic.asked("GET /v1/nodes")), len(ironic.asked("GET /v1/nodes/u1"))))
    assert asked == [(1, 0), (1, 1), (1, 2), (2, 2)]


def test_a_node_that_has_another_id_now_is_looked_for_among_all(start: Start, ironic: Peer) -> None:
    again = {**node("available", mark={}), "uuid": "u7"}
    for now in (no(404, "Node u1 could not be found."), Answer(200, node("active", "n9"))):  # gone, renamed
        clock = FakeClock()
        port = shared(start, clock)
        ironic.on("GET /v1/nodes", large_site(node("cleaning", mark={})), large_site(again))
        ironic.on("GET /v1/nodes/u1", now)
        port.report(JobId(MARKER), work(PREPARE))
        clock.advance(SHARED)
        assert port.report(JobId(MARKER), work(PREPARE)).ok


def test_what_ironic_notes_of_a_deployment_is_read_only_for_steps_that_were_sent(start: Start, ironic: Peer) -> None:
    """It is most of what Ironic knows of a node."""
    port = shared(start, FakeClock())
    ironic.on("GET /v1/nodes", listed(node("cleaning", mark={})))
    step = DeployStep(Interface.BIOS, "x", {}, 90)
    for each in (work(PREPARE), work(DEPLOY), work(DEPLOY, step=step)):
        port.report(JobId(MARKER), each)
    fields = [dict(one.query)["fields"] for one in ironic.asked("GET /v1/nodes")]
    assert ["driver_internal_info" in each for each in fields] == [False, True]


def test_firmware_is_read_by_component(start: Start, ironic: Peer) -> None:
    read = start().capabilities.firmware
    assert read is not None
    for answer, found in (
        (Answer(200, {"firmware": [{"component": "bios", "current_version": "2.1"}]}), {N1: {"bios": "2.1"}}),
        (Answer(200, {"firmware": [{"component": "bmc", "current_version": None}]}), {N1: {}}),
        (Answer(200, {"firmware": []}), {}),
        (no(404, "Node n1 could not be found."), {}),
    ):
        ironic.on("GET /v1/nodes/n1/firmware", answer)
        assert read([N1]) == found


def test_an_ironic_without_firmware_has_none(start: Start, ironic: Peer) -> None:
    head = "X-OpenStack-Ironic-API"
    ironic.on("GET /v1", Answer(200, {}, {f"{head}-Minimum-Version": "1.1", f"{head}-Maximum-Version": "1.85"}))
    read = start().capabilities.firmware
    assert read is not None
    assert read([N1]) == {}
    assert [one.path for one in ironic.requests] == ["/v1"]


def test_earlier_work_is_the_latest_job_of_each_node_if_it_is_of_the_same_action(start: Start, ironic: Peer) -> None:
    mine, earlier, other = (marker_of(action, effect={"n": n}) for n, action in enumerate(("A", "A", "B")))
    marked = [node("active", "n1", mark={"marker": earlier, "operation": "deploy_nodes"})]
    marked += [node("active", "n2", mark={"marker": other})]
    ironic.on("GET /v1/nodes", listed(*marked))
    asked = work(DESTROY, "n1", "n2", "n3")

    (found,) = start().earlier_work(Marker(mine), asked, since=NOW)
    assert (found.job, found.operation, found.nodes) == (earlier, DEPLOY, (N1,))
    assert start().earlier_work(Marker(mine), asked, since=NOW, known=[JobId(earlier)]) == []
