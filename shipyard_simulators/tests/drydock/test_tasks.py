"""Tasks: creating and reading them, and the order in which they run."""

import json
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from shipyard_simulators.tests.drydock.client import UNKNOWN_ERROR, Drydock, StartDrydock, by_names, lists
from shipyard_simulators.tests.waiting import until


def test_a_new_task_is_queued_and_says_so(start: StartDrydock):
    drydock = start(time_scale=1)
    answer = drydock.post("/tasks", action="deploy_nodes", design_ref="anything", **by_names("n1"))
    task = answer.json()
    created = task.pop("created")
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/api/v1.0/tasks/{task['task_id']}"
    assert created.endswith("+00:00")
    assert task.pop("updated").endswith("+00:00")
    assert task == {
        "kind": "Task",
        "apiVersion": "v1",
        "task_id": str(UUID(task["task_id"])),
        "action": "deploy_nodes",
        "parent_task_id": None,
        "design_ref": "anything",
        "status": "queued",
        "result": {
            "kind": "Status",
            "apiVersion": "v1.0",
            "metadata": {},
            "message": None,
            "reason": None,
            "status": "incomplete",
            "successes": [],
            "failures": [],
            "links": [],
            "details": {"errorCount": 0, "messageList": []},
        },
        "subtask_id_list": [],
        "created_by": "shipyard",
        "terminated": None,
        "terminated_by": None,
        "terminate": False,
        "retry": 0,
        **by_names("n1"),
    }
    later = drydock.get(f"/tasks/{task['task_id']}")
    assert later["created"] == created.removesuffix("+00:00")
    assert "+" not in later["updated"]


@pytest.mark.parametrize("action", ["deploy_node", "noop", None, ["deploy_nodes"]])
def test_an_action_that_is_not_one_of_the_eight_is_refused(drydock: Drydock, action: object):
    answer = drydock.post("/tasks", action=action, design_ref=drydock.design)
    message = f"Unsupported action {action}"
    assert (answer.status_code, answer.json()) == (400, {"type": "error", "message": message, "retry": False})


@pytest.mark.parametrize("design_ref", [None, 7, "x" * 129])
def test_a_design_reference_that_is_missing_or_too_long_comes_out_as_500(drydock: Drydock, design_ref: object):
    answer = drydock.post("/tasks", action="verify_site", design_ref=design_ref)
    assert (answer.status_code, answer.json()) == (500, UNKNOWN_ERROR)


def test_neither_the_design_nor_the_filter_is_looked_at_when_a_task_is_created(drydock: Drydock):
    answer = drydock.post("/tasks", action="verify_site", design_ref="x" * 128, node_filter="nonsense")
    assert answer.status_code == 201


@pytest.mark.parametrize("task_id", ["1326eedd-e830-4a00-a9a9-abb518c5f016", "no-uuid"])
def test_an_unknown_task_is_404_also_if_its_id_is_no_uuid(drydock: Drydock, task_id: str):
    answer = drydock.call("GET", f"/tasks/{task_id}")
    assert (answer.status_code, answer.json()["type"]) == (404, "error")


def test_a_tree_is_a_map_with_the_requested_number_of_levels(drydock: Drydock):
    drydock.run("prepare_nodes", "n1", "n2")
    task = drydock.run("deploy_nodes", "n1", "n2")
    root = task["task_id"]
    maps = {depth: drydock.get(f"/tasks/{root}?layers={depth}") for depth in (1, 2, 3, 7, -1)}
    assert {depth: len(tree) - 1 for depth, tree in maps.items()} == {1: 1, 2: 5, 3: 11, 7: 11, -1: 11}
    assert maps[-1]["init_task_id"] == root
    for each, below in maps[-1].items():
        if each != "init_task_id":
            assert below["task_id"] == each
            assert below["created_by"] is None or each == root
            assert all(maps[-1][child]["parent_task_id"] == each for child in below["subtask_id_list"])
    assert [maps[2][child]["action"] for child in task["subtask_id_list"]] == [
        "apply_node_networking",
        "apply_node_platform",
        "deploy_node",
        "bootaction_report",
    ]
    for depth in ("0", "many", ""):
        assert drydock.get(f"/tasks/{root}?layers={depth}") == task


def test_errors_of_subtasks_are_shown_only_on_request(start: StartDrydock):
    drydock = start("nodes: {n1: {prepare: fail, reason: no power}}")
    task = drydock.run("prepare_nodes", "n1", "n2")
    assert task["result"]["details"]["errorCount"] == 0
    assert "subtask_errors" not in task
    errors = drydock.get(f"/tasks/{task['task_id']}?subtaskerrors=true")["subtask_errors"]
    ((task_id, error),) = errors.items()
    assert error["task_id"] == task_id
    assert error["details"]["errorCount"] == 1
    (message,) = [one for one in error["details"]["messageList"] if one["error"]]
    assert "no power" in message["message"]
    assert (message["context_type"], message["context"], message["extra"]) == ("node", "n1", "{}")
    assert "+" not in message["ts"]
    tree = drydock.get(f"/tasks/{task['task_id']}?subtaskerrors=true&layers=1")
    assert tree[task["task_id"]]["subtask_errors"] == errors
    assert drydock.get(f"/tasks/{drydock.start('verify_site')}?subtaskerrors=true")["subtask_errors"] == {}


