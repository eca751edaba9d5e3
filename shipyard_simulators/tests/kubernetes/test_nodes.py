"""Nodes that join, report and flap, and the control routes of the simulator."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from shipyard_simulators.tests.kubernetes.client import AT_ONCE, Cluster, Start


def test_nodes_join_after_their_time_and_are_ready_after_some_more(start: Start) -> None:
    cluster = start("durations: {join_nodes: 100, ready_nodes: 20}", nodes=["n1", "N2"])
    assert cluster.names() == []
    cluster.clock.passes(100)
    assert cluster.names() == ["n1", "n2"]
    cluster.clock.passes(20)
    assert cluster.ready("n1") == cluster.ready("n2") == "True"
    log = cluster.get("/simulator/log", node="n1")
    assert [each["event"] for each in log] == ["node_joined", "node_reported"]


def test_what_happened_between_two_requests_happened_at_its_time(start: Start) -> None:
    cluster = start("durations: {join_nodes: 10, ready_nodes: 10}", nodes=["n1"])
    cluster.clock.passes(40)
    joined, reported = cluster.simulator.events()
    passed = datetime.fromisoformat(reported["time"]) - datetime.fromisoformat(joined["time"])
    assert passed.total_seconds() == pytest.approx(10)


def test_a_node_joins_not_ready_with_the_words_of_a_kubelet(start: Start) -> None:
    cluster = start("durations: {join_nodes: 0}\nnodes: {n1: {ready: never}}", nodes=["n1"])
    said = cluster.condition("n1")
    assert (said["status"], said["reason"]) == ("False", "KubeletNotReady")
    assert "cni plugin not initialized" in said["message"]


def test_ready_is_the_fourth_condition_and_the_last_one_only_of_some(start: Start) -> None:
    cluster = start(AT_ONCE, nodes=[f"n{number}" for number in range(8)])
    orders = {tuple(each["type"] for each in node["status"]["conditions"]) for node in cluster.get("/nodes")["items"]}
    usual = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    assert orders == {usual, (*usual, "NetworkUnavailable")}


def test_outcomes_are_those_of_the_scenario_or_of_the_name(start: Start) -> None:
    text = f"{AT_ONCE}\nnodes: {{n1: {{join: never}}, n2: {{ready: never}}, n3: {{join: ok, seconds: 600}}}}"
    cluster = start(text, nodes=["n1", "n2", "n3", "n4", "n5-never-join", "n6-never-ready", "n7-slow-join"])
    assert cluster.names() == ["n2", "n4", "n6-never-ready", "n7-slow-join"]
    found = {name: cluster.ready(name) for name in cluster.names()}
    assert found == {"n2": "False", "n4": "True", "n6-never-ready": "False", "n7-slow-join": "True"}


def test_a_slow_node_takes_ten_times_as_long(start: Start) -> None:
    cluster = start("durations: {join_nodes: 100}\nnodes: {n1: {join: slow}}", nodes=["n1", "n2"])
    due = {name: each["next"]["at"] for name, each in cluster.get("/simulator/nodes").items()}
    moments = {name: datetime.fromisoformat(at) for name, at in due.items()}
    assert (moments["n1"] - moments["n2"]).total_seconds() == pytest.approx(900, abs=1)


def test_a_node_that_flaps_is_ready_and_lost_in_turn(start: Start) -> None:
    cluster = start("nodes: {n1: {ready: flaps, seconds: 5}}")
    cluster.control("POST", "nodes/n1/join")
    cluster.clock.passes(20)
    answered = [each["status"] for each in cluster.get("/simulator/log", node="n1") if each["event"] == "node_reported"]
    assert answered == ["True", "Unknown", "True", "Unknown"]
    assert cluster.ready("n1") == "Unknown"


def test_all_conditions_of_a_lost_node_are_unknown(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1/ready", {"status": "Unknown"})
    conditions = cluster.get("/nodes/n1")["status"]["conditions"]
    answered = {each["type"]: (each["status"], each["reason"]) for each in conditions}
    answered.pop("NetworkUnavailable", None)
    assert set(answered.values()) == {("Unknown", "NodeStatusUnknown")}


def test_time_is_counted_from_when_a_node_is_expected(start: Start) -> None:
    cluster = start("durations: {join_nodes: 600}")
    cluster.clock.passes(100)
    cluster.control("PUT", "nodes/N1")
    following = cluster.get("/simulator/nodes")["n1"]["next"]
    assert following["what"] == "join"
    assert datetime.fromisoformat(f"{following['at']}+00:00").timestamp() == pytest.approx(cluster.clock.now() + 600)


def test_a_join_by_control_route_ignores_the_outcome(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1")
    assert cluster.get("/simulator/nodes")["n1"] == {
        "in_cluster": False,
        "outcomes": {"join": "never", "ready": "ok"},
        "next": None,
    }
    for _ in range(2):
        cluster.control("POST", "nodes/n1/join")
        assert cluster.names() == ["n1"]


def test_a_reported_status_stays_until_the_next_one(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1/ready")
    assert cluster.ready("n1") == "True"
    cluster.control("PUT", "nodes/n1/ready", {"status": "False", "reason": "Disk", "message": "it is full"})
    said = cluster.condition("n1")
    assert (said["status"], said["reason"], said["message"]) == ("False", "Disk", "it is full")


def test_the_outcomes_of_a_node_can_be_set_while_it_runs(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1", {"join": "ok", "ready": "ok", "seconds": 0})
    assert cluster.ready("n1") == "True"
    cluster.control("PUT", "nodes/n1", {"ready": "flaps", "seconds": 600})
    assert cluster.get("/simulator/nodes")["n1"]["next"]["what"] == "ready"


@pytest.mark.parametrize("body", ["{join: explode}", "[", "{colour: red}", "just text"])
def test_unknown_outcomes_are_refused(cluster: Cluster, body: str) -> None:
    answer = cluster.call("PUT", "/simulator/nodes/n1", data=body)
    assert answer.status_code == 400
    assert answer.json()["faults"]
    assert cluster.get("/simulator/nodes") == {}


@pytest.mark.parametrize("body", ['{"status": "Maybe"}', '{"status": []}', "[]", "{"])
def test_an_unknown_status_is_refused(cluster: Cluster, body: str) -> None:
    answer = cluster.call("PUT", "/simulator/nodes/n1/ready", data=body)
    assert (answer.status_code, cluster.names()) == (400, [])


def test_a_node_can_be_forgotten(cluster: Cluster) -> None:
    cluster.control("POST", "nodes/n1/join")
    cluster.control("DELETE", "nodes/n1")
    cluster.control("DELETE", "nodes/n2")
    assert (cluster.names(), cluster.get("/simulator/nodes")) == ([], {})


def test_a_new_scenario_applies_to_machines_expected_later(cluster: Cluster) -> None:
    cluster.control("PUT", "nodes/n1")
    assert cluster.call("POST", "/simulator/scenario", data=AT_ONCE).ok
    cluster.control("PUT", "nodes/n2")
    assert cluster.names() == ["n2"]


def test_machines_join_when_the_log_of_a_provisioner_says_that_they_are_deployed(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "ironic.jsonl"
    events: list[dict[str, Any]] = [
        {"event": "node_deployed", "node": "N1"},
        {"event": "machine", "kind": "status", "to": "Deployed", "machine": "n2"},
        {"event": "node_state", "before": "wait call-back", "state": "active", "node": "n3"},
        {"event": "node_state", "before": "adopting", "state": "active", "node": "n4"},
        {"event": "machine", "kind": "power", "to": "on", "machine": "n5"},
    ]
    cluster = start(AT_ONCE, follow=log)
    assert cluster.names() == []
    whole = "".join(json.dumps(event) + "\n" for event in events)
    log.write_text(whole[:-5])
    assert cluster.names() == ["n1", "n2", "n3"]
    log.write_text(whole + json.dumps({"event": "node_deployed", "node": "n6"}) + "\n")
    assert cluster.names() == ["n1", "n2", "n3", "n6"]
