"""The way of a node through an action: the phases that it passes, in order (ADR 0049).

The rollout judges two stages of a way: up to a node that is prepared, and up to one that counts as deployed. What a
running server passes before it is prepared belongs to the first stage, what a deployed one waits for to the second.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import ClassVar

from msgspec import Struct, field

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.stored import ByFields, Number


class WayPhase(Enum):
    """A phase of a way; the values are the words of plans and waits."""

    DRAIN = "drain"
    ETCD = "etcd"
    KUBELET = "kubelet"
    DESTROY = "destroy"
    LEAVE = "leave"
    PREPARE = "prepare"
    DEPLOY = "deploy"
    REBUILD = "rebuild"
    SERVICE = "service"
    POWER = "power cycle"
    UNCORDON = "uncordon"
    JOIN = "join"
    ACCEPT = "accept"


class Way(Enum):
    """The ways of nodes. The values are the flags of stored effects."""

    NEW = ""
    PRESERVING = "preserve"
    REBUILD = "rebuild"
    SERVICE = "service"
    REINSTALL = "reinstall"
    POWER_CYCLE = "reboot"
    POWER_CYCLE_UNDRAINED = "reboot_undrained"

    @property
    def phases(self) -> tuple[WayPhase, ...]:
        """The phases, in order."""
        return (*_FIRST[self], *_SECOND[self])

    def job(self, stage: Phase) -> WayPhase | None:
        """Return the phase that is one job for all nodes of a move, None for a first stage without phases.

        Work items carry out what comes before it, and what comes after it waits for Kubernetes or tasks.
        """
        return _SECOND[self][0] if stage is Phase.DEPLOY else next(reversed(_FIRST[self]), None)

    @property
    def takes_down(self) -> bool:
        """Whether work items take the node down before its first job."""
        return len(_FIRST[self]) > 1

    @property
    def installs(self) -> bool:
        """Whether the provisioner prepares the node and installs it."""
        return WayPhase.PREPARE in _FIRST[self]

    @property
    def stays(self) -> bool:
        """Whether the node stays installed: its job has no usual duration."""
        return self.job(Phase.DEPLOY) in (WayPhase.SERVICE, WayPhase.POWER)

    def uncordons(self, *, joins: bool) -> bool:
        """Return whether pods may run on the node as soon as the second job is done; else once it is ready.

        ``joins``: whether it waits for Kubernetes.
        """
        uncordon, *after = _SECOND[self][1:]
        return uncordon is WayPhase.UNCORDON or (not joins and WayPhase.UNCORDON in after)


_AWAITED = (WayPhase.JOIN, WayPhase.ACCEPT)
_TAKEN_DOWN = (WayPhase.DRAIN, WayPhase.ETCD, WayPhase.KUBELET, WayPhase.DESTROY, WayPhase.LEAVE)
_POWER_CYCLED = (WayPhase.POWER, WayPhase.JOIN, WayPhase.UNCORDON, WayPhase.ACCEPT)
_FIRST: Mapping[Way, tuple[WayPhase, ...]] = {
    Way.NEW: (WayPhase.PREPARE,),
    Way.PRESERVING: (WayPhase.PREPARE,),
    Way.REBUILD: (),
    Way.SERVICE: (WayPhase.DRAIN,),
    Way.REINSTALL: (*_TAKEN_DOWN, WayPhase.PREPARE),
    Way.POWER_CYCLE: (WayPhase.DRAIN,),
    Way.POWER_CYCLE_UNDRAINED: (),
}
_SECOND: Mapping[Way, tuple[WayPhase, ...]] = {
    Way.NEW: (WayPhase.DEPLOY, *_AWAITED),
    Way.PRESERVING: (WayPhase.DEPLOY, *_AWAITED),
    Way.REBUILD: (WayPhase.REBUILD, *_AWAITED),
    Way.SERVICE: (WayPhase.SERVICE, WayPhase.UNCORDON, *_AWAITED),
    Way.REINSTALL: (WayPhase.DEPLOY, *_AWAITED),
    Way.POWER_CYCLE: _POWER_CYCLED,
    Way.POWER_CYCLE_UNDRAINED: _POWER_CYCLED,
}


class Ways(ByFields, Struct, frozen=True):
    """The running servers that an action interrupts; all other nodes have the way of its kind.

    ``reinstalled``: those that are taken down before they are prepared; ``serviced``: those that run steps as they are;
    ``power_cycled``: those that are switched off and on, ``undrained``: at once. Theirs is the usual way of their step.
    ``clusters``: the members of each etcd cluster among them. ``at_once``: how many may be away at a time, 0 for no
    bound of the action. ``drain_interval``, ``drain_timeout``: of the drains of those that are serviced, in seconds.
    ``differs``: the aspects in which each server differs from its design.
    """

    OPTIONAL: ClassVar = frozenset({"differs", "power_cycled", "undrained"})

    reinstalled: tuple[NodeName, ...] = ()
    serviced: tuple[NodeName, ...] = ()
    clusters: Mapping[str, tuple[NodeName, ...]] = field(default_factory=dict)
    at_once: int = 0
    drain_interval: Number = 0
    drain_timeout: Number = 0
    differs: Mapping[NodeName, tuple[str, ...]] = field(default_factory=dict)
    power_cycled: tuple[NodeName, ...] = ()
    undrained: bool = False

    @property
    def changed(self) -> frozenset[NodeName]:
        """The interrupted servers that are given something new."""
        return frozenset((*self.reinstalled, *self.serviced))

    @property
    def interrupted(self) -> frozenset[NodeName]:
        """Every server that is away for a while."""
        return self.changed.union(self.power_cycled)

    @property
    def stays(self) -> tuple[NodeName, ...]:
        """The interrupted servers that stay installed, and in their clusters."""
        return (*self.serviced, *self.power_cycled)

    @property
    def drained(self) -> tuple[NodeName, ...]:
        """Those that are drained before."""
        return self.serviced if self.undrained else self.stays

    def of(self, node: NodeName, usual: Way) -> Way:
        """Return the way of a node; ``usual``: of one that is not interrupted."""
        if node in self.reinstalled:
            return Way.REINSTALL
        return Way.SERVICE if node in self.serviced else usual

    def alike(self, nodes: Sequence[NodeName]) -> tuple[NodeName, ...]:
        """Return those of the nodes that have the same way as the first, in their order."""
        if not nodes or not self.interrupted:
            return tuple(nodes)
        named = {Way.REINSTALL: self.reinstalled, Way.SERVICE: self.serviced}.get(self.of(nodes[0], Way.NEW))
        alike = frozenset(nodes) - self.changed if named is None else frozenset(named)
        return tuple(node for node in nodes if node in alike)


NO_WAYS = Ways()
