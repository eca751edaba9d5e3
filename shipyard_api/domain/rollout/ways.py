"""The way of a node through an action: the phases that it passes, in order (ADR 0049).

The rollout judges two stages of a way: up to a node that is prepared, and up to one that counts as deployed. What a
running server passes before it is prepared belongs to the first stage, what a deployed one waits for to the second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.stored import ByFields, Number


class WayPhase(Enum):
    """A phase of a way; the values are the words of plans."""

    DRAIN = "drain"
    ETCD = "etcd"
    KUBELET = "kubelet"
    DESTROY = "destroy"
    LEAVE = "leave"
    PREPARE = "prepare"
    DEPLOY = "deploy"
    SERVICE = "service"
    UNCORDON = "uncordon"
    JOIN = "join"
    ACCEPT = "accept"


_DEPLOYED = (WayPhase.PREPARE, WayPhase.DEPLOY, WayPhase.JOIN, WayPhase.ACCEPT)


class Way(Enum):
    """The ways of an update of a site; the values are the words of their impacts."""

    UNCHANGED = "unchanged"
    NEW = "new"
    SERVICE = "service"
    REINSTALL = "reinstall"

    @property
    def phases(self) -> tuple[WayPhase, ...]:
        """The phases, in order; none for a server that counts as deployed as it is."""
        return _PHASES[self]


_PHASES: Mapping[Way, tuple[WayPhase, ...]] = {
    Way.UNCHANGED: (),
    Way.NEW: _DEPLOYED,
    Way.SERVICE: (WayPhase.DRAIN, WayPhase.SERVICE, WayPhase.UNCORDON),
    Way.REINSTALL: (
        WayPhase.DRAIN,
        WayPhase.ETCD,
        WayPhase.KUBELET,
        WayPhase.DESTROY,
        WayPhase.LEAVE,
        *_DEPLOYED,
    ),
}


@dataclass(frozen=True, slots=True)
class Ways(ByFields):
    """The running servers that an action interrupts; all other nodes have the way of its kind.

    ``reinstalled``: those that are taken down before they are prepared; ``serviced``: those that run steps as they are.
    ``clusters``: the members of each etcd cluster among them. ``at_once``: how many may be away at a time, 0 for no
    bound of the action. ``drain_interval``, ``drain_timeout``: of the drains of those that are serviced, in seconds.
    ``differs``: the aspects in which each server differs from its design.
    """

    OPTIONAL: ClassVar = frozenset({"differs"})

    reinstalled: tuple[NodeName, ...] = ()
    serviced: tuple[NodeName, ...] = ()
    clusters: Mapping[str, tuple[NodeName, ...]] = field(default_factory=dict)
    at_once: int = 0
    drain_interval: Number = 0
    drain_timeout: Number = 0
    differs: Mapping[NodeName, tuple[str, ...]] = field(default_factory=dict)

    @property
    def interrupted(self) -> frozenset[NodeName]:
        """Every server that is away for a while."""
        return frozenset((*self.reinstalled, *self.serviced))

    def alike(self, nodes: Sequence[NodeName]) -> tuple[NodeName, ...]:
        """Return those of the nodes that have the same way as the first, in their order."""
        if not nodes or not self.interrupted:
            return tuple(nodes)
        reinstalled, serviced = frozenset(self.reinstalled), frozenset(self.serviced)

        def way(node: NodeName) -> tuple[bool, bool]:
            return node in reinstalled, node in serviced

        first = way(nodes[0])
        return tuple(node for node in nodes if way(node) == first)


NO_WAYS = Ways()
