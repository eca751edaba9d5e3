"""Which nodes a task lists, and the traps of these lists."""

from typing import Any

import pytest

from shipyard_simulators.tests.drydock.client import StartDrydock, lists
from shipyard_simulators.tests.waiting import until


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
    until(lambda: drydock.get("/nodes")[0]["status_name"] == "Failed commissioning")


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
