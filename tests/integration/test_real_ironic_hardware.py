"""A real Ironic's inspection data against a design: every planted fault is named, and no right server.

Runs where the environment names one (``tests/real_ironic.py``) that has the inspection ``recorded``: .ci/real_ironic.py
starts one. Ironic's own hook reads the LLDP fields of the servers.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.hardware.golden import document
from shipyard_api.domain.hardware.seen import EVERYTHING, SeenHardware
from shipyard_api.domain.nodes import NodeName
from shipyard_simulators.parts import chassis, ironic_inventory
from shipyard_simulators.scenario import parse_scenario
from tests import real_ironic
from tests.conftest import ROOT
from tests.factories import node_document
from tests.integration.test_hardware_on_simulators import ALL_POLLS, rendered
from tests.planted_hardware import HIDDEN, PROFILE, Planted, planted
from tests.real_ironic import call
from tests.waiting import until

pytestmark = pytest.mark.skipif(not real_ironic.URL, reason="IRONIC_URL names no real Ironic to try the adapter on")

PEER, R1 = "real ironic", Revision(1)
SCHEMAS = SchemaFiles(ROOT / "schemas")


def inspection(node: str, hardware: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an agent sends of the server: its inventory, and the LLDP fields of each card as they are."""
    parts = parse_scenario(json.dumps({"hardware": {node: hardware}})).parts(node)
    assert parts is not None
    macs = [f"52:54:00:00:00:{number:02x}" for number in range(len(parts.nics))]
    fields = {
        nic.name: [
            [1, "04" + chassis(nic.switch).replace(":", "")],
            [2, "05" + nic.port.encode().hex()],
            [5, nic.switch.encode().hex()],
        ]
        for nic in parts.nics
        if nic.switch
    }
    inventory = ironic_inventory(parts, macs, node)
    for card in inventory["interfaces"]:
        card["lldp"] = fields.get(card["name"], [])
    return {"inventory": inventory, "plugin_data": {"lldp_raw": fields}}


class Site:
    """Inspected servers of a real Ironic, under names of their own."""

    def __init__(self) -> None:
        prefix = f"h{uuid.uuid4().hex[:6]}-"
        self.planted: Planted = planted(PEER, right_nodes=20, prefix=prefix)
        for name, hardware in self.planted.hardware.items():
            node = {"driver": "fake-hardware", "name": name, "inspect_interface": "recorded"}
            call("POST", "/v1/nodes", {**node, "extra": {"inspection": inspection(name, hardware)}})
        for verb in ("manage", "inspect"):
            for name in self.planted.nodes:
                call("PUT", f"/v1/nodes/{name}/states/provision", {"target": verb})
            for name in self.planted.nodes:
                until(lambda name=name: call("GET", f"/v1/nodes/{name}/states")["provision_state"] == "manageable")
        self.client = real_ironic.client()

    def hardware(self, entries: list[dict[str, Any]] | None = None) -> Hardware:
        """Return the comparison with a design, by default the one of the planted site."""
        rendering = rendered(entries or self.planted.documents)
        provisioner = IronicProvisioner(self.client, lambda _: rendering.machines)
        return Hardware(lambda _: rendering, SCHEMAS.check, provisioner)

    def close(self) -> None:
        real_ironic.remove(self.planted.nodes)
        self.client.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    started = Site()
    yield started
    started.close()


def test_every_planted_fault_is_named_and_no_right_server_is(site: Site) -> None:
    compared = site.hardware().compared(R1, polls=ALL_POLLS)

    twins = {node for pair in site.planted.pairs for node in pair}
    assert (compared.unknown, compared.unread) == ({}, ())
    assert compared.mismatches.keys() == site.planted.faults.keys() | twins
    for node, words in site.planted.faults.items():
        assert any(words in text for text in compared.mismatches[NodeName(node)]), compared.mismatches[NodeName(node)]
    assert [pair[:2] for pair in compared.pairs] == list(site.planted.pairs)
    assert len(compared.right) == 20


def test_the_document_of_a_golden_server_has_no_difference_to_it(site: Site) -> None:
    node = NodeName(site.planted.nodes[-1])
    read = site.hardware().seen([node], EVERYTHING)[node]
    assert isinstance(read, SeenHardware)
    golden = site.hardware([node_document(node, hardware_profile=PROFILE), dict(document(node, PROFILE, read))])

    compared = golden.compared(R1)
    assert (compared.right, compared.mismatches, compared.unknown) == ((node,), {}, {})
    assert golden.expected(R1)[node].aspects == EVERYTHING - HIDDEN[PEER]
