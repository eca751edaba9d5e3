"""The time of a simulator: wall-clock time, with nominal durations scaled down.

Everything that waits uses the clock, so a test can pass in another one.
"""

import threading
import time
from datetime import UTC, datetime


class Clock:
    """A clock that never goes back, and the scale of nominal durations."""

    def __init__(self, time_scale: float) -> None:
        self._scale = time_scale
        self._wall, self._monotonic = time.time(), time.monotonic()

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return self._wall + (time.monotonic() - self._monotonic)

    def scaled(self, nominal: float) -> float:
        """Return the real duration of a nominal one, in seconds."""
        return nominal * self._scale

    def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        time.sleep(seconds)

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        """Wait until the condition is notified, for at most ``seconds`` (None: no limit)."""
        changed.wait(seconds)


def stamp(moment: float, *, offset: str = "") -> str:
    """Return the moment as Drydock and the event log write it: UTC, microseconds, and an offset if one is given."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S.%f}{offset}"
