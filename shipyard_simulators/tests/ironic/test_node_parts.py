"""Traits, ports, power, history, and allocations of nodes."""

from typing import Any
from uuid import uuid4

import pytest

from shipyard_simulators.tests.ironic.client import Ironic, StartIronic, said


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "after"),
    [
        ("PUT", "", {"traits": ["CUSTOM_C", "CUSTOM_C"]}, 204, ["CUSTOM_C"]),
        ("PUT", "", {"traits": []}, 204, []),
        ("PUT", "", {"traits": ["CUSTOM_A", "bad"]}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "", {"traits": "CUSTOM_A"}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "", {}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "", {"traits": [f"CUSTOM_{n}" for n in range(51)]}, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "/CUSTOM_C", None, 204, ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]),
        ("PUT", "/CUSTOM_A", None, 204, ["CUSTOM_A", "CUSTOM_B"]),
        ("PUT", "/HW_CPU_X86_VMX", None, 204, ["CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"]),
        ("PUT", "/custom_c", None, 400, ["CUSTOM_A", "CUSTOM_B"]),
        ("DELETE", "/CUSTOM_A", None, 204, ["CUSTOM_B"]),
        ("DELETE", "/CUSTOM_C", None, 404, ["CUSTOM_A", "CUSTOM_B"]),
        ("DELETE", "", None, 204, []),
    ],
)
def test_traits(shared: Ironic, name: str, method: str, path: str, body: Any, status: int, after: list[str]) -> None:
    shared.create(name)
    shared.put(name, traits=["CUSTOM_A", "CUSTOM_B"])

    answer = shared.call(method, f"/v1/nodes/{name}/traits{path}", body)

    assert answer.status_code == status
    assert shared.get(f"/v1/nodes/{name}/traits") == {"traits": after}
    assert shared.node(name)["traits"] == after


@pytest.mark.parametrize(
    ("target", "end"),
    [
        ("power on", "power on"),
        ("power off", "power off"),
        ("rebooting", "power on"),
        ("soft power off", "power off"),
        ("soft rebooting", "power on"),
    ],
)
def test_power(shared: Ironic, name: str, target: str, end: str) -> None:
    shared.create(name)

    answer = shared.call("PUT", f"/v1/nodes/{name}/states/power", {"target": target, "timeout": 30})

    assert (answer.status_code, answer.content) == (202, b"")
    shared.clock.until(lambda: not shared.node(name)["target_power_state"])
    assert shared.node(name)["power_state"] == end


@pytest.mark.parametrize(
    "body", [{"target": "on"}, {}, {"target": "power on", "timeout": 0}, {"target": "power on", "x": 1}]
)
def test_power_that_makes_no_sense(shared: Ironic, name: str, body: Any) -> None:
    shared.create(name)
    assert shared.call("PUT", f"/v1/nodes/{name}/states/power", body).status_code == 400


@pytest.mark.parametrize("state", ["cleaning", "clean wait"])
def test_the_power_of_a_node_stays_while_it_is_cleaned(shared: Ironic, name: str, state: str) -> None:
    shared.create(name)
    shared.call("PUT", f"/simulator/nodes/{name}", {"provision_state": state})
    answer = shared.call("PUT", f"/v1/nodes/{name}/states/power", {"target": "rebooting"})
    assert (answer.status_code, state in said(answer)) == (400, True)


def test_ports(shared: Ironic, name: str) -> None:
    uuid = shared.create(name)["uuid"]
    mac = f"52:54:{uuid[0:2]}:{uuid[2:4]}:{uuid[4:6]}:{uuid[6:8]}"

    def post(**body: Any) -> int:
        return int(shared.call("POST", "/v1/ports", body).status_code)

    assert post(node_uuid=uuid, address=mac.upper(), pxe_enabled=True) == 201
    assert [post(node_uuid=uuid, address=mac), post(node_uuid=uuid, address="x")] == [409, 400]
    assert [post(node_uuid=str(uuid4()), address="52:54:00:00:00:99"), post(address=mac)] == [400, 400]
    (port,) = shared.get(f"/v1/ports?node={name}")["ports"]
    assert (port["address"], shared.get(f"/v1/ports/{port['uuid']}")["node_uuid"]) == (mac, uuid)
    assert shared.get(f"/v1/ports?address={mac}")["ports"] == [port]
    assert shared.call("DELETE", f"/v1/ports/{port['uuid']}").status_code == 204
    assert shared.get(f"/v1/ports?node={name}")["ports"] == []


def test_the_history_has_each_operation_and_failure(start: StartIronic) -> None:
    ironic = start("nodes: {n1: {deploy: fail, reason: no bootable disk}}")
    ironic.at("n1", "manageable")
    ironic.run("n1", "provide", "available")
    ironic.run("n1", "active", "deploy failed")

    history = ironic.get("/v1/nodes/n1/history")["history"]

    assert [each["severity"] for each in history] == ["INFO", "INFO", "INFO", "ERROR"]
    assert "Starting automated cleaning" in history[0]["event"]
    assert "no bootable disk" in history[-1]["event"]


def test_conductors_drivers_and_resources_are_listed(shared: Ironic) -> None:
    assert shared.get("/v1/conductors")["conductors"][0]["alive"] is True
    assert {each["name"] for each in shared.get("/v1/drivers")["drivers"]} == {"fake-hardware", "ipmi", "redfish"}
    assert {"nodes", "ports", "allocations", "deploy_templates"} <= set(shared.get("/v1"))


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
    assert shared.call("GET", f"/v1/nodes/{name}/firmware", version="1.85").status_code == 406
    settings = [{"component": "bios", "url": "http://files.example.org/bios-2.1.bin"}]
    step = {"interface": "firmware", "step": "update", "args": {"settings": settings}}
    shared.run(name, "service", "active", service_steps=[step])
    found = shared.get(f"/v1/nodes/{name}/firmware")["firmware"]
    assert [(one["component"], one["current_version"]) for one in found] == [("bios", "2.1"), ("bmc", "7")]
