"""The tasks of an action on nodes: lists, counts, the history of a node, and the output as the node has it."""

from typing import Any

import falcon
import pytest

from shipyard_api.domain.errors import OutputNotKept
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.errors import Unavailable
from shipyard_api.usecases.software.results import ReadTaskResults
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.integration.api.recorded import record
from tests.integration.api.wire import Site, five_groups_design, kept
from tests.refusals import refuses
from tests.software_world import SoftwareWorld

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))
NTP, NET = TaskId("ntp"), TaskId("net")
FAILED = NodeResult(N2, TaskStatus.FAILED, 1, 3, 12.5, "exit 1", "no server\n")


@kept
def action(site: Site) -> str:
    """net has ended on three nodes; ntp failed on one, runs on one, and has not begun on the third."""
    site.commit(*five_groups_design())
    action = site.create_action()
    done = tuple(NodeResult(node, TaskStatus.SUCCESS, 0, 1, 2.0) for node in (N1, N2, N3))
    running = NodeResult(N1, TaskStatus.RUNNING)
    record(site.store, action, [TaskChanged(NET, "m1", done), TaskChanged(NTP, "m2", (running, FAILED))])
    return action


LISTS: dict[str, tuple[dict[str, Any], list[str], str | None]] = {
    "all": ({}, ["n1 net", "n1 ntp", "n2 net", "n2 ntp", "n3 net"], None),
    "a node": ({"node": "n2"}, ["n2 net", "n2 ntp"], None),
    "a task": ({"task": "ntp"}, ["n1 ntp", "n2 ntp"], None),
    "statuses": ({"status": ["running", "failed"]}, ["n1 ntp", "n2 ntp"], None),
    "the first page": ({"limit": "2"}, ["n1 net", "n1 ntp"], "n1/ntp"),
    "a later page": ({"limit": "2", "marker": "n1/ntp"}, ["n2 net", "n2 ntp"], "n2/ntp"),
    "after the last": ({"marker": "n3/net"}, [], None),
}


def test_tasks_are_listed_by_node_and_task_with_counts_of_all(site: Site, action: str) -> None:
    for asked, listed, marker in LISTS.values():
        found = site.viewer.get(f"/actions/{action}/tasks", **asked).json
        assert [f"{one['node']} {one['task']}" for one in found["tasks"]] == listed
        assert found["next"] == marker
        assert found["totals"] == [
            {"task": "net", "running": 0, "success": 3, "failed": 0, "left": 0},
            {"task": "ntp", "running": 1, "success": 0, "failed": 1, "left": 0},
        ]


def test_a_matrix_has_a_letter_for_each_task_on_each_node(site: Site, action: str) -> None:
    left, earlier = NodeResult(N3, TaskStatus.LEFT), TaskChanged(TaskId("zz"), "m3", (FAILED,))

    assert "matrix" not in site.viewer.get(f"/actions/{action}/tasks").json
    found = site.viewer.get(f"/actions/{action}/tasks", matrix="true", limit="1").json
    assert found["matrix"] == {"tasks": ["ntp", "net"], "nodes": ["n1", "n2", "n3"], "letters": ["rs", "fs", "-s"]}
    # Columns are in the order in which tasks began: those that failed had taken 12.5 s, those that succeeded 2 s.
    record(site.store, action, [earlier])
    record(site.store, action, [TaskChanged(TaskId("aa"), "m4", (left,))])
    found = site.viewer.get(f"/actions/{action}/tasks", matrix="true").json["matrix"]
    assert (found["tasks"], found["letters"]) == (["ntp", "zz", "net", "aa"], ["r-s-", "ffs-", "--sl"])


def test_a_failed_task_says_why_and_a_node_shows_its_tasks_by_action(site: Site, action: str) -> None:
    (failed,) = site.viewer.get(f"/actions/{action}/tasks", status="failed").json["tasks"]
    history = site.viewer.get("/nodes/n2/tasks").json

    assert failed.pop("began_at") < failed.pop("ended_at")
    assert failed == {
        "node": "n2",
        "task": "ntp",
        "status": "failed",
        "exit_status": 1,
        "attempts": 3,
        "seconds": 12.5,
        "detail": "exit 1",
        "tail": "no server\n",
    }
    assert [(one["action_id"], one["task"]) for one in history["tasks"]] == [(action, "ntp"), (action, "net")]
    assert site.viewer.get("/nodes/n2/tasks", limit="1").json["next"] == action
    assert site.viewer.get("/nodes/n2/tasks", marker=action).json == {"tasks": [], "next": None}


def test_an_output_that_cannot_be_had_says_why(site: Site, action: str) -> None:
    unknown = site.viewer.get(f"/actions/{action}/tasks/ntp/nodes/n3/output")
    unconfigured = site.viewer.get(f"/actions/{action}/tasks/ntp/nodes/n2/output")

    assert (unknown.status, unknown.json["message"]) == (falcon.HTTP_404, "Task not found")
    assert unknown.json["reason"] == f"Task ntp has not begun on node n3 in action {action}"
    assert (unconfigured.status, unconfigured.json["message"]) == (falcon.HTTP_409, "Nodes out of reach")


def test_an_output_is_read_from_the_node_in_parts(database_url: str) -> None:
    tasks = FakeRemoteTasks(polls=1, prints="one\ntwo\n")
    world = SoftwareWorld(database_url, tasks=tasks)
    world.run(world.worker())
    asked = world.action, "setup_network", "node-1"
    read = ReadTaskResults(world.store(), tasks).output

    record, first = read(*asked, offset=0, limit=4)
    rest = read(*asked, offset=first.next_offset, limit=100)[1]
    assert (record.status, first.text, rest.text, rest.next_offset) == (TaskStatus.SUCCESS, "one\n", "two\n", rest.kept)

    tasks.forget(NodeName("node-1"))
    with refuses(OutputNotKept):
        read(*asked, offset=0, limit=4)
    tasks.down.add(NodeName("node-1"))
    with pytest.raises(Unavailable):
        read(*asked, offset=0, limit=4)
    world.close()
