"""Nodes of actions, as the store keeps them for readers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.history import PhaseHistory
from shipyard_api.domain.teardown.left_cordons import LeftCordon
from shipyard_api.domain.teardown.order import Operation, Outcome
from shipyard_api.ports.state.groups import PhaseRecord


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of an action; ``group`` submitted it last, ``groups`` contain it."""

    name: str
    status: NodeStatus
    reason: str | None
    detail: str
    group: str | None
    groups: Sequence[str]
    updated_at: datetime


class NodeLine(NamedTuple):
    """The least about a node of an action: cheap to read for 10,000 of them. ``groups`` contain it."""

    name: str
    status: NodeStatus
    groups: Sequence[str]


@dataclass(frozen=True, slots=True)
class LastNodeRecord:
    """A node in the latest action that worked on it, its active holds, and the cordon that a drain left behind.

    Without such an action, it is the latest that contains it.
    """

    action: ActionId
    node: NodeRecord
    holds: Sequence[Hold] = ()
    cordon: LeftCordon | None = None


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A change of a node's status in an action. ``late``: after the action had stopped waiting, so it did not count.

    ``phase`` and ``group`` are those of the move that submitted the node; None if none did.
    """

    at: datetime
    status: NodeStatus
    phase: str | None
    group: str | None
    reason: str | None
    detail: str
    late: bool


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """What one action did with a node: its record, its changes of status, and the phases that submitted it.

    Changes are in order of time; phases, each with its group, in the order of their start.
    """

    action: ActionId
    name: ActionName
    state: RunState
    created_at: datetime
    node: NodeRecord
    changes: Sequence[NodeChange]
    phases: Sequence[tuple[str, PhaseRecord]]


@dataclass(frozen=True, slots=True)
class TeardownRecord:
    """The beginning or the end of one operation of a node's teardown. ``name``: of the action that did it."""

    action: ActionId
    name: ActionName
    operation: Operation
    outcome: Outcome
    message: str
    at: datetime


class Nodes(Protocol):
    """Nodes over all actions."""

    def teardowns(self, node: str, *, limit: int) -> Sequence[TeardownRecord]:
        """Return what began and ended of the node's teardowns, newest first."""

    def latest(
        self, *, status: Collection[str], prefix: str, names: Collection[str] = (), after: str, limit: int
    ) -> Sequence[LastNodeRecord]:
        """Return nodes after the given name, in order of name; an empty filter passes all.

        Nodes that were taken down for good are left out.

        ``status`` is the node's in the latest action that worked on it; ``prefix`` is the start of its name, which is
        one of ``names``.
        """

    def last(self, node: str) -> LastNodeRecord | None:
        """Return the node in the latest action that worked on it, None if no action contains it."""

    def lines(self, action: ActionId) -> Sequence[NodeLine]:
        """Return the least about all nodes of the action, in order of name."""

    def touched_since(self, moment: datetime, nodes: Collection[NodeName]) -> Collection[NodeName]:
        """Return those of the nodes that an action created after the moment deployed, tried to deploy or took down.

        A node that an action only kept is none of them.
        """

    def newest_since(
        self, moment: datetime, nodes: Collection[NodeName]
    ) -> Mapping[NodeName, tuple[ActionName, NodeStatus]]:
        """Return the newest record of each of the nodes in actions created after the moment; none without a record.

        A record counts if its action submitted, kept or took down the node.
        """

    def removed_since(self, moment: datetime, nodes: Collection[NodeName]) -> Mapping[NodeName, ActionId]:
        """Return the nodes that are gone since an action created after the moment took them down for good."""

    def etcd_removal_began(self, node: NodeName) -> bool:
        """Return whether a teardown may have taken an etcd member of the node out, with no deployment of it since."""

    def left_cordons(self, nodes: Collection[NodeName]) -> Mapping[NodeName, LeftCordon]:
        """Return those of the nodes that a drain left cordoned."""

    def left_cordoned_by(self, action: ActionId, nodes: Collection[NodeName]) -> Mapping[NodeName, LeftCordon]:
        """Return those of the nodes that the action left cordoned, unless one was deployed since."""

    def deployed(self, nodes: Collection[NodeName]) -> Collection[NodeName]:
        """Return those of the nodes that the newest action which worked on them deployed."""

    def failed(self) -> frozenset[NodeName]:
        """Return the nodes that the newest action which worked on them failed to deploy."""

    def phase_history(
        self, names: Collection[ActionName], *, actions: int, before: ActionId | None = None
    ) -> Mapping[Phase, PhaseHistory]:
        """Return how nodes fared in both phases, and how long phases took, in the newest deploying actions.

        ``before``: only of those created before this one. Neither late results nor nodes that a hold kept back count,
        and no phase that was stopped.
        """

    def history(self, node: str, *, before: str | None, limit: int) -> Sequence[NodeHistory]:
        """Return what each action did with the node, newest first, only actions before the given id.

        The phases lack the names of their nodes.
        """
