"""The conductor's power sync: a node whose management controller does not answer goes into maintenance."""

from math import inf

from shipyard_simulators.ironic.conductor import Conductor, Operation
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.operations import UNREACHABLE, bmc_of
from shipyard_simulators.outcomes import NodeOutcomeKind

_FAULT = "power failure"
_FLAP = 20.0
_NEVER_LOOKED_AT = ("enroll", "verifying")
KIND = "power sync"


def watch(conductor: Conductor, node: Node) -> None:
    """Start the loss of the management controller that the scenario asks for, or end it when the scenario no longer
    does.
    """
    if bmc_of(conductor, node).kind in (NodeOutcomeKind.OK, NodeOutcomeKind.SLOW):
        conductor.end(node, KIND)
        _found(conductor, node)
    elif not conductor.busy(node, KIND):
        conductor.begin(node, _sync(conductor, node), KIND)


def _sync(conductor: Conductor, node: Node) -> Operation:
    outcome = bmc_of(conductor, node)
    period = _FLAP if outcome.seconds is None else outcome.seconds
    if outcome.kind in UNREACHABLE:
        while not _lost(conductor, node):
            yield 1.0
        yield inf
    losses = 0
    while outcome.times is None or losses < outcome.times:
        yield period
        losses += _lost(conductor, node)
        yield period
        _found(conductor, node)


def _lost(conductor: Conductor, node: Node) -> bool:
    """Put the node into maintenance, unless it is locked or already in maintenance; return whether it did."""
    values = node.values
    if values["reservation"] or values["maintenance"] or node.state in _NEVER_LOOKED_AT:
        return False
    reason = bmc_of(conductor, node).reason or "no answer"
    text = f"During sync_power_state, max retries exceeded for node {node.uuid}. Error: {reason}"
    node.internal["power_state_before"] = values["power_state"]
    values |= {"maintenance": True, "maintenance_reason": text, "fault": _FAULT, "power_state": None}
    conductor.record(node, "ERROR", text)
    conductor.touch(node)
    conductor.note("fault", node, fault=_FAULT)
    return True


def _found(conductor: Conductor, node: Node) -> None:
    values = node.values
    if values["fault"] != _FAULT:
        return
    values |= {"maintenance": False, "maintenance_reason": None, "fault": None}
    values["power_state"] = node.internal.pop("power_state_before", None)
    conductor.touch(node)
    conductor.note("fault", node, fault=None)
