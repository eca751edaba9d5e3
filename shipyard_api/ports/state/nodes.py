"""Nodes of actions, as the store keeps them for readers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.state.groups import PhaseRecord


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of an action, as it stands; ``group`` sent it last, ``groups`` hold it."""

    name: str
    status: NodeStatus
    reason: str | None
    detail: str
    group: str | None
    groups: Sequence[str]
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LastNodeRecord:
    """A node as the latest action that held it left it, or has it now."""

    action: ActionId
    node: NodeRecord


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A status that a node got in an action; ``late``: it came after we had stopped waiting, and counted no more.

    ``phase`` and ``group`` are of the move that sent the node; None where none did.
    """

    at: datetime
    status: NodeStatus
    phase: str | None
    group: str | None
    reason: str | None
    detail: str
    late: bool


@dataclass(frozen=True, slots=True)
class NodePast:
    """What one action did with a node: how it stands there, each status on the way, and the phases that sent it.

    Changes are in order of time; phases, each with its group, in the order in which they began.
    """

    action: ActionId
    name: ActionName
    state: RunState
    created_at: datetime
    node: NodeRecord
    changes: Sequence[NodeChange]
    phases: Sequence[tuple[str, PhaseRecord]]


class Nodes(Protocol):
    """Nodes over all actions."""

    def latest(self, *, status: Collection[str], prefix: str, after: str, limit: int) -> Sequence[LastNodeRecord]:
        """Return nodes after the given name, in order of name; an empty filter lets all through.

        ``status`` is the node's in the latest action that holds it; ``prefix`` is what its name begins with.
        """

    def past(self, node: str, *, before: str | None, limit: int) -> Sequence[NodePast]:
        """Return what each action did with the node, the newest first, only those before the given action's id.

        The phases are without the names of all the nodes that they sent.
        """
