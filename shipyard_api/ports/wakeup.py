"""Wake-ups: a worker runs a turn of an action, at a given time or at once.

A wake-up is a statement for the caller's own transaction: state and wake-up are written together or not at all. It
need not arrive exactly once: a second or an early one does nothing, and the sweeper replaces a lost one.
"""

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from shipyard_api.domain.actions import ActionId


class Statement(Struct, frozen=True):
    """SQL with named parameters (``:name``) and their values."""

    sql: str
    parameters: Mapping[str, str | int | float | datetime | None]


class Wakeup(Protocol):
    """The queue that wakes workers."""

    def statement(self, action: ActionId, at: datetime | None) -> Statement:
        """Return the statement that queues a turn of the action for ``at`` (None: at once)."""

    def urgent(self, action: ActionId) -> Statement:
        """Return the statement that queues a turn of the action at once, also beside one that runs."""

    def reminder(self, action: ActionId) -> Statement:
        """Return the statement that queues a turn of the action at once, unless one is queued or runs."""

    def gather(self, action: ActionId, at: datetime) -> Statement:
        """Return the statement that queues a turn at ``at``, unless one waits for that time or earlier."""

    def runs(self, action: ActionId, count: int, limit: int, at: datetime | None) -> Statement:
        """Return the statement that queues runs of work items; at most ``limit`` of an action wait or work."""

    def next_run(self, action: ActionId, at: datetime) -> Statement:
        """Return the statement that queues one run at ``at``, unless one waits for that time or earlier."""

    def shift(self, step: timedelta) -> Statement:
        """Return the statement that moves all queued turns and runs, after the database's clock was set by ``step``."""

    def run_exists(self, holder: str) -> str:
        """Return SQL that says whether the run named in the column ``holder`` is at work."""

    def load(self) -> str:
        """Return SQL for the jobs by ``queue`` and ``state``: due, scheduled or running.

        Each row has the number of ``jobs``, and the seconds since the ``oldest`` of those that are due was due.
        """

    def heartbeats(self) -> str:
        """Return SQL for the seconds since the last heartbeat of each registered worker."""


class JournalNotices(Protocol):
    """Notices that entries of the journal were committed, for one event loop."""

    def __call__(self, *, every: float) -> AsyncGenerator[None, None]:
        """Connect, and yield: once connected, after commits, and after ``every`` seconds without one.

        Several commits may share one notice. Raises StoreUnavailable when the connection is lost or cannot be made.
        """
