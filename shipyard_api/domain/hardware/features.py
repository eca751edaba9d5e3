"""What was seen of servers, as features that failed ones may share: switch, port group, model, firmware."""

from collections.abc import Mapping

from shipyard_api.domain.hardware.seen import SeenHardware
from shipyard_api.domain.nodes import NodeName

Value = str | frozenset[str]
OfNode = Mapping[str, Value]


def features_of(seen: SeenHardware) -> OfNode:
    """Return the features of a server that were seen; a port group is what the names of its ports have in common."""
    ends = list((seen.neighbours or {}).values())
    switches = frozenset(end.switch[0] for end in ends if end.switch)
    ports = ((end.switch[0], end.port[0].rpartition("/")[0]) for end in ends if end.switch and end.port)
    groups = frozenset(f"{switch} {group}" for switch, group in ports if group)
    known: dict[str, Value] = {"switch": switches, "port_group": groups, "model": seen.model, "firmware": seen.firmware}
    return {name: value for name, value in known.items() if value}


def by_feature(known: Mapping[NodeName, OfNode]) -> Mapping[str, Mapping[NodeName, Value]]:
    """Return the values of each feature of these nodes."""
    found: dict[str, dict[NodeName, Value]] = {}
    for node, values in known.items():
        for name, value in values.items():
            found.setdefault(name, {})[node] = value
    return found
