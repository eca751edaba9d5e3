"""Runbooks: the steps of one run in their order."""

from shipyard_simulators.tests.ironic.client import Ironic

STEPS = [
    {"interface": "power", "step": "reboot", "order": 2},
    {"interface": "bios", "step": "factory_reset", "args": {}, "order": "1"},
]


def test_the_service_of_a_runbook_runs_its_steps_in_order(shared: Ironic, name: str) -> None:
    shared.at(name, "active", driver="fake-hardware")
    shared.call("POST", "/v1/runbooks", {"name": f"r-{name}", "steps": STEPS})
    shared.call("PUT", f"/v1/runbooks/r-{name}/traits/CUSTOM_X")
    shared.call("PUT", f"/v1/nodes/{name}/traits/CUSTOM_X")

    shared.run(name, "service", "active", runbook=f"r-{name}")

    events = shared.log("step", name)
    assert [one["step"] for one in events if one["kind"] == "service"] == ["bios.factory_reset", "power.reboot"]
