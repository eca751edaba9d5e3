"""Compare nodes that were left with what peers show of them now."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum

from msgspec import Struct

from shipyard_api.domain.drift.observations import (
    DownNode,
    LeftNode,
    MachineState,
    ObservedMachine,
    ObservedMember,
    TakenDownNode,
)
from shipyard_api.domain.hardware.compare import Compared
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.remedies import bring_back, deploy_again, take_down


class Kind(Enum):
    """The kinds of differences; the values are the words on the wire.

    ``MISSING`` to ``LABELS`` are about the cluster alone. A node that is not in the design is still deployed; one that
    is not deployed is in the design.
    """

    VANISHED = "vanished"
    RENAMED = "renamed"
    REPLACED = "replaced"
    RELEASED = "released"
    REINSTALLED = "reinstalled"
    OUT_OF_SERVICE = "out-of-service"
    POWERED_OFF = "powered-off"
    MISSING = "missing"
    NOT_READY = "not-ready"
    CORDONED = "cordoned"
    LABELS = "labels"
    SETTINGS = "settings"
    FIRMWARE = "firmware"
    HARDWARE = "hardware"
    NOT_IN_DESIGN = "not-in-design"
    NOT_DEPLOYED = "not-deployed"


class Difference(Struct, frozen=True):
    """A difference of a node. ``since``: when an action left the node as expected."""

    node: NodeName
    kind: Kind
    expected: str
    seen: str
    since: datetime


def of_machines(left: Iterable[LeftNode], seen: Iterable[ObservedMachine]) -> Sequence[Difference]:
    """Return how machines differ, in order of node; names are compared in lower case."""
    by_name: defaultdict[str, list[ObservedMachine]] = defaultdict(list)
    by_machine: dict[str, ObservedMachine] = {}
    for machine in seen:
        by_name[machine.name.lower()].append(machine)
        if machine.machine:
            by_machine[machine.machine] = machine
    return [
        Difference(node.name, *difference, node.since)
        for node in sorted(left, key=lambda left_node: left_node.name)
        for difference in _machine(node, by_name.get(node.name.lower(), ()), by_machine)
    ]


def of_members(
    left: Iterable[LeftNode], seen: Mapping[NodeName, ObservedMember], *, cordoned_by_us: Collection[NodeName]
) -> Sequence[Difference]:
    """Return how nodes of the cluster differ, in order of node. A node that never joined is not compared.

    ``cordoned_by_us``: nodes that may be cordoned.
    """
    return [
        Difference(node.name, *difference, node.since)
        for node in sorted(left, key=lambda left_node: left_node.name)
        if node.in_cluster and node.observation and node.observation.member and node.name in seen
        for difference in _member(node.observation.member, seen[node.name], may_cordon=node.name in cordoned_by_us)
    ]


def of_teardowns(
    taken: Iterable[TakenDownNode], seen: Mapping[NodeName, ObservedMember], *, cordoned_by_us: Collection[NodeName]
) -> Sequence[Difference]:
    """Return the nodes that a teardown left out of service in the cluster, in order of node, each with its way back.

    ``cordoned_by_us``: nodes that may be cordoned.
    """
    return [
        Difference(node.name, *difference, node.since)
        for node in sorted(taken, key=lambda taken_node: taken_node.name)
        if node.name in seen
        for difference in _taken_down(node, seen[node.name], may_cordon=node.name in cordoned_by_us)
    ]


def of_design(left: Iterable[LeftNode], designed: Collection[NodeName], revision: int) -> Sequence[Difference]:
    """Return the nodes that are deployed and no longer in the design, in order of node, each with its way out."""
    return [
        Difference(
            node.name,
            Kind.NOT_IN_DESIGN,
            f"gone: it is not in the design of revision {revision}",
            f"deployed: {take_down(node.name)}",
            node.since,
        )
        for node in sorted(left, key=lambda left_node: left_node.name)
        if node.name not in designed
    ]


def of_down(down: Iterable[DownNode], seen: Iterable[ObservedMachine]) -> Sequence[Difference]:
    """Return the servers of the design that are not up, whichever action left them so, each with its way back.

    A machine that is deployed and was not touched is up; the cluster shows whether a deployed and drained one is.
    """
    machines = {machine.name.lower(): machine for machine in seen}
    differences = []
    for node in sorted(down, key=lambda down_node: down_node.name):
        machine = machines.get(node.name.lower())
        is_deployed = machine is not None and machine.state is MachineState.DEPLOYED
        if is_deployed and (node.torn_down or node.status is not NodeStatus.FAILURE):
            continue
        shown = machine.status if machine else "no machine"
        differences.append(
            Difference(node.name, Kind.NOT_DEPLOYED, "deployed", f"{shown}: {why_down(node)}", node.since)
        )
    return differences


def why_down(node: DownNode) -> str:
    """Return which action left the node down, and the way back."""
    by = f"{node.action_name} {node.action}"
    if node.removed:
        return f"taken down by {by}: {deploy_again()}"
    back = bring_back(node.name, node.action, node.action_name)
    if node.torn_down:
        return f"taken down by {by}, and not brought back: {back}"
    return f"{'failed in' if node.status is NodeStatus.FAILURE else 'not deployed by'} {by}: {back}"


def _taken_down(node: TakenDownNode, seen: ObservedMember, *, may_cordon: bool) -> Iterator[tuple[Kind, str, str]]:
    way_back = bring_back(node.name, node.action, node.action_name)
    by = f"by {node.action_name} {node.action}, and not brought back: {way_back}"
    if not seen.joined:
        yield Kind.MISSING, "in the cluster", f"taken out {by}"
    elif seen.cordoned and not may_cordon:
        yield Kind.CORDONED, "schedulable", f"cordoned {by}"


def _machine(
    node: LeftNode, named: Sequence[ObservedMachine], by_machine: Mapping[str, ObservedMachine]
) -> Iterator[tuple[Kind, str, str]]:
    observation = node.observation
    known = by_machine.get(observation.machine) if observation and observation.machine else None
    if not named and known is None:
        yield Kind.VANISHED, "a machine", "none"
        return
    if known is not None and known not in named:
        yield Kind.RENAMED, node.name, known.name
    machine = known or named[0]
    if observation and observation.machine and machine.machine and machine.machine != observation.machine:
        yield Kind.REPLACED, f"machine {observation.machine}", f"machine {machine.machine}"
        return
    if machine.state is MachineState.FREE:
        yield Kind.RELEASED, "deployed", machine.status
    elif machine.state is MachineState.INSTALLING:
        yield Kind.REINSTALLED, "deployed", machine.status
    elif machine.state is MachineState.OTHER:
        yield Kind.OUT_OF_SERVICE, "deployed", machine.status
    elif machine.state is MachineState.DEPLOYED:
        if observation and observation.installed and machine.installed and machine.installed != observation.installed:
            yield Kind.REINSTALLED, observation.installed, machine.installed
        if machine.power == "off":
            yield Kind.POWERED_OFF, "power on", "power off"


def _member(left: ObservedMember, seen: ObservedMember, *, may_cordon: bool) -> Iterator[tuple[Kind, str, str]]:
    if not seen.joined:
        yield Kind.MISSING, "in the cluster", "not in the cluster"
        return
    if left.machine and seen.machine and left.machine != seen.machine:
        yield Kind.REINSTALLED, f"system {left.machine}", f"system {seen.machine}"
    elif left.uid and seen.uid and left.uid != seen.uid:
        yield Kind.REPLACED, f"Node {left.uid}", f"Node {seen.uid}"
    if left.ready and not seen.ready:
        yield Kind.NOT_READY, "Ready", seen.why
    if seen.cordoned and not left.cordoned and not may_cordon:
        yield Kind.CORDONED, "schedulable", "cordoned"
    changed = sorted(key for key, value in left.labels.items() if seen.labels.get(key) != value)
    if changed:
        yield (
            Kind.LABELS,
            ", ".join(f"{key}={left.labels[key]}" for key in changed),
            ", ".join(f"{key}={seen.labels[key]}" if key in seen.labels else f"no {key}" for key in changed),
        )


AS_DESIGNED = "the expected hardware"


def of_hardware(left: Iterable[LeftNode], compared: Compared) -> Sequence[Difference]:
    """Return how servers differ, in order of node. Two with swapped cables are one difference, of the first."""
    nodes = {node.name: node for node in left}
    second = {node: text for _, node, text in compared.pairs}
    return [
        Difference(name, Kind.HARDWARE, AS_DESIGNED, "; ".join(own), nodes[name].since)
        for name, texts in sorted(compared.mismatches.items())
        if name in nodes and (own := [text for text in texts if second.get(name) != text])
    ]
