"""How the deployment groups and nodes of actions stand, as the store keeps them for readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.nodes import NodeStatus


@dataclass(frozen=True, slots=True)
class PhaseRecord:
    """A phase of a group that was started, as it stands; of one that was sent in parts there is one for each batch.

    ``running_at``: when the provisioner was first seen to be at it, and no longer had it waiting in its queue.
    """

    phase: str
    batch: int
    status: str
    job: str
    nodes: Sequence[str]
    message: str
    submitted_at: datetime
    running_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A deployment group of an action, as it stands; ``nodes`` counts its members by status."""

    index: int
    name: str
    critical: bool
    depends_on: Sequence[str]
    status: str
    reason: str | None
    detail: str
    nodes: Mapping[NodeStatus, int]
    phases: Sequence[PhaseRecord]


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
