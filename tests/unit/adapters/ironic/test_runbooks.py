"""A runbook of Ironic, as the steps that a service runs."""

from typing import Any

import pytest

from shipyard_api.adapters.ironic import runbooks
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.domain.deploy_steps.templates import Interface, StepKey
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.errors import Refused
from tests.peer import Answer, Peer
from tests.unit.tables import every_row

N1, N2 = NodeName("n1"), NodeName("n2")
LISTED = [{"name": "n1", "traits": ["CUSTOM_A", "CUSTOM_B"]}, {"name": "n2", "traits": []}]
BIOS, REBOOT = StepKey(Interface.BIOS, "apply"), StepKey(Interface.POWER, "reboot")


def runbook(name: str = "CUSTOM_A", traits: Any = ("CUSTOM_B", "CUSTOM_C"), **args: Any) -> dict[str, Any]:
    steps = [
        {"interface": "power", "step": "reboot", "args": {}, "order": 10},
        {"interface": "bios", "step": "apply", "args": args, "order": 9},
    ]
    return {"name": name, "traits": traits, "steps": steps}


@every_row(
    [
        (runbook(), 112, {N2}),
        (runbook(traits=["CUSTOM_C"]), 112, {N1, N2}),
        (runbook(traits=[]), 115, {N1, N2}),
        (runbook(traits=None), 92, {N2}),
        (runbook("CUSTOM_C"), 111, {N1, N2}),
    ],
)
def test_a_node_needs_a_trait_of_the_runbook(written: dict[str, Any], version: int, unsuitable: set[NodeName]) -> None:
    found = runbooks.read(written, LISTED, [N1, N2, NodeName("unknown")], version)
    assert (found.unsuitable, [step.key for step in found.steps.steps]) == (unsuitable, [BIOS, REBOOT])
    assert [step.priority for step in found.steps.steps] == [2, 1]


@every_row(
    [
        ({}, ()),
        ({"settings": [{"name": "a", "value": "b"}]}, ()),
        ({"password": "******"}, (BIOS,)),
        ({"users": [{"password": "******"}]}, (BIOS,)),
    ],
)
def test_steps_with_hidden_arguments_are_known(args: dict[str, Any], masked: tuple[StepKey, ...]) -> None:
    assert runbooks.read(runbook(**args), LISTED, [N1], 115).masked == masked


def test_a_step_of_an_unknown_interface_is_refused() -> None:
    with pytest.raises(Refused, match="a step of the runbook has the interface teapot"):
        runbooks.read({"name": "a", "steps": [{"interface": "teapot", "step": "boil", "order": 1}]}, [], [], 115)


def test_an_ironic_without_runbooks_is_refused(peer: Peer) -> None:
    head = "X-OpenStack-Ironic-API"
    peer.on("GET /v1", Answer(200, {}, {f"{head}-Minimum-Version": "1.1", f"{head}-Maximum-Version": "1.91"}))
    provisioner = IronicProvisioner(IronicClient(peer.url), lambda _: Inventory.of([]))
    read = provisioner.capabilities.runbook
    assert read is not None
    with pytest.raises(Refused, match=r"runbooks need version 1\.92 of Ironic's API; this Ironic has 1\.91"):
        read("firmware", [N1])
