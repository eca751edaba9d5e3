"""The nodes of a boot action: its filter, as Drydock reads it (contract: drydock, 8). One we cannot read has all."""

from collections.abc import Mapping
from typing import Any

from shipyard_api.domain.json_types import member, objects
from shipyard_api.domain.nodes import Inventory, NodeName

_JOIN_SCRIPT = "promenade+"


def selected(action: Any, machines: Inventory) -> frozenset[NodeName]:
    """Return the nodes that a boot action concerns; every one if its filter is none that we can read."""
    filters = member(action, "node_filter", "filter_set")
    if not filters or filters != objects(filters):
        return frozenset(machines.nodes)
    found = [_selected(each, machines) for each in filters]
    if member(action, "node_filter", "filter_set_type") == "intersection":
        return frozenset.intersection(*found)
    return frozenset.union(*found)


def _selected(written: Mapping[str, Any], machines: Inventory) -> frozenset[NodeName]:
    criteria = []
    nodes = machines.nodes
    if names := written.get("node_names"):
        criteria.append(frozenset(NodeName(name) for name in names if name in nodes))
    if racks := written.get("rack_names"):
        criteria.append(frozenset(node for rack in racks for node in machines.by_rack.get(rack, ())))
    if tags := written.get("node_tags"):
        criteria.append(frozenset(node for tag in tags for node in machines.by_tag.get(tag, ())))
    if isinstance(labels := written.get("node_labels"), Mapping) and labels:
        criteria.append(frozenset(node for label in labels.items() for node in machines.by_label.get(label, ())))
    if not criteria:
        return frozenset(nodes)
    return frozenset.union(*criteria) if written.get("filter_type") == "union" else frozenset.intersection(*criteria)


def is_join_script(action: Any) -> bool:
    """Return whether an asset of the action is what Promenade makes of the design."""
    assets = objects(member(action, "assets"))
    return any(str(asset.get("location", "")).startswith(_JOIN_SCRIPT) for asset in assets)
