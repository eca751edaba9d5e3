"""Figures of the site for metrics, as the database has them now."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct


class Count(Struct, frozen=True):
    """How many there are of a kind. ``labels``: words of a small vocabulary, in the order that ``SiteCounts`` gives."""

    labels: tuple[str, ...]
    number: int


class QueueLoad(Struct, frozen=True):
    """The jobs of a queue in a state. ``oldest``: seconds since the first of them was due; 0 unless they are due.

    ``state``: due, scheduled or running.
    """

    queue: str
    state: str
    jobs: int
    oldest: float


class SiteCounts(Struct, frozen=True):
    """Labels: ``actions`` name and state; ``groups``, ``nodes`` status; ``phases`` phase and status; ``items`` state.

    Groups, phases and nodes are those of the latest site action; ``failed`` are the failed ones of these nodes, and
    ``late`` nodes of open actions, both without those that a hold mutes. ``items`` are those of open actions.
    ``cases``: the open ones of the latest site action. ``older``: the servers that this action left with an older
    specification, or with an unknown one, and that were given nothing since.
    ``heartbeats``: seconds since the last one of each registered worker.
    """

    actions: Sequence[Count]
    groups: Sequence[Count]
    phases: Sequence[Count]
    nodes: Sequence[Count]
    items: Sequence[Count]
    stragglers: int
    holds: int
    failed: int
    late: int
    cases: int
    older: int
    queue: Sequence[QueueLoad]
    heartbeats: Sequence[float]


class QueueHealth(Struct, frozen=True):
    """Seconds: ``lag`` since the oldest due job was due, ``heartbeat_age`` since the latest of any worker, or None."""

    lag: float
    heartbeat_age: float | None


class HistoryState(Struct, frozen=True):
    """The current history of the database: its number, when and by what it was noticed (both empty for the first).

    ``reconciling``: actions that ask the peers before they send anything, as their own history may be lost.
    """

    number: int
    difference: str
    noticed_at: datetime | None
    reconciling: int
