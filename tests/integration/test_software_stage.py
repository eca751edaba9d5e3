"""The software stage in process: order, batches, failures, stops, on nodes in memory."""

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from msgspec.structs import replace

from shipyard_api.actions.software_steps import SOFTWARE
from shipyard_api.domain.actions import ActionId, Control, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import Given
from shipyard_api.domain.task_graph.layers import SITE as CLUSTER
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.remote_tasks import RemoteFile
from shipyard_api.storage import tables
from shipyard_api.usecases.actions.plan_software import PlanSoftware, Retried
from shipyard_api.usecases.actions.report import Places, ReportAction
from shipyard_api.usecases.software.results import ReadTaskResults
from tests.databases import one_after_another
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.software_world import SoftwareWorld, rendered
from tests.task_graphs import SEED_GRAPH, group, task

Worlds = Callable[..., SoftwareWorld]


@pytest.fixture
def worlds(database_url: str) -> Iterator[Worlds]:
    with one_after_another(database_url, SoftwareWorld) as make:
        yield make


def test_the_worked_example_of_the_seed_runs_group_after_group(worlds: Worlds) -> None:
    world = worlds()
    world.run(world.worker())

    assert world.state() is RunState.SUCCESS
    assert world.steps()[SOFTWARE] == ("success", "16 task(s) on 8 node(s)")
    order = [node for name, node in world.started() if name == "setup_network"]
    waves = [order[:1], sorted(order[1:3]), sorted(order[3:5]), sorted(order[5:7]), order[7:]]
    numbers = [[1], [2, 4], [3, 5], [6, 7], [8]]
    assert waves == [[f"node-{number}" for number in wave] for wave in numbers]
    assert {one.status for one in world.results()} == {TaskStatus.SUCCESS}
    assert len(world.results()) == 16


GRAPH = (
    group("web", role=["web"], fault_tolerance=1),
    group("db", role=["db"], requires=["web"]),
    task("one", groups=["web", "db"]),
    task("two", groups=["web", "db"], requires=["one"]),
    task("never", groups=["web"], condition=False),
)
SITE = {"w1": "web", "w2": "web", "w3": "web", "d1": "db"}


def test_a_failed_node_runs_nothing_more_and_its_group_tolerates_it(worlds: Worlds) -> None:
    tasks = FakeRemoteTasks(polls=2, failing={("run one", NodeName("w2"))}, prints="boom\n")
    world = worlds(graph=GRAPH, roles=SITE, tasks=tasks)
    world.run(world.worker())

    expected = "6 task(s) on 4 node(s); 1 node(s) failed within their tolerance: w2: one: exit status 1"
    assert world.steps()[SOFTWARE] == ("success", expected)
    assert ("two", "w2") not in world.started()
    (failed,) = [one for one in world.results() if one.status is TaskStatus.FAILED]
    assert (failed.node, failed.task, failed.exit_status, failed.attempts, failed.tail) == ("w2", "one", 1, 3, "boom\n")
    assert (failed.detail, failed.ended_at is not None) == ("exit status 1", True)
    with world.store().begin() as tx:
        notes = [entry.fact for entry in tx.journal.entries(world.action) if entry.kind == "noted"]
    assert notes == [Noted("Failures Tolerated", "w2: one: exit status 1")]
    report = ReportAction(world.store(), world.clock, Places())(world.action)
    assert report.tolerated == {"w2": "one: exit status 1"}
    assert report.skipped_tasks == {"never": "its condition is false"}


def test_a_run_of_the_whole_graph_gives_nodes_their_software(worlds: Worlds) -> None:
    def given(**changes: Any) -> dict[str, str | None]:
        """Return the software of each node after a run on servers whose records know of none yet."""
        world = worlds(**{"graph": GRAPH, "roles": SITE, **changes})
        nodes = {NodeName(name): Given(ActionId(""), Revision(1), {"image": "x"}) for name in SITE}
        with world.store().begin() as tx:
            tx.specifications.adopt(nodes, now=world.clock.now())
        world.run(world.worker())
        with world.store().begin() as tx:
            records = tx.specifications.of(nodes)
        assert {record.aspects["image"] for record in records.values()} == {"x"}
        return {str(node): record.aspects.get("software") for node, record in records.items()}

    whole = given()
    assert whole["w1"] == whole["w2"] == whole["w3"] == whole["d1"] is not None
    failing = FakeRemoteTasks(failing={("run one", NodeName("w2"))})
    assert given(tasks=failing) == {**whole, "w2": None}
    # A task that was changed is other software; some of the tasks alone are none.
    other = given(
        graph=[{**entry, "parameters": {"cmd": "more"}} if entry["id"] == "two" else entry for entry in GRAPH]
    )
    assert None not in other.values()
    assert not {*other.values()} & {*whole.values()}
    assert given(limited={"skip": ["one"]}) == dict.fromkeys(SITE)


