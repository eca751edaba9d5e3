"""The time. Passed in, so that deadlines can be tested without waiting."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time as the engine sees it."""

    def now(self) -> datetime:
        """Return the time of day, in UTC, with its zone."""

    def monotonic(self) -> float:
        """Return seconds on a clock that is never set; only differences mean something."""
