"""The simulator's time: it runs at the pace of the wall clock, and nominal durations are scaled down to it.

Whatever waits does so through the clock, so that a clock of another pace can take the place of this one.
"""

import threading
import time
from datetime import UTC, datetime


class Clock:
    """Seconds since the epoch that never go back, and the scale of nominal durations."""

    def __init__(self, time_scale: float) -> None:
        self._scale = time_scale
        self._wall, self._monotonic = time.time(), time.monotonic()

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return self._wall + (time.monotonic() - self._monotonic)

    def scaled(self, nominal: float) -> float:
        """Return how many seconds a nominal duration takes here."""
        return nominal * self._scale

    def sleep(self, seconds: float) -> None:
        """Let that much of this time pass."""
        time.sleep(seconds)

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        """Wait for word that something changed, for at most that much of this time; None: without an end."""
        changed.wait(seconds)


def stamp(moment: float, *, offset: str = "") -> str:
    """Return the moment as Drydock and the event log write it: UTC, microseconds, and an offset if one is given."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S.%f}{offset}"
