"""What a difference asks for, one class a node: plans, actions, reports and remedies ask here (product, section 14)."""

from collections.abc import Collection, Mapping
from enum import Enum
from functools import lru_cache

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import STEPS, Aspects, Given, differing
from shipyard_api.domain.specification.kinds import Aspect


class Impact(Enum):
    """The class of a node; the values are the words of plans. The order is that of what interrupts least."""

    UNCHANGED = "unchanged"
    NEW = "new"
    RELABEL = "relabel"
    SOFTWARE = "software"
    SERVICE = "service"
    REINSTALL = "reinstall"
    REPLACE = "replace"
    LEAVES = "leaves"
    UNKNOWN = "unknown"

    __hash__ = object.__hash__  # as NodeStatus


DONE = frozenset({Impact.UNCHANGED, Impact.NEW, Impact.RELABEL, Impact.SOFTWARE})
"""What an update of a site does: it erases nothing and drains nothing."""


class OnChange(Enum):
    """What an update of a site does to changed servers that run; the values are the words of its parameter."""

    LEAVE = "leave"
    LEAST = "least"
    REINSTALL = "reinstall"

    @property
    def serviced(self) -> frozenset[Impact]:
        """The classes whose servers run their new steps, drained before and uncordoned after."""
        return frozenset() if self is OnChange.LEAVE else frozenset({Impact.SERVICE})

    @property
    def reinstalled(self) -> frozenset[Impact]:
        """The classes whose servers are taken down and deployed again."""
        return frozenset({Impact.REINSTALL, Impact.REPLACE}) if self is OnChange.REINSTALL else frozenset()

    @property
    def done(self) -> frozenset[Impact]:
        """The classes that the update leaves nothing of."""
        return DONE | self.serviced | self.reinstalled


_WORDLESS = frozenset({Aspect.LABELS.value, Aspect.PLACEMENT.value})


class NodeImpact(Struct, frozen=True):
    """The class of a node, and the aspects that differ, in order of name."""

    impact: Impact
    aspects: tuple[str, ...] = ()


def impact_of(wanted: Aspects | None, record: Given | None, *, deployed: bool, services: bool) -> NodeImpact:
    """Return the class of a node.

    ``wanted``: None for one that is not in the design. ``record``: None if there is none, or it cannot be read.
    ``deployed``: whether the provisioner shows it so. ``services``: whether it runs steps on deployed nodes.
    """
    if wanted is None:
        return NodeImpact(Impact.LEAVES)
    if not deployed:
        return NodeImpact(Impact.NEW)
    if record is None:
        return NodeImpact(Impact.UNKNOWN)
    return _impact(differing(record.aspects, wanted), services)


@lru_cache(256)  # of 10,000 nodes, most differ in the same few aspects
def _impact(aspects: frozenset[str], services: bool) -> NodeImpact:
    return NodeImpact(class_of(aspects, services=services), tuple(sorted(aspects)))


def class_of(aspects: Collection[str], *, services: bool) -> Impact:
    """Return the class of a deployed node that differs in these aspects."""
    rest = {aspect for aspect in aspects if aspect not in _WORDLESS}
    if not aspects:
        return Impact.UNCHANGED
    if not rest:
        return Impact.RELABEL
    if Aspect.HARDWARE.value in rest:
        return Impact.REPLACE
    if rest == {Aspect.SOFTWARE.value}:
        return Impact.SOFTWARE
    steps = all(aspect.startswith(STEPS) for aspect in rest - {Aspect.SOFTWARE.value})
    return Impact.SERVICE if steps and services else Impact.REINSTALL


def counted(nodes: Mapping[NodeName, NodeImpact]) -> Mapping[Impact, int]:
    """Return how many nodes each class has, in the order of the classes; those of no class are left out."""
    found = dict.fromkeys(Impact, 0)
    for entry in nodes.values():
        found[entry.impact] += 1
    return {impact: number for impact, number in found.items() if number}
