"""Select the nodes of a deployment group (seed 000, Selectors).

Within one criterion any value matches; between the criteria of a selector all must match; between selectors any. A
missing or empty criterion is ignored. No selectors, or any selector without criteria, match every node.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from shipyard_api.domain.nodes import Inventory, Node, NodeName

Label = tuple[str, str]


class Selector(Struct, frozen=True):
    """An intersection of criteria; each criterion is a set of alternatives, empty when it is not given."""

    node_names: frozenset[NodeName] = frozenset()
    node_tags: frozenset[str] = frozenset()
    node_labels: frozenset[Label] = frozenset()
    rack_names: frozenset[str] = frozenset()

    @property
    def is_blank(self) -> bool:
        """Whether the selector has no criteria, and so matches every node."""
        return not (self.node_names or self.node_tags or self.node_labels or self.rack_names)

    def matches(self, node: Node) -> bool:
        """Return whether the node satisfies every criterion that is given."""
        return (
            (not self.node_names or node.name in self.node_names)
            and (not self.rack_names or node.rack in self.rack_names)
            and (not self.node_tags or not self.node_tags.isdisjoint(node.tags))
            and (not self.node_labels or not self.node_labels.isdisjoint(node.labels))
        )


def selects_every_node(selectors: Collection[Selector]) -> bool:
    """Return whether the selectors match all nodes; one blank selector is enough."""
    return not selectors or any(selector.is_blank for selector in selectors)


def select(selectors: Collection[Selector], inventory: Inventory) -> frozenset[NodeName]:
    """Return the names of the nodes that the selectors identify."""
    if selects_every_node(selectors):
        return frozenset(inventory.nodes)
    chosen: set[NodeName] = set()
    for selector in selectors:
        chosen.update(name for name in _candidates(selector, inventory) if selector.matches(inventory.nodes[name]))
    return frozenset(chosen)


def _candidates(selector: Selector, inventory: Inventory) -> Iterable[NodeName]:
    """Return the nodes of the most selective criterion; the other criteria are checked on these only."""
    named = [name for name in selector.node_names if name in inventory.nodes]
    criteria: list[list[tuple[NodeName, ...]]] = []
    if selector.node_names:
        criteria.append([tuple(named)])
    if selector.rack_names:
        criteria.append(_lookup(selector.rack_names, inventory.by_rack))
    if selector.node_tags:
        criteria.append(_lookup(selector.node_tags, inventory.by_tag))
    if selector.node_labels:
        criteria.append(_lookup(selector.node_labels, inventory.by_label))
    smallest = min(criteria, key=lambda alternatives: sum(map(len, alternatives)))
    return (name for alternative in smallest for name in alternative)


K = TypeVar("K")


def _lookup(wanted: frozenset[K], index: Mapping[K, tuple[NodeName, ...]]) -> list[tuple[NodeName, ...]]:
    return [index.get(value, ()) for value in wanted]