def test_a_stop_leaves_running_tasks_to_their_end_and_begins_nothing(worlds: Worlds) -> None:
    world = worlds(graph=GRAPH, roles=SITE, tasks=FakeRemoteTasks(hanging={NodeName("w1")}))
    turns = iter(range(10_000))
    world.run(world.worker(), each_time=lambda: world.control(Control.STOP) if next(turns) == 6 else None)

    assert (world.state(), world.steps()[SOFTWARE][0]) == (RunState.FAILED, "failed")
    (left,) = [one for one in world.results() if one.status is TaskStatus.LEFT]
    assert (left.node, left.task, left.ended_at) == ("w1", "one", None)
    assert not [node for _, node in world.started() if node == "d1"]


def test_a_retry_runs_only_what_did_not_succeed_and_what_depends_on_it(worlds: Worlds) -> None:
    tasks = FakeRemoteTasks(failing={("run two", NodeName("w1")), ("run two", NodeName("w3"))})
    world = worlds(graph=GRAPH, roles=SITE, tasks=tasks)
    world.run(world.worker())
    assert world.state() is RunState.FAILED
    tasks.failing = {("run one", NodeName("d1"))}
    left = [("one", "d1"), ("two", "d1"), ("two", "w1"), ("two", "w3")]
    assert planned(world, Retried(world.action)) == left
    # Of the nodes that are deployed again, nothing is kept.
    deployed_again = planned(world, Retried(world.action, [NodeName("w2"), NodeName("w3")]))
    assert deployed_again == [("one", "d1"), ("one", "w1"), *left[1:]]
    for number in (1, 2):
        tasks.log.clear()
        world.create(ActionId(str(number).rjust(26, "0")), retried=world.action)
        world.run(world.worker())
        if number == 1:
            # What w2 had done is kept; the group db waited for all nodes of web.
            assert sorted(world.started()) == [("one", "d1"), ("two", "w1"), ("two", "w3")]
            tasks.failing = set()

    assert sorted(world.started()) == [("one", "d1"), ("two", "d1")]
    assert world.steps()[SOFTWARE] == (
        "success",
        f"2 task(s) on 4 node(s), 6 kept of action {ActionId('1'.rjust(26, '0'))}",
    )


def planned(world: SoftwareWorld, retried: Retried) -> list[tuple[str, str]]:
    """What the plan of a retry says that runs, and where."""
    designs: Any = SimpleNamespace(of=lambda _revision: rendered(world.roles))
    plan, written = PlanSoftware(world.store(), designs, None), {"nodes": list(world.roles)}
    frozen = plan.freeze(Revision(1), written, deploys=False)
    assert frozen is not None
    made = plan(frozen, Revision(1), None, written, retried)
    runs = [run for batch in made.batches for run in batch.runs]
    return sorted((task, node) for run in runs for task in run.tasks for node in run.nodes)


def test_while_it_is_paused_a_task_is_watched_and_none_begins(worlds: Worlds) -> None:
    world = worlds(graph=GRAPH, roles=SITE, tasks=FakeRemoteTasks(polls=3))
    worker = world.worker()
    for _ in range(4):
        world.deliver(worker)
    assert world.control(Control.PAUSE)
    for _ in range(10):
        world.clock.advance(20)
        world.deliver(worker)
    assert {(one.task, one.status) for one in world.results()} == {("one", TaskStatus.SUCCESS)}

    assert world.control(Control.UNPAUSE)
    world.run(worker)
    assert world.state() is RunState.SUCCESS


def test_no_result_shows_a_secret_of_the_design_that_a_task_has_in_its_parameters(worlds: Worlds) -> None:
    file = task("file", groups=["web"], type="upload_file", parameters={"path": "/a", "data": "password: hunter2\n"})
    entries = [group("web"), file, task("one", groups=["web"], requires=["file"])]
    tasks = FakeRemoteTasks(prints="hunter2 and swordfish\n")
    world = worlds(graph=entries, roles={"w1": "web"}, tasks=tasks, secret={"users": ["hunter2", "swordfish"]})
    world.run(world.worker())

    # Other tasks of the run may print it, too. What no task has is not known to the run.
    assert {one.task: one.tail for one in world.results()} == dict.fromkeys(("file", "one"), "*** and swordfish\n")
    read = ReadTaskResults(world.store(), tasks).output
    assert read(world.action, "file", "w1", offset=0, limit=99)[1].text == "*** and swordfish\n"


