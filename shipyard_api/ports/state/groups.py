"""Deployment groups of actions and their phases, as the store keeps them for readers."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from shipyard_api.domain.nodes import NodeStatus


class PhaseRecord(Struct, frozen=True):
    """A started phase of a group; a phase sent in batches has one record a batch. ``nodes``: those that it sent.

    ``running_at``: when the provisioner first reported it as running instead of queued.
    """

    group: str
    phase: str
    batch: int
    status: str
    job: str
    nodes: Sequence[str]
    message: str
    submitted_at: datetime
    running_at: datetime | None
    ended_at: datetime | None


class GroupRecord(Struct, frozen=True):
    """A deployment group of an action; ``nodes`` counts its members by status."""

    index: int
    name: str
    critical: bool
    depends_on: Sequence[str]
    status: str
    reason: str | None
    detail: str
    nodes: Mapping[NodeStatus, int]
    phases: Sequence[PhaseRecord]
