"""The Drydock simulator against the contract it speaks: plain HTTP, no adapter of ours between."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID, uuid4

import pytest
import requests
import yaml

from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP, refusal

ROOT = Path(__file__).parents[2]
FIVE_GROUPS = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
PATIENCE = 15.0  # seconds; nothing takes that long, it only ends a test that would hang
HEADERS = {"Content-Type": "application/json"}
BROKEN = {"title": "500 Internal Server Error"}
UNKNOWN_ERROR = {"type": "error", "message": "Unknown error", "retry": False}


class Drydock:
    """A client of a running simulator that knows nothing but paths."""

    def __init__(self, url: str, design: str) -> None:
        self.url, self.design = url, design

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        prefix = "" if path.startswith(("/simulator", "/versions")) else "/api/v1.0"
        return HTTP.request(method, f"{self.url}{prefix}{path}", timeout=PATIENCE, **options)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> requests.Response:
        return self.call("POST", path, json=body)

    def start(self, action: str, *names: str, **body: Any) -> str:
        """Create a task for the named nodes and return its id."""
        answer = self.post("/tasks", **{"action": action, "design_ref": self.design, **by_names(*names), **body})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["task_id"])

    def watch(self, task_id: str, status: str = "complete", query: str = "") -> Any:
        """Return the task once it has that status."""
        deadline = time.monotonic() + PATIENCE
        while self.get(f"/tasks/{task_id}")["status"] != status:
            assert time.monotonic() < deadline, f"the task never became {status}"
            time.sleep(0.005)
        return self.get(f"/tasks/{task_id}{query}")

    def run(self, action: str, *names: str, **body: Any) -> Any:
        """Create a task and return it when it is complete."""
        return self.watch(self.start(action, *names, **body))

    def log(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.get("/simulator/log") if entry["event"] == event]


def by_names(*names: str) -> dict[str, Any]:
    each = {"filter_type": "union", "node_names": list(names)}
    return {"node_filter": {"filter_set_type": "union", "filter_set": [each]} if names else None}


def lists(task: dict[str, Any]) -> tuple[str, list[str], list[str]]:
    result = task["result"]
    return result["status"], sorted(result["successes"]), sorted(result["failures"])


def wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never written"
        time.sleep(0.01)


@contextmanager
def running(scenario: str, design: str, *, time_scale: float, **options: Any) -> Iterator[Drydock]:
    with DrydockSimulator(parse_scenario(scenario), time_scale=time_scale, **options) as simulator:
        thread = threading.Thread(target=simulator.serve)
        thread.start()
        try:
            yield Drydock(simulator.url, design)
        finally:
            simulator.stop()
            thread.join()


StartDrydock = Callable[..., Drydock]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartDrydock]:
    """What starts a Drydock with nodes of the given names, playing the given scenario fast."""

    def start_drydock(
        scenario: str = "", *, nodes: str = "n1 n2 n3", time_scale: float = 0.001, **options: Any
    ) -> Drydock:
        design = tmp_path / "design.yaml"
        write_design(design, nodes)
        return cleanup.enter_context(running(scenario, design.as_uri(), time_scale=time_scale, **options))

    with ExitStack() as cleanup:
        yield start_drydock


@pytest.fixture(scope="module")
def drydock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drydock]:
    """One Drydock for all tests that only ask, or that make tasks nobody else looks at."""
    design = tmp_path_factory.mktemp("design") / "design.yaml"
    write_design(design, "n1 n2 n3")
    with running("", design.as_uri(), time_scale=0.001) as client:
        yield client


def write_design(path: Path, nodes: str) -> None:
    path.write_text(
        yaml.safe_dump_all(
            {"schema": "drydock/BaremetalNode/v1", "metadata": {"name": name}, "data": {}} for name in nodes.split()
        )
    )


# Transport


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/versions"),
        ("GET", "/health"),
        ("GET", "/nodes"),
        ("GET", "/nowhere"),
        ("DELETE", "/nodes"),
        ("POST", "/tasks"),
        ("POST", "/nodefilter"),
    ],
)
def test_every_answer_carries_the_id_of_the_request(drydock: Drydock, method: str, path: str):
    first, second = (drydock.call(method, path).headers["X-Drydock-Req"] for _ in range(2))
    assert UUID(first) != UUID(second)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [("/tasks", 500, UNKNOWN_ERROR), ("/nodefilter", 500, BROKEN), ("/validatedesign", 400, None)],
)
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json; charset=utf-8", "{}"),
        ("application/x-yaml", "{}"),
        ("application/json", ""),
        ("application/json", "{"),
        ("application/json", "[]"),
        ("application/json", b"\xff"),
    ],
)
def test_a_body_that_is_not_read(
    drydock: Drydock, path: str, status: int, error: Any, content_type: str, body: str | bytes
):
    answer = drydock.call("POST", path, data=body, headers={"Content-Type": content_type})
    assert answer.status_code == status
    assert answer.json() == error if error else answer.json()["type"] == "error"


def test_a_body_without_a_length_counts_as_none(drydock: Drydock):
    body = iter([b'{"action": "verify_site"}'])
    answer = requests.post(f"{drydock.url}/api/v1.0/tasks", data=body, headers=HEADERS, timeout=PATIENCE)
    assert (answer.status_code, answer.json()) == (500, UNKNOWN_ERROR)


def test_a_large_body_that_is_refused_still_gets_its_answer(drydock: Drydock):
    body, headers = b"x" * 5_000_000, {"Content-Type": "text/plain"}
    answer = requests.post(f"{drydock.url}/api/v1.0/tasks", data=body, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 500


def test_unknown_paths_and_wrong_methods_are_answered_by_the_framework(drydock: Drydock):
    for method, path, title in (
        ("GET", "/nowhere", "404 Not Found"),
        ("PUT", "/tasks", "405 Method Not Allowed"),
        ("DELETE", f"/tasks/{uuid4()}", "405 Method Not Allowed"),
    ):
        answer = drydock.call(method, path)
        assert (answer.status_code, answer.json()) == (int(title[:3]), {"title": title})


def test_options_works_everywhere(drydock: Drydock):
    answer = drydock.call("OPTIONS", "/tasks")
    assert answer.status_code == 200
    assert {"GET", "POST", "DELETE"} <= set(answer.headers["Allow"].replace(" ", "").split(","))


def test_the_versions_sit_outside_of_the_api(drydock: Drydock):
    assert drydock.get("/versions") == {"v1.0": {"path": "/api/v1.0", "status": "stable"}}


def test_only_the_token_opens_a_drydock_that_was_given_one(start: StartDrydock):
    drydock = start(token="secret")
    assert drydock.call("GET", "/nodes", headers={"X-Auth-Token": "secret"}).status_code == 200
    for headers in ({}, {"X-Auth-Token": "other"}):
        answer = drydock.call("GET", "/nodes", headers=headers)
        error = {"type": "error", "message": "Unauthenticated", "retry": False}
        assert (answer.status_code, answer.json()) == (401, error)
    assert drydock.call("GET", "/health").status_code == 204
    assert drydock.call("GET", "/versions").status_code == 200


class AllAtOnce(Clock):
    """Lets no delayed request go on before fifty of them wait."""

    def __init__(self) -> None:
        super().__init__(1)
        self._barrier = threading.Barrier(50)

    def sleep(self, seconds: float) -> None:
        self._barrier.wait(PATIENCE)


def test_fifty_clients_are_answered_at_once(start: StartDrydock):
    drydock = start("service: [{method: GET, path: /nodes, action: delay, seconds: 0.5}]", clock=AllAtOnce())
    url = f"{drydock.url}/api/v1.0/nodes"
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: requests.get(url, timeout=PATIENCE).status_code, range(50)))
    assert answers == [200] * 50


# Creating and reading tasks


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
        "created_by": "drydock-simulator",
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


def test_a_tree_is_a_map_with_as_many_levels_as_asked_for(drydock: Drydock):
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


def test_errors_below_are_told_only_when_asked_for(start: StartDrydock):
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


# Order and time


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


def test_tasks_go_on_while_nobody_asks(start: StartDrydock, tmp_path: Path):
    log_file = tmp_path / "events.jsonl"
    drydock = start(log_file=log_file)
    for name in ("n1", "n2"):
        drydock.start("prepare_nodes", name)
    deadline = time.monotonic() + PATIENCE
    while log_file.read_text().count('"task_ended"') < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    written = [json.loads(line) for line in log_file.read_text().splitlines()]
    assert [entry["node"] for entry in written if entry["event"] == "node_prepared"] == ["n1", "n2"]
    assert written == drydock.get("/simulator/log")


def test_a_task_shows_no_outcome_before_it_is_complete(start: StartDrydock):
    drydock = start(time_scale=0.01)
    task_id = drydock.start("prepare_nodes", "n1")
    task = drydock.watch(task_id, "running")
    assert lists(task) == ("incomplete", [], [])
    assert lists(drydock.watch(task_id)) == ("success", ["n1"], [])


# Which nodes succeeded, and the traps


def test_nodes_are_prepared_then_deployed_and_maas_shows_it(start: StartDrydock):
    drydock = start()
    assert drydock.get("/nodes") == []
    assert lists(drydock.run("prepare_nodes")) == ("success", ["n1", "n2", "n3"], [])
    assert {node["status_name"] for node in drydock.get("/nodes")} == {"Ready"}
    assert lists(drydock.run("deploy_nodes", "n1", "n3")) == ("success", ["n1", "n3"], [])
    nodes = {node["hostname"]: node for node in drydock.get("/nodes")}
    assert {name: node["status_name"] for name, node in nodes.items()} == {
        "n1": "Deployed",
        "n2": "Ready",
        "n3": "Deployed",
    }
    assert set(nodes["n1"]) == {
        "hostname",
        "memory",
        "cpu_count",
        "status_name",
        "boot_mac",
        "power_state",
        "power_address",
        "boot_ip",
    }


@pytest.mark.parametrize(
    ("action", "outcome", "expected"),
    [
        ("prepare_nodes", "both_lists", ("partial_success", ["n1"], ["n1"])),
        ("prepare_nodes", "fail", ("failure", [], ["n1"])),
        ("deploy_nodes", "neither_list", ("success", [], [])),
        ("deploy_nodes", "silent_boot_action", ("failure", [], ["n1"])),
        ("deploy_nodes", "fail", ("failure", [], ["n1"])),
    ],
)
def test_where_a_node_that_fails_is_listed(
    start: StartDrydock, action: str, outcome: str, expected: tuple[str, list[str], list[str]]
):
    drydock = start(f"{{machines: {{n9: Ready}}, nodes: {{n1: {{{action.removesuffix('_nodes')}: {outcome}}}}}}}")
    if action == "deploy_nodes":
        drydock.run("prepare_nodes", "n1")
    assert lists(drydock.run(action, "n1")) == expected
    assert drydock.log("node_failed")[-1]["node"] == "n1"


def test_a_filter_that_selects_nothing_ends_in_success(start: StartDrydock):
    assert lists(start().run("prepare_nodes", "n9")) == ("success", [], [])
    assert lists(start("quirks: {success_of_nothing: false}").run("prepare_nodes", "n9")) == ("failure", [], [])


def test_failed_commissioning_called_a_success_shows_in_maas_only(start: StartDrydock):
    drydock = start("{nodes: {n1: {prepare: fail}}, quirks: {failed_commissioning_is_success: true}}")
    assert lists(drydock.run("prepare_nodes", "n1")) == ("success", ["n1"], [])
    deadline = time.monotonic() + PATIENCE
    while drydock.get("/nodes")[0]["status_name"] != "Failed commissioning":
        assert drydock.get("/nodes")[0]["status_name"] in ("Commissioning", "Failed commissioning")
        assert time.monotonic() < deadline


UNREADABLE = {
    "no such file": {"design_ref": "file:///nonexistent/design.yaml"},
    "no handler": {"design_ref": "deckhand+https://127.0.0.1/design"},
    "an odd filter": {"node_filter": {}},
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_a_task_that_cannot_be_evaluated_stays_running_but_the_queue_goes_on(start: StartDrydock, body: dict[str, Any]):
    drydock = start()
    stuck = drydock.start("prepare_nodes", **body)
    drydock.watch(stuck, "running")
    drydock.run("prepare_nodes", "n1")
    task = drydock.get(f"/tasks/{stuck}?subtaskerrors=true")
    assert (task["status"], lists(task), task["subtask_errors"]) == ("running", ("incomplete", [], []), {})
    assert task["result"]["details"] == {"errorCount": 0, "messageList": []}


def test_a_task_that_cannot_be_evaluated_may_fail_instead(start: StartDrydock):
    drydock = start("quirks: {stuck_in_running: false}")
    assert lists(drydock.run("prepare_nodes", node_filter={})) == ("failure", [], [])


def test_tasks_about_the_site_and_the_design(start: StartDrydock):
    drydock = start("tasks: {prepare_site: partial}")
    assert lists(drydock.run("verify_site", design_ref="unreadable")) == ("success", [], [])
    assert lists(drydock.run("prepare_site")) == ("partial_success", [], [])
    assert lists(drydock.run("validate_design")) == ("failure", [], [])
    assert lists(drydock.run("verify_nodes", "n1")) == ("success", [], [])
    assert lists(drydock.run("relabel_nodes", "n1")) == ("success", ["n1"], [])


def test_repeating_tasks_works_on_no_node_twice_but_the_log_shows_the_requests(start: StartDrydock):
    drydock = start()
    for action in ("prepare_nodes", "prepare_nodes", "deploy_nodes", "deploy_nodes", "prepare_nodes"):
        assert lists(drydock.run(action, "n1")) == ("success", ["n1"], [])
    requested = [(entry["action"], entry["nodes"]) for entry in drydock.log("task_requested")]
    assert requested == [
        ("prepare_nodes", ["n1"]),
        ("prepare_nodes", ["n1"]),
        ("deploy_nodes", ["n1"]),
        ("deploy_nodes", ["n1"]),
        ("prepare_nodes", ["n1"]),
    ]
    started = drydock.log("node_started")
    assert [(entry["phase"], entry["node"]) for entry in started] == [("prepare", "n1"), ("deploy", "n1")]
    assert [entry["task_id"] for entry in started] == [
        entry["task_id"]
        for entry in drydock.log("task_requested")
        if entry["task_id"] in {e["task_id"] for e in started}
    ]


def test_reinstalling_means_destroying_first(start: StartDrydock):
    drydock = start("machines: {n1: Deployed}")
    for action in ("destroy_nodes", "prepare_nodes", "deploy_nodes"):
        assert lists(drydock.run(action, "n1")) == ("success", ["n1"], [])
    assert [entry["phase"] for entry in drydock.log("node_started")] == ["destroy", "prepare", "deploy"]


def test_long_names_come_back_cut(start: StartDrydock):
    name = "a-node-with-a-name-of-more-than-32-characters"
    assert lists(start(nodes=name).run("prepare_nodes", name)) == ("success", [name[:32]], [])


# Filters and designs


def test_the_groups_of_the_shipped_site_are_those_of_the_worked_example(drydock: Drydock):
    def members(**criteria: list[str]) -> list[str]:
        node_filter = {"filter_set_type": "union", "filter_set": [{"filter_type": "intersection", **criteria}]}
        answer = drydock.post("/nodefilter", design_ref=FIVE_GROUPS.as_uri(), node_filter=node_filter)
        return sorted(answer.json())

    documents = list(yaml.safe_load_all(FIVE_GROUPS.read_text()))
    (strategy,) = [one["data"] for one in documents if one["schema"] == "shipyard/DeploymentStrategy/v1"]
    groups = {}
    for group in strategy["groups"]:
        (selector,) = group["selectors"]
        groups[group["name"]] = members(**{key: value for key, value in selector.items() if value})
    assert groups == {
        "ntp-node": ["ntp01"],
        "control-nodes": ["ctl01", "ctl02", "ctl03", "ctl04"],
        "compute-nodes-1": ["cmp01-1", "cmp01-2", "cmp01-3", "cmp01-4"],
        "compute-nodes-2": ["cmp02-1", "cmp02-2", "cmp02-3", "cmp02-4"],
        "monitoring-nodes": ["mon01", "mon02", "mon03"],
    }
    everything = drydock.post("/nodefilter", design_ref=FIVE_GROUPS.as_uri(), node_filter=None).json()
    assert sorted(everything) == sorted(name for names in groups.values() for name in names)
    assert everything != sorted(everything)


def test_a_question_about_a_filter(drydock: Drydock):
    def ask(**body: Any) -> tuple[int, Any]:
        answer = drydock.post("/nodefilter", **body)
        return answer.status_code, answer.json()

    assert ask(design_ref=drydock.design, **by_names("n1", "n9")) == (200, ["n1"])
    assert ask(design_ref=drydock.design, node_filter={}) == (500, BROKEN)
    assert ask(node_filter=None)[0] == 400
    assert ask(design_ref="deckhand+https://127.0.0.1/x", node_filter=None) == (200, [])
    assert ask(design_ref="gopher://x", node_filter={}) == (200, [])


def test_an_unreadable_design_may_break_the_question_instead(start: StartDrydock):
    drydock = start("quirks: {empty_answer_for_unreadable_design: false}")
    answer = drydock.post("/nodefilter", design_ref="file:///nonexistent", node_filter=None)
    assert (answer.status_code, answer.json()) == (500, BROKEN)


class DesignStore(BaseHTTPRequestHandler):
    """Serves the design of one node and notes who asked how."""

    asked: ClassVar[list[tuple[str, dict[str, str]]]]

    def do_GET(self) -> None:
        self.asked.append((self.path, dict(self.headers)))
        self.send_response(404 if "missing" in self.path else 200)
        self.end_headers()
        self.wfile.write(b"{schema: drydock/BaremetalNode/v1, metadata: {name: n1}, data: {}}")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def design_store() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """The address of a design store, and what it was asked."""
    asked: list[tuple[str, dict[str, str]]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (DesignStore,), {"asked": asked})) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_a_deckhand_reference_is_followed_with_drydocks_own_token_and_only_once(
    start: StartDrydock, design_store: tuple[str, list[tuple[str, dict[str, str]]]]
):
    drydock, (store, asked) = start(design_token="of-drydock"), design_store
    for _ in range(2):
        answer = drydock.post("/nodefilter", design_ref=f"deckhand+http://{store}/revisions/1", node_filter=None)
        assert answer.json() == ["n1"]
    assert [(path, headers["X-Auth-Token"]) for path, headers in asked] == [("/revisions/1", "of-drydock")]


def test_a_plain_reference_is_followed_with_the_user_in_it_and_cached_by_the_exact_string(
    start: StartDrydock, design_store: tuple[str, list[tuple[str, dict[str, str]]]]
):
    drydock, (store, asked) = start(design_token="of-drydock"), design_store
    for path in ("d", "d", "d?v=2"):
        drydock.post("/nodefilter", design_ref=f"http://user:password@{store}/{path}", node_filter=None)
    assert [path for path, _ in asked] == ["/d", "/d?v=2"]
    assert all("X-Auth-Token" not in headers and "Authorization" in headers for _, headers in asked)


def test_a_failure_to_fetch_a_design_is_not_cached(
    start: StartDrydock, design_store: tuple[str, list[tuple[str, dict[str, str]]]]
):
    drydock, (store, asked) = start(), design_store
    for _ in range(2):
        answer = drydock.post("/nodefilter", design_ref=f"http://{store}/missing", node_filter=None)
        assert (answer.status_code, answer.json()) == (200, [])
    assert len(asked) == 2


def test_a_file_that_changes_keeps_its_old_answer(start: StartDrydock, tmp_path: Path):
    drydock, design = start(), tmp_path / "changing.yaml"
    answers = []
    for nodes, reference in (("n1", design.as_uri()), ("n2", design.as_uri()), ("n2", f"{design.as_uri()}?v=2")):
        write_design(design, nodes)
        answers.append(drydock.post("/nodefilter", design_ref=reference, node_filter=None).json())
    assert answers == [["n1"], ["n1"], ["n2"]]


def test_a_sound_design_is_valid_with_a_message_for_each_rule(drydock: Drydock):
    answer = drydock.post("/validatedesign", rel="design", href=FIVE_GROUPS.as_uri(), type="application/x-yaml")
    status = answer.json()
    assert (answer.status_code, status["status"], status["code"]) == (200, "Success", 200)
    assert status["message"] == "Site design passed validation"
    assert status["details"]["errorCount"] == 0
    messages = status["details"]["messageList"]
    assert [message["level"] for message in messages] == ["Info"] * 5
    assert set(messages[0]) == {"kind", "name", "level", "error", "message", "diagnostic", "ts", "documents"}


def test_a_design_that_is_not_sound_is_refused(start: StartDrydock, tmp_path: Path):
    drydock = start("tasks: {validate_design: {outcome: fail, reason: invalid image nonesuch}}")
    malformed, empty = tmp_path / "malformed.yaml", tmp_path / "empty.yaml"
    malformed.write_text("{schema: drydock/BaremetalNode/v1, metadata: {name: n1}, data: text}")
    empty.write_text("{schema: drydock/Region/v1, metadata: {name: r}, data: {}}")
    status = drydock.post("/validatedesign", href=malformed.as_uri()).json()
    assert (status["code"], status["status"], status["message"]) == (400, "failure", None)
    assert [message["name"] for message in status["details"]["messageList"]] == ["DD001"]
    answer = drydock.post("/validatedesign", href=empty.as_uri())
    status = answer.json()
    assert (answer.status_code, status["status"], status["details"]["errorCount"]) == (400, "Failure", 2)
    assert "invalid image nonesuch" in answer.text
    gone = drydock.post("/validatedesign", href="file:///nonexistent")
    assert gone.status_code == 500
    assert "has no attribute" in gone.json()["message"]
    assert drydock.post("/validatedesign", rel="design").status_code == 400


# Faults of the service


def test_an_error_before_and_after_the_effect(start: StartDrydock):
    drydock = start(
        "service: [{method: POST, path: /tasks, status: 503, first: 1},"
        " {method: POST, path: /tasks, action: error_after_effect, first: 1}]"
    )
    body = {"action": "verify_site", "design_ref": "x"}
    answers = [drydock.post("/tasks", **body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503, 500, 201]
    assert answers[1].json() == UNKNOWN_ERROR
    assert "X-Drydock-Req" in answers[0].headers
    assert [entry["action"] for entry in drydock.log("request_faulted")] == ["error", "error_after_effect"]
    assert len(drydock.log("task_requested")) == 2


def test_the_framework_answers_where_drydock_breaks_while_reporting(start: StartDrydock):
    drydock = start("service: [{path: /nod*, first: 2}]")
    assert drydock.call("GET", "/nodes").json() == BROKEN
    assert drydock.post("/nodefilter").json() == BROKEN


@pytest.mark.parametrize(("action", "effects"), [("drop", 0), ("drop_after_effect", 1), ("hang", 0)])
def test_a_connection_is_cut_without_an_answer(start: StartDrydock, action: str, effects: int):
    drydock = start(f"service: [{{method: POST, path: /tasks, action: {action}, first: 1, seconds: 1}}]")
    with pytest.raises(requests.ConnectionError):
        drydock.post("/tasks", action="verify_site", design_ref="x")
    assert len(drydock.log("task_requested")) == effects


def test_chance_is_the_same_in_every_run(start: StartDrydock):
    scenario = "{{seed: {}, service: [{{method: GET, path: /nodes, probability: 0.5}}]}}"
    rows = []
    for seed in (1, 1, 2):
        drydock = start(scenario.format(seed))
        rows.append([drydock.call("GET", "/nodes").status_code for _ in range(24)])
    assert rows[0] == rows[1] != rows[2]
    assert {200, 500} == set(rows[0])


def test_a_scenario_can_be_replaced_while_the_simulator_runs(start: StartDrydock):
    drydock = start("{name: bad, nodes: {n1: {prepare: fail}}}")
    assert lists(drydock.run("prepare_nodes", "n1")) == ("failure", [], ["n1"])
    refused = drydock.call("POST", "/simulator/scenario", data="nodes: {n1: {prepare: x}, n2: {}}")
    assert (refused.status_code, len(refused.json()["faults"])) == (400, 2)
    assert drydock.get("/simulator/scenario")["name"] == "bad"
    assert drydock.call("POST", "/simulator/scenario", data="{name: good, machines: {n2: Ready}}").status_code == 200
    assert lists(drydock.run("prepare_nodes", "n1")) == ("success", ["n1"], [])
    assert lists(drydock.run("deploy_nodes", "n1", "n2")) == ("success", ["n1", "n2"], [])


# The program

COMMAND = [sys.executable, "-m", "shipyard_simulators.drydock"]


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_program_announces_itself_serves_and_ends_at_once(tmp_path: Path, ending: signal.Signals):
    ready, log_file = tmp_path / "ready.json", tmp_path / "log.jsonl"
    command = [
        *COMMAND,
        "--port",
        "0",
        "--ready-file",
        str(ready),
        "--log-file",
        str(log_file),
        "--time-scale",
        "0.001",
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for_file(ready)
        announced = json.loads(ready.read_text())
        assert announced["pid"] == process.pid
        drydock = Drydock(announced["url"], FIVE_GROUPS.as_uri())
        assert lists(drydock.run("prepare_nodes", "ntp01")) == ("success", ["ntp01"], [])
        process.send_signal(ending)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    assert announced["url"] in out.decode()
    assert [json.loads(line)["event"] for line in log_file.read_text().splitlines()] == [
        "task_requested",
        "task_started",
        "node_started",
        "node_prepared",
        "task_ended",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "ready.json"]


def test_the_program_ends_with_the_process_that_started_it(tmp_path: Path):
    ready = tmp_path / "ready.json"
    command = [*COMMAND, "--port", "0", "--ready-file", str(ready), "--die-with-parent"]
    parent_code = f"import subprocess, time; subprocess.Popen({command!r}); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", parent_code], cwd=ROOT, stdout=subprocess.DEVNULL) as parent:
        wait_for_file(ready)
        simulator = os.pidfd_open(json.loads(ready.read_text())["pid"])
        parent.kill()
    try:
        import select

        ended, _, _ = select.select([simulator], [], [], PATIENCE)
        assert ended == [simulator]
    finally:
        os.close(simulator)


def test_every_bad_argument_is_named(tmp_path: Path):
    scenario = tmp_path / "bad.yaml"
    scenario.write_text("nodes: {n1: {prepare: explode}}\nquirks: {unknown: true}\n")
    words = ["--port", "70000", "--time-scale", "0", "--scenario", str(scenario)]
    code, answered = refusal("drydock", *words, "--log-file", str(tmp_path / "nowhere" / "log"))
    assert (code, len(answered)) == (2, 5)
    for fault in ("--port: 70000", "--time-scale: 0.0", "nodes.n1.prepare", "quirks.unknown", "--log-file:"):
        assert any(fault in line for line in answered)


def test_a_port_that_is_taken_is_said(drydock: Drydock):
    port = drydock.url.rpartition(":")[2]
    code, lines = refusal("drydock", "--port", port)
    assert (code, "in use" in "".join(lines)) == (2, True)
