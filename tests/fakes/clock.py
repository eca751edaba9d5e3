"""A clock that stands still until a test sets it on."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class FakeClock:
    """Time of day and monotonic time go on together, and only by ``advance``."""

    at: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    seconds: float = 0.0

    def now(self) -> datetime:
        """Return the time of day."""
        return self.at

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        return self.seconds

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)
        self.seconds += seconds