def test_a_node_gets_its_facts_before_its_first_task_and_its_own_values_in_parameters(worlds: Worlds) -> None:
    entries = [
        task(
            "zero",
            role="*",
            type="upload_file",
            parameters={"path": "/srv/{NODE}", "data": "x"},
            requires=["two"],
        ),
        task("one", role="*", parameters={"cmd": "{NODE} {ADDRESS.oam} {SETTINGS.port} {VALUES.x}"}),
        task("two", role="*", requires=["one"], condition="settings:password == 'hunter2'"),
    ]
    tasks = FakeRemoteTasks(polls=1, failing={("run two", NodeName("w2"))})
    values = {
        "all": {"x": 1, "dir": "/srv", "password": "swordfish"},
        "nodes": {"w2": {"x": "b"}},
        "secret": ["password"],
    }
    limited, secret = {"values": values}, {"users": "hunter2"}
    world = worlds(graph=entries, roles={"w1": "web", "w2": "web"}, tasks=tasks, secret=secret, limited=limited)
    settings = {"port": 3306, "password": "hunter2", "unread": 1}
    with world.store().begin() as tx:
        cluster = tx.software.cluster(CLUSTER)
        assert cluster
        tx.software.save_cluster(replace(cluster, settings=settings))
    world.run(world.worker())

    names = {row.marker: row.task for row in world.results()}
    sent = {(names[marker], node): task for (marker, node), task in tasks.sent.items()}
    assert [sent["one", node].command for node in ("w1", "w2")] == [
        "w1 10.0.0.1 3306 1",
        "w2 10.0.0.2 3306 b",
    ]
    assert {key: task.facts is not None for key, task in sent.items()} == {
        ("one", "w1"): True, ("one", "w2"): True, ("two", "w1"): False, ("two", "w2"): False,
    }  # fmt: skip
    facts = sent["one", "w2"].facts
    assert facts is not None
    found = json.loads(facts.as_json)
    assert found == yaml.safe_load(facts.as_yaml)
    assert found["node"] == {
        "name": "w2",
        "roles": ["web"],
        "tags": [],
        "primary_roles": [],
        "primary_tags": [],
        "addresses": {"oam": "10.0.0.2"},
        "values": {"x": "b", "dir": "/srv"},
    }
    assert sent["two", "w2"].secrets == ("swordfish",)
    assert found["roles"] == {"web": {"w1": {"oam": "10.0.0.1"}, "w2": {"oam": "10.0.0.2"}}}
    assert (found["tags"], found["settings"]) == ({}, {"password": "***"})

    # A retry has facts of its own for the nodes that run something.
    retried, tasks.failing = world.action, set()
    world.create(ActionId("1".rjust(26, "0")), retried=retried)
    world.run(world.worker())
    names = {row.marker: row.task for row in world.results()}
    again = {(names[marker], node): task for (marker, node), task in tasks.sent.items() if world.action in marker}
    assert {key: task.facts is not None for key, task in again.items()} == {
        ("two", "w2"): True, ("zero", "w1"): True, ("zero", "w2"): False,
    }  # fmt: skip
    assert again["zero", "w2"].files == (RemoteFile("/srv/w2", b"x"),)


REFUSED = {
    "a value that the run does not have": (
        {"values": {"nodes": {"w1": {"x": 1}, "w2": {"x": 2}}}},
        (*GRAPH, task("three", groups=["web"], parameters={"cmd": "{VALUES.x}"})),
        "Task 'three' uses {VALUES.x}, and node w3 has no value 'x' in this run.",
    ),
    "an unknown node": ({"nodes": ["w1", "w9"]}, GRAPH, "The design has no node w9."),
    "a file that is not there": (
        {},
        (*GRAPH, task("keys", groups=["web"], type="copy_files", parameters={"files": [{"src": "a", "dst": "/a"}]})),
        "Task 'keys': a is missing.",
    ),
}


