"""Outcomes of a scenario: nodes that fail, hang or are held."""

import pytest

from shipyard_simulators.tests.ironic.client import DEFAULTS, Ironic, StartIronic


@pytest.mark.parametrize(
    ("outcome", "state", "verb", "after", "text"),
    [
        ("verify: fail", "enroll", "manage", "enroll", "Failed to get power state"),
        ("bmc: fail", "enroll", "manage", "enroll", "Failed to get power state"),
        ("inspect: fail", "manageable", "inspect", "inspect failed", "Failed to inspect hardware. Reason: it broke"),
        ("prepare: fail", "manageable", "inspect", "inspect failed", "it broke"),
        ("prepare: fail", "manageable", "provide", "clean failed", "failed step"),
        ("prepare: both_lists", "manageable", "provide", "clean failed", "failed step"),
        ("clean: fail", "manageable", "provide", "clean failed", "it broke"),
        ("clean: fail", "active", "deleted", "clean failed", "it broke"),
        ("clean: hold", "manageable", "provide", "clean hold", None),
        ("deploy: fail", "available", "active", "deploy failed", "Deploy step deploy."),
        ("deploy: neither_list", "available", "active", "deploy failed", "it broke"),
        ("agent: fail", "available", "active", "deploy failed", "it broke"),
        ("agent: hold", "available", "active", "deploy hold", None),
        ("agent: never", "available", "active", "wait call-back", None),
        ("destroy: fail", "active", "deleted", "error", "Failed to tear down: it broke"),
        ("prepare: fail, times: 1", "inspect failed", "inspect", "inspect failed", "it broke"),
    ],
)
def test_an_outcome_comes_about(
    start: StartIronic, outcome: str, state: str, verb: str, after: str, text: str | None
) -> None:
    ironic = start(f"nodes: {{n1: {{{outcome}, reason: it broke}}}}")
    ironic.at("n1", state)

    ironic.ask("n1", verb)
    ironic.clock.until(lambda: after in ironic.states("n1")[1 if state != "enroll" else 0 :])

    node = ironic.node("n1")
    assert node["provision_state"] == after
    if text is not None:
        assert text in node["last_error"]
        assert node["reservation"] is None
    failed_cleaning = after == "clean failed"
    assert (node["maintenance"], node["fault"] == "clean failure") == (failed_cleaning, failed_cleaning)


def test_the_next_power_sync_clears_the_last_error_and_the_history_keeps_it(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {deploy: fail, reason: it broke}}")
    ironic.at("n1", "available")
    ironic.run("n1", "active", "available", "deploy failed")

    ironic.clock.until(lambda: ironic.node("n1")["last_error"] is None)

    history = ironic.get("/v1/nodes/n1/history")["history"]
    assert "it broke" in history[-1]["event"]


@pytest.mark.parametrize(
    ("name", "verb", "after"),
    [
        ("n1-fails-prepare", "provide", "clean failed"),
        ("n1-fails-clean", "provide", "clean failed"),
        ("n1-fails-inspect", "inspect", "inspect failed"),
        ("n1-holds-clean", "provide", "clean hold"),
    ],
)
def test_a_name_is_an_outcome_too(shared: Ironic, name: str, verb: str, after: str) -> None:
    shared.at(name, "manageable")
    shared.run(name, verb, after)


@pytest.mark.parametrize(
    ("outcome", "state", "verb", "hangs"),
    [
        ("prepare: never", "manageable", "inspect", "inspect wait"),
        ("prepare: never", "manageable", "provide", "clean wait"),
        ("deploy: never", "available", "active", "deploying"),
        ("destroy: never", "active", "deleted", "deleting"),
        ("verify: never", "enroll", "manage", "verifying"),
    ],
)
def test_a_node_that_hangs(start: StartIronic, outcome: str, state: str, verb: str, hangs: str) -> None:
    ironic = start(f"nodes: {{n1: {{{outcome}}}}}")
    ironic.at("n1", state)

    ironic.run("n1", verb, hangs)
    ironic.clock.passes(1_000_000)

    assert ironic.node("n1")["provision_state"] == hangs


def test_a_held_operation_continues_after_unhold(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {clean: hold, agent: hold, times: 1}}")
    ironic.at("n1", "manageable")

    ironic.run("n1", "provide", "clean hold")
    ironic.run("n1", "unhold", "available")
    ironic.run("n1", "active", "deploy hold")
    ironic.run("n1", "unhold", "active")

    assert ironic.steps("n1") == DEFAULTS


def test_a_node_whose_controller_is_lost_is_out_of_service_until_it_is_back(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available")

    ironic.call("POST", "/simulator/scenario", data="nodes: {n1: {bmc: fail, reason: IPMI did not answer}}")
    node = ironic.node("n1")
    assert (node["maintenance"], node["fault"], node["power_state"]) == (True, "power failure", None)
    assert "IPMI did not answer" in node["maintenance_reason"]
    ironic.call("PUT", "/v1/nodes/n1/states/power", {"target": "power on"})
    ironic.clock.until(lambda: ironic.node("n1")["power_state"] == "error")

    ironic.call("POST", "/simulator/scenario", data="")
    node = ironic.node("n1")
    assert (node["maintenance"], node["fault"]) == (False, None)


def test_a_controller_that_flaps(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {bmc: flaps, seconds: 5, times: 2}}")
    ironic.at("n1", "available")

    ironic.clock.passes(60)
    faults = [each["fault"] for each in ironic.log("fault", "n1")]

    assert faults[:3] == ["power failure", None, "power failure"]


def test_a_persons_maintenance_is_left_alone(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available")
    ironic.call("PUT", "/v1/nodes/n1/maintenance", {"reason": "mine"})

    ironic.call("POST", "/simulator/scenario", data="nodes: {n1: {bmc: fail}}")
    ironic.clock.passes(60)
    ironic.call("POST", "/simulator/scenario", data="")

    node = ironic.node("n1")
    assert (node["maintenance"], node["maintenance_reason"], node["fault"]) == (True, "mine", None)
