"""Locked nodes, nodes in transition, and the limits of concurrent operations."""

import pytest

from shipyard_simulators.ironic.conductor import Limits
from shipyard_simulators.tests.ironic.client import Ironic, StartIronic, add, said


def test_a_change_of_a_locked_node_is_409_after_a_while(start: StartIronic) -> None:
    ironic = start()
    uuid = ironic.create("n1")["uuid"]
    assert ironic.call("POST", "/simulator/nodes/n1/lock?host=elsewhere").status_code == 204

    assert ironic.node("n1")["reservation"] == "elsewhere"
    answer = ironic.patch("n1", add("/extra/a", 1))
    assert answer.status_code == 409
    assert f"Node {uuid} is locked by host elsewhere" in said(answer)
    assert ironic.clock.slept == [1, 1]
    assert ironic.states("n1") == []


def test_a_lock_that_ends_soon_only_delays(start: StartIronic) -> None:
    ironic = start()
    ironic.create("n1")
    ironic.call("POST", "/simulator/nodes/n1/lock?seconds=1.5")

    assert ironic.patch("n1", add("/extra/a", 1)).status_code == 200
    assert ironic.node("n1")["reservation"] is None


def test_a_lock_can_be_let_go(shared: Ironic, name: str) -> None:
    shared.create(name)
    shared.call("POST", f"/simulator/nodes/{name}/lock")
    shared.call("DELETE", f"/simulator/nodes/{name}/lock")
    assert shared.patch(name, add("/extra/a", 1)).status_code == 200


@pytest.mark.parametrize(
    ("state", "status"),
    [
        *((state, 409) for state in ("wait call-back", "clean wait", "clean hold", "deploy hold")),
        *((state, 409) for state in ("deploying", "cleaning", "deleting")),
        *((state, 200) for state in ("inspect wait", "deploy failed", "clean failed", "inspect failed", "error")),
        *((state, 200) for state in ("enroll", "manageable", "available", "active")),
    ],
)
def test_patching_in_a_transition_is_409(shared: Ironic, name: str, state: str, status: int) -> None:
    shared.at(name, state)

    answer = shared.patch(name, add("/extra/a", 1))

    assert answer.status_code == status
    if status == 409:
        assert "can not be updated while a state transition is in progress" in said(answer)


@pytest.mark.parametrize(
    ("state", "reserved"),
    [("cleaning", True), ("deploying", True), ("inspecting", True), ("clean wait", False), ("wait call-back", False)],
)
def test_busy_states_are_locked_and_waiting_ones_are_not(shared: Ironic, name: str, state: str, reserved: bool) -> None:
    shared.at(name, state)
    assert (shared.node(name)["reservation"] is not None) is reserved


@pytest.mark.parametrize(
    ("limits", "crowd", "state", "verb", "status"),
    [
        (Limits(deploying=2), ["deploying", "wait call-back"], "available", "active", 503),
        (Limits(deploying=3), ["deploying", "wait call-back"], "available", "active", 202),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "active", "deleted", 503),
        (Limits(cleaning=2), ["deleting", "cleaning"], "active", "deleted", 503),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "manageable", "provide", 202),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "manageable", "inspect", 202),
        (Limits(cleaning=2), ["cleaning", "clean wait"], "available", "active", 202),
        (Limits(workers=1), ["inspecting"], "manageable", "provide", 503),
        (Limits(workers=1), ["inspect wait"], "manageable", "provide", 202),
    ],
)
def test_above_a_limit_a_verb_is_503_and_nothing_has_changed(
    start: StartIronic, limits: Limits, crowd: list[str], state: str, verb: str, status: int
) -> None:
    ironic = start(limits=limits)
    for number, busy in enumerate(crowd):
        ironic.at(f"crowd{number}", busy)
    ironic.at("n1", state)
    before = ironic.node("n1")

    answer = ironic.verb("n1", verb)

    assert answer.status_code == status
    if status == 503:
        assert "limit" in said(answer) or "lack of free conductor workers" in said(answer)
        assert "Retry-After" not in answer.headers
        assert ironic.node("n1") == before
