"""Traits, ports, power, history, and allocations of nodes."""

from typing import Any

import pytest

from shipyard_simulators.tests.ironic.client import Ironic, StartIronic, said


@pytest.mark.parametrize("state", ["cleaning", "clean wait"])
def test_the_power_of_a_node_stays_while_it_is_cleaned(shared: Ironic, name: str, state: str) -> None:
    shared.create(name)
    shared.call("PUT", f"/simulator/nodes/{name}", {"provision_state": state})
    answer = shared.call("PUT", f"/v1/nodes/{name}/states/power", {"target": "rebooting"})
    assert (answer.status_code, state in said(answer)) == (400, True)


@pytest.mark.parametrize(
    ("wanted", "state", "text"),
    [
        ({"resource_class": "gpu"}, "active", ""),
        ({"resource_class": "gpu", "traits": ["CUSTOM_A"]}, "active", ""),
        ({"resource_class": "gpu", "candidate_nodes": ["n1"]}, "active", ""),
        ({"resource_class": "cpu"}, "error", "no available nodes match the resource class cpu"),
        (
            {"resource_class": "gpu", "traits": ["CUSTOM_B"]},
            "error",
            "no suitable nodes have the requested traits CUSTOM_B",
        ),
        ({"resource_class": "gpu", "candidate_nodes": ["n2"]}, "error", "no available nodes match"),
    ],
)
def test_allocations(start: StartIronic, wanted: dict[str, Any], state: str, text: str) -> None:
    ironic = start()
    ironic.at("n1", "available", resource_class="gpu")
    ironic.put("n1", traits=["CUSTOM_A"])
    ironic.at("n2", "manageable", resource_class="gpu")

    answer = ironic.call("POST", "/v1/allocations", {"name": "a1", **wanted})

    assert (answer.status_code, answer.json()["state"]) == (201, "allocating")
    ironic.clock.passes(1)
    allocation = ironic.get("/v1/allocations/a1")
    assert (allocation["state"], text in (allocation["last_error"] or "")) == (state, True)
    claimed = allocation["uuid"] if state == "active" else None
    node = ironic.node("n1")
    assert (node["instance_uuid"], node["allocation_uuid"]) == (claimed, claimed)
    assert ironic.call("POST", "/v1/allocations", {"name": "a1", **wanted}).status_code == 409
    assert ironic.call("POST", "/v1/allocations", {"name": "a2"}).status_code == 400
    assert ironic.call("DELETE", "/v1/allocations/a1").status_code == 204
    assert ironic.node("n1")["instance_uuid"] is None


def test_undeploying_ends_the_allocation(start: StartIronic) -> None:
    ironic = start()
    ironic.at("n1", "available", resource_class="gpu")
    ironic.call("POST", "/v1/allocations", {"name": "a1", "resource_class": "gpu"})
    ironic.clock.until(lambda: ironic.node("n1")["allocation_uuid"])
    ironic.run("n1", "active", "active")

    assert ironic.call("DELETE", "/v1/allocations/a1").status_code == 409
    ironic.run("n1", "deleted", "available")
    assert ironic.call("GET", "/v1/allocations/a1").status_code == 404


def test_an_update_of_firmware_installs_the_version_that_its_file_names(shared: Ironic, name: str) -> None:
    shared.at(name, "active")
    assert shared.call("PUT", f"/simulator/nodes/{name}/firmware", {"bios": "2.0", "bmc": "7"}).status_code == 204
    settings = [{"component": "bios", "url": "http://files.example.org/bios-2.1.bin"}]
    step = {"interface": "firmware", "step": "update", "args": {"settings": settings}}
    shared.run(name, "service", "active", service_steps=[step])
    found = shared.get(f"/v1/nodes/{name}/firmware")["firmware"]
    assert [(one["component"], one["current_version"]) for one in found] == [("bios", "2.1"), ("bmc", "7")]
