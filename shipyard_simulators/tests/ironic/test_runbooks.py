"""Runbooks: who may run them where, and what they run."""

from typing import Any

import pytest

from shipyard_simulators.tests.ironic.client import Ironic, said

STEPS = [
    {"interface": "power", "step": "reboot", "order": 2},
    {"interface": "bios", "step": "factory_reset", "args": {}, "order": "1"},
]


def add(ironic: Ironic, name: str, steps: Any = None, version: str = "1.115", **more: Any) -> Any:
    return ironic.call("POST", "/v1/runbooks", {"name": name, "steps": steps or STEPS, **more}, version=version)


def active(ironic: Ironic, name: str) -> None:
    ironic.create(name, "fake-hardware")
    for verb in ("manage", "provide", "active"):
        ironic.ask(name, verb)
        ironic.clock.until(lambda: ironic.node(name)["target_provision_state"] is None)


def test_the_service_of_a_runbook_runs_its_steps_in_order(shared: Ironic, name: str) -> None:
    active(shared, name)
    runbook = add(shared, f"r-{name}").json()
    assert [step["order"] for step in runbook["steps"]] == [2, 1]
    refused = shared.call("PUT", f"/v1/nodes/{name}/states/provision", {"target": "service", "runbook": f"r-{name}"})
    assert (refused.status_code, "not approved" in said(refused)) == (400, True)

    assert shared.call("PUT", f"/v1/runbooks/r-{name}/traits/CUSTOM_X").status_code == 204
    assert shared.get(f"/v1/runbooks/{runbook['uuid']}/traits") == {"traits": ["CUSTOM_X"]}
    shared.call("PUT", f"/v1/nodes/{name}/traits/CUSTOM_X")
    started = shared.call("PUT", f"/v1/nodes/{name}/states/provision", {"target": "service", "runbook": f"r-{name}"})
    assert started.status_code == 202, started.text
    shared.until(name, "active")
    events = shared.get(f"/simulator/log?node={name}")
    assert [one["step"] for one in events if one.get("kind") == "service"] == ["bios.factory_reset", "power.reboot"]


@pytest.mark.parametrize(
    ("version", "name", "status"),
    [("1.91", "CUSTOM_R1", 405), ("1.92", "CUSTOM_R2", 201), ("1.92", "plain-2", 400), ("1.112", "plain-3", 201)],
)
def test_names_and_versions(shared: Ironic, version: str, name: str, status: int) -> None:
    assert add(shared, name, version=version).status_code == status


def test_a_runbook_is_shown_with_masked_secrets_and_deleted(shared: Ironic, name: str) -> None:
    secret = [{"interface": "bios", "step": "apply_configuration", "args": {"password": "a"}, "order": 1}]
    add(shared, f"s-{name}", secret)
    shown = shared.get(f"/v1/runbooks/s-{name}")
    assert (shown["steps"][0]["args"], shown["traits"]) == ({"password": "******"}, [])
    assert f"s-{name}" in [one["name"] for one in shared.get("/v1/runbooks")["runbooks"]]
    assert add(shared, f"s-{name}").status_code == 409
    assert shared.call("DELETE", f"/v1/runbooks/s-{name}").status_code == 204
    assert shared.call("GET", f"/v1/runbooks/s-{name}").status_code == 404


@pytest.mark.parametrize("steps", [[{}], [{"interface": "tea", "step": "a", "order": 1}], [STEPS[0], STEPS[0]]])
def test_wrong_steps_are_refused(shared: Ironic, name: str, steps: Any) -> None:
    assert add(shared, f"w-{name}", steps).status_code == 400