def test_build_data_is_that_of_the_very_task(start: StartDrydock):
    drydock = start()
    task = drydock.run("prepare_nodes", "n1")
    tree = drydock.get(f"/tasks/{task['task_id']}?layers=-1&builddata=true")
    assert tree[task["task_id"]]["build_data"] == []
    (collector,) = [one for key, one in tree.items() if key != "init_task_id" and one["build_data"]]
    assert [record["generator"] for record in collector["build_data"]] == ["lshw", "lldp"]
    assert drydock.get(f"/tasks/{collector['task_id']}/builddata") == collector["build_data"]
    assert collector["result"]["links"][0]["href"].endswith(f"/tasks/{collector['task_id']}/builddata")
    empty = drydock.call("GET", f"/tasks/{task['task_id']}/builddata")
    assert (empty.status_code, empty.content) == (404, b"")
    faulty = drydock.call("GET", "/tasks/no-uuid/builddata")
    assert (faulty.status_code, faulty.text) == (500, "Unexpected error.")
    maybe = drydock.call("GET", f"/tasks/{task['task_id']}?builddata=maybe")
    assert (maybe.status_code, maybe.json()) == (500, UNKNOWN_ERROR)


def test_build_data_of_a_node_is_gathered_from_all_tasks(start: StartDrydock):
    drydock = start()
    for action in ("prepare_nodes", "destroy_nodes", "prepare_nodes", "deploy_nodes"):
        drydock.run(action, "n1")
    records = drydock.get("/nodes/n1/builddata")
    assert [record["generator"] for record in records] == ["lshw", "lldp", "lshw", "lldp", "deploy:curtin"]
    latest = drydock.get("/nodes/n1/builddata?latest=true")
    assert sorted(latest, key=str) == sorted(records[2:], key=str)
    unknown = drydock.call("GET", "/nodes/n9/builddata")
    assert (unknown.status_code, unknown.json()["type"]) == (404, "error")


def test_the_list_of_tasks_holds_subtasks_and_health_probes_too(start: StartDrydock):
    drydock = start()
    drydock.run("verify_site")
    assert drydock.call("GET", "/health").status_code == 204
    health = drydock.get("/health/extended")
    assert (health["status"], health["code"], health["details"]) == (
        "Success",
        200,
        {"errorCount": 0, "messageList": []},
    )
    tasks = drydock.get("/tasks")
    assert sorted(task["action"] for task in tasks) == ["noop", "noop", "validate_node_services", "verify_site"]
    probes = [task for task in tasks if task["action"] == "noop"]
    assert {(probe["status"], probe["design_ref"]) for probe in probes} == {("complete", None)}


def test_purging_takes_away_queued_and_running_tasks_too(start: StartDrydock):
    drydock = start(nodes="n1-never-prepare")
    running_task, queued = drydock.start("prepare_nodes"), drydock.start("verify_site")
    drydock.watch(running_task, "running")
    assert drydock.call("DELETE", "/tasks").text == "Tables purged successfully."
    assert {running_task, queued} <= {task["task_id"] for task in drydock.get("/tasks")}
    assert drydock.call("DELETE", "/tasks?days=0").status_code == 200
    assert drydock.get("/tasks") == []
    assert drydock.call("GET", f"/tasks/{running_task}").status_code == 404
    assert drydock.call("DELETE", "/tasks?days=few").status_code == 500


def test_tasks_run_one_at_a_time_oldest_first_with_a_pause_between(start: StartDrydock):
    drydock = start(time_scale=0.01)
    tasks = [drydock.start("prepare_nodes", name) for name in ("n2", "n1", "n3")]
    drydock.watch(tasks[0], "running")
    assert [drydock.get(f"/tasks/{task}")["status"] for task in tasks] == ["running", "queued", "queued"]
    drydock.watch(tasks[2])
    ran = drydock.get("/simulator/tasks")
    assert [task["task_id"] for task in ran] == tasks
    for before, after in pairwise(ran):
        assert before["ended"] < after["started"]
    assert [entry["node"] for entry in drydock.log("node_started")] == ["n2", "n1", "n3"]


def test_tasks_run_without_requests(start: StartDrydock, tmp_path: Path):
    log_file = tmp_path / "events.jsonl"
    drydock = start(log_file=log_file)
    for name in ("n1", "n2"):
        drydock.start("prepare_nodes", name)
    until(lambda: log_file.read_text().count('"task_ended"') == 2)
    written = [json.loads(line) for line in log_file.read_text().splitlines()]
    assert [entry["node"] for entry in written if entry["event"] == "node_prepared"] == ["n1", "n2"]
    assert written == drydock.get("/simulator/log")


def test_a_task_shows_no_outcome_before_it_is_complete(start: StartDrydock):
    drydock = start(time_scale=0.01)
    task_id = drydock.start("prepare_nodes", "n1")
    task = drydock.watch(task_id, "running")
    assert lists(task) == ("incomplete", [], [])
    assert lists(drydock.watch(task_id)) == ("success", ["n1"], [])
