"""Restarts of the conductor, saved nodes, and the event log."""

from itertools import pairwise
from pathlib import Path

import pytest

from shipyard_simulators.ironic.simulator import IronicSimulator
from shipyard_simulators.ironic.site import SiteNode
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.ironic.client import DEFAULTS, Ironic, StartIronic, add, step
from shipyard_simulators.tests.waiting import VirtualClock


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ("deploying", "deploy failed"),
        ("deleting", "error"),
        ("inspecting", "inspect failed"),
        ("cleaning", "clean failed"),
        ("verifying", "enroll"),
        ("wait call-back", "wait call-back"),
        ("clean wait", "clean wait"),
        ("active", "active"),
    ],
)
def test_a_conductor_that_dies_in_the_middle(shared: Ironic, name: str, state: str, after: str) -> None:
    shared.at(name, state)

    failed = shared.call("POST", "/simulator/restart").json()["failed"]

    node = shared.node(name)
    assert (node["provision_state"], node["reservation"], node["maintenance"]) == (after, None, False)
    assert (name in failed) is (state != after)
    if state != after:
        text = f"The {state} state can't be resumed by conductor conductor-1. Moving to fail state."
        assert node["last_error"] == text
        assert shared.log("node_state", name)[-1]["cause"] == "restart"


def test_a_deployment_that_waits_for_its_agent_survives_a_restart(start: StartIronic) -> None:
    ironic = start("durations: {deploy_nodes: 1000}")
    ironic.at("n1", "available")
    ironic.run("n1", "active", "wait call-back")

    assert ironic.simulator.restart() == []

    ironic.until("n1", "active")
    assert ironic.steps("n1") == DEFAULTS


def test_nodes_are_kept_in_a_file(tmp_path: Path, start: StartIronic) -> None:
    kept = tmp_path / "nodes.json"
    scenario, clock = parse_scenario("nodes: {n1: {deploy: never}, n2: {agent: never}}"), VirtualClock()
    with unserved(IronicSimulator(scenario, clock=clock, state_file=kept)) as simulator:
        ironic = Ironic(simulator, clock)
        for node in ("n1", "n2"):
            ironic.at(node, "available")
        ironic.at("n3", "active")
        ironic.patch("n3", add("/extra/a", 1))
        ironic.run("n1", "active", "deploying")
        ironic.run("n2", "active", "wait call-back", deploy_steps=[step("bios.factory_reset", 150)])

    again = start(state_file=kept, site=[SiteNode("not-read")])

    assert [node["name"] for node in again.get("/v1/nodes")["nodes"]] == ["n1", "n2", "n3"]
    assert again.node("n1")["provision_state"] == "deploy failed"
    assert again.node("n3")["extra"] == {"a": 1}
    again.until("n2", "active")
    assert again.steps("n2") == DEFAULTS[1:]
    again.create("n4")


def test_the_log_has_every_change_of_state(start: StartIronic) -> None:
    ironic = start()
    for number in range(4):
        ironic.create(f"n{number}")
    for verb, state in (
        ("manage", "manageable"),
        ("provide", "available"),
        ("active", "active"),
        ("deleted", "available"),
    ):
        for number in range(4):
            ironic.ask(f"n{number}", verb)
        for number in range(4):
            ironic.until(f"n{number}", state)

    for number in range(4):
        changes = ironic.log("node_state", f"n{number}")
        assert all(one["state"] == next_one["before"] for one, next_one in pairwise(changes))
        assert all(one["time"] <= next_one["time"] for one, next_one in pairwise(changes))
        assert [each["verb"] for each in ironic.log("verb", f"n{number}")] == ["manage", "provide", "active", "deleted"]
        assert sum(each["cause"] == "active" for each in changes) == 1
    requests_seen = ironic.get("/simulator/requests")
    assert {"method", "path", "status", "version"} <= set(requests_seen[0])
    assert not any(each["path"].startswith("/simulator") for each in requests_seen)


def test_only_fields_of_a_node_can_be_set(shared: Ironic, name: str) -> None:
    shared.create(name)
    assert shared.call("PUT", f"/simulator/nodes/{name}", {"color": "red"}).status_code == 400
    assert shared.call("PUT", f"/simulator/nodes/{name}", [1]).status_code == 400
