"""Compare cables with the ports of switches where the design wants them, and find those that are swapped."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from shipyard_api.domain.hardware.expected import Cable, Expectations
from shipyard_api.domain.hardware.seen import Neighbour, SeenHardware
from shipyard_api.domain.nodes import NodeName


class Miswired(Struct, frozen=True):
    """The faults of each node, in sentences, and the pairs of nodes whose cables are swapped."""

    faults: Mapping[NodeName, tuple[str, ...]]
    pairs: tuple[tuple[NodeName, NodeName, str], ...]


class _Wrong(Struct, frozen=True):
    """A card with a cable to a wrong port; ``owner``: the card for which that port is meant, if any."""

    node: NodeName
    nic: str
    cable: Cable
    neighbour: Neighbour
    owner: tuple[NodeName, str] | None


def miswired(expected: Expectations, seen: Mapping[NodeName, SeenHardware]) -> Miswired:
    """Return the wrong cables of the nodes that were seen. Two cards on each other's port are one fault.

    A node without any neighbour is not compared: nothing listened, or no switch speaks LLDP.
    """
    faults: defaultdict[NodeName, list[str]] = defaultdict(list)
    wrong: dict[tuple[NodeName, str], _Wrong] = {}
    owners = _owners(expected) if any(expected[node].cabling for node in seen if node in expected) else {}
    for node, hardware in seen.items():
        cabling = expected[node].cabling if node in expected else None
        for nic, cable in (cabling or {}).items() if hardware.neighbours else ():
            neighbour = _neighbour(hardware, nic)
            if neighbour is None:
                faults[node].append(f"{nic} sees no switch, {cable} expected")
            elif not is_at(neighbour, cable):
                owner = next((owners[end] for end in _ends(neighbour) if end in owners), None)
                wrong[node, nic] = _Wrong(node, nic, cable, neighbour, owner)
    swapped: defaultdict[tuple[NodeName, NodeName], list[str]] = defaultdict(list)
    for at, fault in wrong.items():
        other = wrong.get(fault.owner) if fault.owner else None
        if other is None or other.owner != at:
            faults[fault.node].append(_sentence(fault))
        elif at < (other.node, other.nic):
            text = f"{fault.nic} of {fault.node} and {other.nic} of {other.node}"
            swapped[fault.node, other.node].append(f"{text} ({fault.cable} and {other.cable})")
    pairs = []
    for (first, second), cards in swapped.items():
        text = f"cables are swapped: {', '.join(cards)}"
        for node in dict.fromkeys((first, second)):
            faults[node].append(text)
        if first != second:
            pairs.append((first, second, text))
    return Miswired({node: tuple(texts) for node, texts in faults.items()}, tuple(pairs))


def is_at(neighbour: Neighbour, cable: Cable) -> bool:
    """Return whether the neighbour is this port, by any of its names; a switch also by the first part of its name."""
    return bool(_ends(neighbour) & {_end(cable)})


def _sentence(fault: _Wrong) -> str:
    belongs = f", where {fault.owner[1]} of {fault.owner[0]} belongs" if fault.owner else ""
    return f"{fault.nic} is on {fault.neighbour}{belongs}; {fault.cable} expected"


def _owners(expected: Expectations) -> Mapping[tuple[str, str], tuple[NodeName, str]]:
    return {
        _end(cable): (node, nic)
        for node, expectation in expected.items()
        for nic, cable in (expectation.cabling or {}).items()
    }


def _end(cable: Cable) -> tuple[str, str]:
    return cable.switch.lower(), cable.port.lower()


def _ends(neighbour: Neighbour) -> frozenset[tuple[str, str]]:
    switches = {name for switch in neighbour.switch for name in _names(switch)}
    return frozenset((switch, port.lower()) for switch in switches for port in neighbour.port)


def _names(switch: str) -> Iterable[str]:
    name = switch.lower()
    return (name,) if ":" in name or name.replace(".", "").isdigit() else (name, name.partition(".")[0])


def _neighbour(hardware: SeenHardware, nic: str) -> Neighbour | None:
    """Return the neighbour of a card, by its name or its MAC address."""
    neighbours = hardware.neighbours or {}
    if nic in neighbours:
        return neighbours[nic]
    name = next((card.name for card in hardware.nics or () if card.mac.lower() == nic.lower()), None)
    return neighbours.get(name) if name else None
