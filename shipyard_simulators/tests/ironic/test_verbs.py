"""Provision verbs and the states that they lead to."""

import pytest

from shipyard_simulators.tests.ironic.client import Ironic, StartIronic, said


def test_a_node_with_an_agent_goes_through_the_states_that_wait_for_it(shared: Ironic, name: str) -> None:
    shared.create(name)

    for verb in ["manage", "inspect", "adopt", "deleted", "active", "deleted"]:
        shared.ask(name, verb)
        shared.clock.until(lambda: shared.node(name)["target_provision_state"] is None)

    cleaned = ["cleaning", "clean wait", "cleaning", "available"]
    assert shared.states(name) == [
        *("verifying", "manageable"),
        *("inspecting", "inspect wait", "inspecting", "manageable"),
        *("adopting", "active"),
        *("deleting", *cleaned),
        *("deploying", "wait call-back", "deploying", "active"),
        *("deleting", *cleaned),
    ]


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        ("inspect wait", "manage provide deleted"),
        ("wait call-back", "active manage rebuild"),
        ("deploy hold", "active deleted"),
    ],
)
def test_a_verb_in_the_wrong_state_is_400(shared: Ironic, name: str, state: str, verbs: str) -> None:
    shared.at(name, state)

    for verb in verbs.split():
        answer = shared.verb(name, verb)
        assert (answer.status_code, f'"{verb}" can not be performed' in said(answer)) == (400, True)
    assert shared.node(name)["provision_state"] == state


@pytest.mark.parametrize(
    ("state", "verb", "needs", "after"),
    [
        ("inspect wait", "abort", 41, "inspect failed"),
        ("clean wait", "abort", 13, "clean failed"),
        ("clean hold", "abort", 13, "clean failed"),
        ("wait call-back", "abort", 110, "deploy failed"),
        ("deploy hold", "abort", 110, "deploy failed"),
        ("service failed", "abort", 13, "active"),
    ],
)
def test_a_wait_can_be_aborted(shared: Ironic, name: str, state: str, verb: str, needs: int, after: str) -> None:
    shared.at(name, state)

    assert shared.verb(name, verb, version=f"1.{needs - 1}").status_code == 406
    assert shared.verb(name, verb, version=f"1.{needs}").status_code == 202

    node = shared.node(name)
    assert (node["provision_state"], node["maintenance"]) == (after, False)
    if after != "active":
        assert "operation was aborted" in node["last_error"]


def test_manual_cleaning_ends_where_it_began(shared: Ironic, name: str) -> None:
    shared.at(name, "manageable")
    steps = [{"interface": "deploy", "step": one} for one in ("erase_devices", "burnin_disk")]
    assert shared.run(name, "clean", "manageable", "clean failed", clean_steps=steps)["last_error"] is None
    assert [one["step"] for one in shared.log("step", name)] == ["deploy.erase_devices", "deploy.burnin_disk"]


def test_burn_in_needs_an_agent(shared: Ironic, name: str) -> None:
    shared.at(name, "manageable", driver="fake-hardware")
    node = shared.run(name, "clean", "clean failed", clean_steps=[{"interface": "deploy", "step": "burnin_cpu"}])
    assert "does not support this clean step" in node["last_error"]


def test_a_service_runs_its_steps_and_ends_where_it_began(shared: Ironic, name: str) -> None:
    shared.at(name, "active")
    assert shared.verb(name, "service").status_code == 400
    step = {"interface": "bios", "step": "factory_reset", "args": {}}
    assert shared.verb(name, "service", service_steps=[{**step, "priority": 5}]).status_code == 400

    assert shared.run(name, "service", "active", "service failed", service_steps=[step])["last_error"] is None
    assert shared.states(name)[-2:] == ["servicing", "active"]
    burn_in = [{"interface": "deploy", "step": "burnin_cpu", "args": {}}]
    assert shared.run(name, "service", "active", "service failed", service_steps=burn_in)["last_error"] is None
    wrong = [{"interface": "deploy", "step": "deploy", "args": {}}]
    node = shared.run(name, "service", "service failed", service_steps=wrong)
    assert "does not support this service step" in node["last_error"]
    assert (node["maintenance"], node["fault"]) == (False, None)


def test_a_step_of_a_service_that_fails_puts_the_node_into_maintenance(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {service: fail, times: 1}}")
    ironic.at("n1", "active")
    step = {"interface": "bios", "step": "factory_reset", "args": {}}

    node = ironic.run("n1", "service", "service failed", service_steps=[step])

    assert (node["maintenance"], node["fault"]) == (True, "service failure")
    assert ironic.run("n1", "service", "active", service_steps=[step])["provision_state"] == "active"
