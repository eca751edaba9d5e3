"""The health of nodes: which of it counts, and that reading it needs no request beside those for reports."""

from typing import Any

import pytest

from shipyard_api.adapters.ironic import Unhealthy
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import JobId, Operation, Work
from tests.fakes.clock import FakeClock
from tests.peer import Answer, Peer

SHARED = 20.0
NODES: dict[str, Any] = {"n1": "OK", "n2": "Warning", "n3": "Critical", "n4": None, "n5": "Fine"}
JOB, WORK = JobId("m"), Work(Operation.PREPARE_NODES, "revision:1", (NodeName("n1"),))


def ironic(peer: Peer, clock: FakeClock, unhealthy: Unhealthy, version: int = 115) -> IronicProvisioner:
    head = "X-OpenStack-Ironic-API"
    peer.on("GET /v1", Answer(200, {}, {f"{head}-Minimum-Version": "1.1", f"{head}-Maximum-Version": f"1.{version}"}))
    working = {"provision_state": "cleaning", "extra": {"shipyard": {"marker": JOB, "operation": "prepare_nodes"}}}
    nodes = [{"uuid": name, "name": name, "health": health, **working} for name, health in NODES.items()]
    peer.on("GET /v1/nodes", Answer(200, {"nodes": [*nodes, {"uuid": "u6", "name": None, "health": "Critical"}]}))
    client = IronicClient(peer.url, read_pause=0.0)
    return IronicProvisioner(
        client, lambda _: Inventory.of([]), unhealthy=unhealthy, shared_seconds=SHARED, now=clock.now
    )


def asked_fields(peer: Peer) -> list[bool]:
    """Return of each listing whether it asked for the health."""
    return ["health" in dict(one.query)["fields"].split(",") for one in peer.asked("GET /v1/nodes")]


def test_a_node_is_unhealthy_from_the_configured_health_on_and_healthy_if_it_is_ok(peer: Peer) -> None:
    for unhealthy, bad in (
        (Unhealthy.CRITICAL, {"n3": "Critical"}),
        (Unhealthy.WARNING, {"n2": "Warning", "n3": "Critical"}),
    ):
        read = ironic(peer, FakeClock(), unhealthy).capabilities.health
        assert read is not None
        assert read() == {"n1": "", **{name: f"Ironic reports health {health}" for name, health in bad.items()}}
    peer.requests.clear()
    port = ironic(peer, FakeClock(), Unhealthy.NONE)
    port.report(JOB, WORK)
    assert port.capabilities.health is None
    assert asked_fields(peer) == [False]


def test_while_jobs_are_polled_health_needs_no_request(peer: Peer) -> None:
    clock = FakeClock()
    port = ironic(peer, clock, Unhealthy.CRITICAL)
    read = port.capabilities.health
    assert read is not None
    port.report(JOB, WORK)
    assert NodeName("n3") in read()
    assert asked_fields(peer) == [True]

    clock.advance(SHARED)
    read()
    port.report(JOB, WORK)
    assert asked_fields(peer) == [True, True]


def test_an_ironic_without_health_is_asked_for_none_and_says_so(peer: Peer) -> None:
    port = ironic(peer, FakeClock(), Unhealthy.CRITICAL, 108)
    port.report(JOB, WORK)
    assert asked_fields(peer) == [False]

    assert port.capabilities.health is not None
    with pytest.raises(Refused, match=r"1\.109"):
        port.capabilities.health()
