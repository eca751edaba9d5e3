"""Provision verbs and the states that they lead to."""

from typing import Any
from uuid import uuid4

import pytest

from shipyard_simulators.tests.ironic.client import Ironic, StartIronic, add, said, step


@pytest.mark.parametrize(
    ("driver", "verbs", "states"),
    [
        ("fake-hardware", "manage", "verifying manageable"),
        ("fake-hardware", "manage inspect", "verifying manageable inspecting manageable"),
        ("fake-hardware", "manage provide", "verifying manageable cleaning available"),
        ("fake-hardware", "manage provide manage", "verifying manageable cleaning available manageable"),
        ("fake-hardware", "manage provide active", "verifying manageable cleaning available deploying active"),
        ("redfish", "manage inspect", "verifying manageable inspecting|inspect wait|inspecting manageable"),
        ("redfish", "manage provide", "verifying manageable cleaning|clean wait|cleaning available"),
        (
            "redfish",
            "manage provide active deleted",
            "verifying manageable cleaning|clean wait|cleaning available deploying|wait call-back|deploying active "
            "deleting|cleaning|clean wait|cleaning available",
        ),
        ("redfish", "manage adopt", "verifying manageable adopting active"),
    ],
)
def test_a_node_goes_through_its_states(shared: Ironic, name: str, driver: str, verbs: str, states: str) -> None:
    shared.create(name, driver)

    for verb in verbs.split():
        shared.ask(name, verb)
        shared.clock.until(lambda: shared.node(name)["target_provision_state"] is None)

    seen = states.replace("inspect wait", "inspect~wait").replace("clean wait", "clean~wait")
    wanted = [
        each.replace("~", " ") for each in seen.replace("wait call-back", "wait~call-back").replace("|", " ").split()
    ]
    assert shared.states(name) == wanted


def test_a_verb_is_answered_without_a_body(shared: Ironic, name: str) -> None:
    shared.create(name)

    answer = shared.verb(name, "manage")

    assert (answer.status_code, answer.content, answer.headers.get("Content-Type")) == (202, b"", None)
    assert answer.headers["Location"] == f"{shared.url}/v1/nodes/{name}/states"
    shared.until(name, "manageable")
    states = shared.get(f"/v1/nodes/{name}/states")
    assert (states["provision_state"], states["power_state"], states["last_error"]) == ("manageable", "power off", None)


@pytest.mark.parametrize(
    ("state", "verbs"),
    [
        ("enroll", "provide inspect active deleted abort clean adopt rebuild"),
        ("manageable", "manage active deleted abort rebuild"),
        ("available", "provide inspect deleted abort clean rebuild"),
        ("inspect failed", "provide active deleted abort"),
        ("clean failed", "provide inspect active deleted abort"),
        ("inspect wait", "manage provide deleted"),
        ("wait call-back", "active manage rebuild"),
        ("deploy failed", "manage provide abort"),
        ("active", "active manage provide inspect abort"),
        ("error", "active manage provide"),
        ("deploy hold", "active deleted"),
    ],
)
def test_a_verb_in_the_wrong_state_is_400(shared: Ironic, name: str, state: str, verbs: str) -> None:
    shared.at(name, state)
    uuid = shared.node(name)["uuid"]

    for verb in verbs.split():
        answer = shared.verb(name, verb)
        text = f'The requested action "{verb}" can not be performed on node "{uuid}" while it is in state "{state}".'
        assert (answer.status_code, said(answer)) == (400, text)
    assert shared.node(name)["provision_state"] == state


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Missing mandatory parameter: target"),
        ({"target": "manage", "foo": 1}, "Unexpected arguments: foo"),
        ({"target": "fly"}, '"fly" can not be performed'),
        ({"target": "clean"}, '"clean_steps" is required'),
        ({"target": "provide", "deploy_steps": [step("bios.factory_reset")]}, '"deploy_steps" is only valid'),
        ({"target": "provide", "configdrive": "x"}, "config drive"),
        ({"target": "provide", "clean_steps": [{"interface": "deploy", "step": "x"}]}, '"clean_steps" is only valid'),
    ],
)
def test_a_request_for_a_verb_that_makes_no_sense(shared: Ironic, name: str, body: Any, text: str) -> None:
    shared.at(name, "manageable")

    answer = shared.call("PUT", f"/v1/nodes/{name}/states/provision", body)

    assert answer.status_code == 400
    assert text in said(answer)