@pytest.mark.parametrize(("limited", "graph", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_planned_fails_before_anything_begins(
    worlds: Worlds, limited: Any, graph: Any, said: str
) -> None:
    world = worlds(graph=graph, roles=SITE, limited=limited)
    world.run(world.worker())

    assert said in world.steps()[SOFTWARE][1]
    assert (world.state(), world.started()) == (RunState.FAILED, [])


def test_a_reboot_runs_between_other_tasks_and_has_its_own_time_to_come_back(worlds: Worlds) -> None:
    entries = [group("web"), task("one", groups=["web"]), task("two", groups=["web"], requires=["again"])]
    again = {"id": "again", "type": "reboot", "groups": ["web"], "requires": ["one"], "parameters": {"timeout": 900}}
    tasks = FakeRemoteTasks(polls=1)
    world = worlds(graph=[*entries, again], roles={"w1": "web", "w2": "web"}, tasks=tasks)
    began = world.clock.now()

    def restart() -> None:
        (marker, *_) = {one.marker for one in world.results() if one.task == "again"} or {""}
        since = (world.clock.now() - began).total_seconds()
        down = {NodeName("w1")} if marker and since < 700 else set()
        tasks.down = down

    world.run(world.worker(), each_time=restart)
    assert world.state() is RunState.SUCCESS, world.steps()
    assert [name for name, node in world.started() if node == "w1"] == ["one", "again", "two"]
    assert (world.clock.now() - began).total_seconds() >= 700


def test_a_silent_node_has_seconds_to_take_a_command(worlds: Worlds) -> None:
    limited = {"command": "run one", "connect_timeout": 40}
    tasks = FakeRemoteTasks(down={NodeName("w2")})
    world = worlds(graph=GRAPH, roles={"w1": "web", "w2": "web"}, tasks=tasks, limited=limited)
    began = world.clock.now()
    world.run(world.worker())

    assert "w1" in {node for _, node in world.started()}
    silent = [one.detail for one in world.results() if one.node == "w2"]
    assert silent == ["it did not answer within 40 s: no answer"]
    assert 40 <= (world.clock.now() - began).total_seconds() < 60


def test_only_the_chosen_tasks_run_and_tests_run_only_when_asked_for(worlds: Worlds) -> None:
    probe = task("probe", role="*", stage="test")
    entries = [*GRAPH, {"id": "test", "type": "stage"}, probe]
    world = worlds(graph=entries, roles=SITE, limited={"skip": ["one"]})
    world.run(world.worker())
    assert {name for name, _ in world.started()} == {"two"}

    world = worlds(graph=entries, roles=SITE, limited={"tests": True}, action=ActionId("1".rjust(26, "0")))
    world.run(world.worker())
    assert {name for name, _ in world.started()} == {"probe"}


def test_a_thousand_nodes_are_pieces_of_fifty(worlds: Worlds) -> None:
    roles = {f"n{number:03}": "web" for number in range(120)}
    world = worlds(graph=(SEED_GRAPH[0], group("web", role=["web"]), task("one", groups=["web"])), roles=roles)
    world.run(world.worker(), world.worker())

    sizes: dict[str, int] = {}
    for one in world.results():
        sizes[one.marker] = sizes.get(one.marker, 0) + 1
    assert sorted(sizes.values()) == [120]
    assert world.steps()[SOFTWARE] == ("success", "120 task(s) on 120 node(s)")
    with world.engine.connect() as connection:
        items = connection.execute(sa.select(tables.work_items.c.task)).scalars()
        assert sorted(len(item["hosts"]) for item in items) == [20, 50, 50]


def test_nodes_that_refuse_ssh_are_what_the_action_waits_for_from_the_first_look_until_they_answer(
    worlds: Worlds,
) -> None:
    tasks = FakeRemoteTasks(down={NodeName("w1"), NodeName("w2")})
    world = worlds(graph=GRAPH, roles=SITE, tasks=tasks)
    shown: list[WaitingFor] = []

    def look() -> None:
        with world.store().begin() as tx:
            record = tx.actions.get(world.action)
        assert record is not None
        if record.waiting_for and record.waiting_for != (shown or [None])[-1]:
            shown.append(record.waiting_for)
        if len([one for one in shown if one.who == "SSH"]) == 4:
            tasks.down.clear()

    worker = world.worker()
    world.run(worker, each_time=look)

    silent = [one for one in shown if one.who == "SSH"]
    assert world.state() is RunState.SUCCESS
    assert {one.what for one in silent} == {"one on 2 node(s): w1, w2"}
    assert {one.last_answer for one in silent} == {"w1: no answer; w2: no answer"}
    assert len({one.next_attempt for one in silent}) == len(silent)
    assert len({one.since for one in silent[1:]}) == 1
    assert shown[-1].who == "work items"
