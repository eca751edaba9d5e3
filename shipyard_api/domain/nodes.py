"""Machines of a design: names, the properties that selectors match, and deployment status."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NewType

from msgspec import Struct, field

NodeName = NewType("NodeName", str)
"""The identifier of a machine everywhere: ``metadata.name`` of its BaremetalNode document."""


class NodeStatus(Enum):
    """Status of a node in one action (seed 000, Process); the values are the words on the wire."""

    NOT_STARTED = "not_started"
    PREPARED = "prepared"
    SUCCESS = "success"
    FAILURE = "failure"

    # Enum hashes the name in Python; sites have 10,000 nodes, and a member is equal to itself only.
    __hash__ = object.__hash__


class Node(Struct, frozen=True):
    """One machine of the design, with the properties that selectors match, and its hardware profile."""

    name: NodeName
    rack: str = ""
    tags: frozenset[str] = frozenset()
    labels: frozenset[tuple[str, str]] = frozenset()
    hardware: str = ""


class Inventory(Struct, frozen=True):
    """All machines of a design, indexed for selectors.

    Building it is linear in nodes, tags and labels; selecting is linear in the size of the smallest criterion.
    """

    nodes: Mapping[NodeName, Node] = field(default_factory=dict)
    by_rack: Mapping[str, tuple[NodeName, ...]] = field(default_factory=dict)
    by_tag: Mapping[str, tuple[NodeName, ...]] = field(default_factory=dict)
    by_label: Mapping[tuple[str, str], tuple[NodeName, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "Inventory":
        """Index the nodes; of two nodes with the same name the later one is used."""
        named = {node.name: node for node in nodes}
        racks: defaultdict[str, list[NodeName]] = defaultdict(list)
        tags: defaultdict[str, list[NodeName]] = defaultdict(list)
        labels: defaultdict[tuple[str, str], list[NodeName]] = defaultdict(list)
        for node in named.values():
            racks[node.rack].append(node.name)
            for tag in node.tags:
                tags[tag].append(node.name)
            for label in node.labels:
                labels[label].append(node.name)
        return cls(
            named,
            {key: tuple(names) for key, names in racks.items()},
            {key: tuple(names) for key, names in tags.items()},
            {key: tuple(names) for key, names in labels.items()},
        )