@pytest.mark.parametrize("verb", ["deploy", "active"])
def test_deploy_is_another_word_for_active(shared: Ironic, name: str, verb: str) -> None:
    shared.at(name, "available", driver="fake-hardware")
    assert shared.run(name, verb, "active")["target_provision_state"] is None


@pytest.mark.parametrize(
    ("state", "target"),
    [("clean failed", "available"), ("deploy failed", "active"), ("inspect failed", "manageable"), ("active", None)],
)
def test_a_failed_state_still_has_a_target(shared: Ironic, name: str, state: str, target: str | None) -> None:
    shared.at(name, state)
    assert shared.node(name)["target_provision_state"] == target


def test_inspection_collects_the_inventory(shared: Ironic, name: str) -> None:
    shared.at(name, "manageable")
    assert shared.call("GET", f"/v1/nodes/{name}/inventory").status_code == 404

    shared.ask(name, "inspect")
    node = shared.until(name, "manageable")

    assert (node["properties"]["cpus"], node["properties"]["cpu_arch"]) == (8, "x86_64")
    assert node["inspection_finished_at"] > node["inspection_started_at"]
    inventory = shared.get(f"/v1/nodes/{name}/inventory")["inventory"]
    assert set(inventory) == {"cpu", "memory", "disks", "interfaces", "system_vendor"}


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


def test_deleted_clears_the_fields_of_the_instance(shared: Ironic, name: str) -> None:
    shared.at(name, "active")
    shared.put(name, instance_uuid=str(uuid4()), instance_info={"image_source": "x"}, instance_name="i")

    node = shared.run(name, "deleted", "available")

    assert (node["instance_uuid"], node["instance_info"], node["instance_name"]) == (None, {}, None)
    assert node["power_state"] == "power off"


def test_a_retired_node_does_not_become_available_again(shared: Ironic, name: str) -> None:
    shared.at(name, "active")
    shared.put(name, retired=True)
    assert shared.run(name, "deleted", "manageable", "available")["provision_state"] == "manageable"


def test_without_automated_cleaning_a_node_is_available_at_once(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {clean: fail}}")
    ironic.at("n1", "active", automated_clean=False)

    ironic.run("n1", "deleted", "available")

    assert ironic.log("step", "n1") == []
    assert "clean wait" not in ironic.states("n1")


@pytest.mark.parametrize("verb", ["deleted", "rebuild"])
def test_a_protected_node_is_403(shared: Ironic, name: str, verb: str) -> None:
    shared.at(name, "active")
    shared.patch(name, add("/protected", True), add("/instance_info/image_source", "x"))

    answer = shared.verb(name, verb)

    assert (answer.status_code, "is protected" in said(answer)) == (403, True)


def test_rebuild_breaks_without_an_image(shared: Ironic, name: str) -> None:
    shared.at(name, "active")

    assert shared.verb(name, "rebuild").status_code == 500
    shared.patch(name, add("/instance_info/image_source", "http://images/x"))
    shared.ask(name, "rebuild")
    shared.until(name, "active")
    assert shared.states(name)[-2:] == ["deploying", "active"]


def test_manual_cleaning_with_a_wrong_step_fails_without_maintenance(shared: Ironic, name: str) -> None:
    shared.at(name, "manageable")

    node = shared.run(name, "clean", "clean failed", clean_steps=[{"interface": "deploy", "step": "wash"}])

    assert "does not support this clean step" in node["last_error"]
    assert (node["maintenance"], node["fault"]) == (False, None)


def test_a_step_of_manual_cleaning_that_fails_puts_the_node_into_maintenance(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {steps: fail}}")
    ironic.at("n1", "manageable")

    node = ironic.run("n1", "clean", "clean failed", clean_steps=[{"interface": "deploy", "step": "erase_devices"}])

    assert (node["maintenance"], node["fault"]) == (True, "clean failure")


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
