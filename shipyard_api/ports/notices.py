"""Notices: the database says that the journal has changed."""

from collections.abc import AsyncGenerator
from typing import Protocol


class JournalNotices(Protocol):
    """Notices that entries of the journal were committed, for one event loop."""

    def __call__(self, *, every: float) -> AsyncGenerator[None, None]:
        """Connect, and yield: once connected, after commits, and after ``every`` seconds without one.

        Several commits may share one notice. Raises StoreUnavailable when the connection is lost or cannot be made.
        """
