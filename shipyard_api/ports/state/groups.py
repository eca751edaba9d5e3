"""Deployment groups of actions and their phases, as the store keeps them for readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

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
