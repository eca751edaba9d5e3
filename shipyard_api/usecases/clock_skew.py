"""How far the clocks of the database and of peers are from this host's, and whether peers answer at all.

Nothing depends on the clocks; logs are compared.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from shipyard_api.ports.errors import PeerError

# Seconds for which a reading is kept: peers are not asked for every health check.
_KEPT = 15.0
_AT_ONCE = 8

Reading = Callable[[], float | None]
"""Returns how many seconds a clock is ahead of this host's; None if that cannot be read. Raises PeerError."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Whether a system answered, and how many seconds its clock is ahead; None if that could not be read.

    ``at``: when it was asked, on this process's monotonic clock.
    """

    up: bool
    ahead: float | None
    at: float | None = field(default=None, compare=False)


@dataclass(slots=True)
class ClockSkew:
    """The use case. ``clocks``: by the name of their system."""

    clocks: Mapping[str, Reading]
    _found: dict[str, Answered] = field(default_factory=dict)
    _asked: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def measure(self) -> Mapping[str, float | None]:
        """Read every clock now; takes a few seconds at most."""
        return {name: answer.ahead for name, answer in self._read().items()}

    def latest(self) -> Mapping[str, float]:
        """Return the clocks that could be read, by the latest answers."""
        return {name: answer.ahead for name, answer in self.answers().items() if answer.ahead is not None}

    def answers(self) -> Mapping[str, Answered]:
        """Return the latest answers, none before the first ones.

        They are read in the background, all at once, and at most every few seconds.
        """
        with self._lock:
            is_stale = self._asked is None or time.monotonic() - self._asked > _KEPT
            if is_stale:
                self._asked = time.monotonic()
        if is_stale:
            threading.Thread(target=self._refresh, name="clock-skew", daemon=True).start()
        return self._found

    def _refresh(self) -> None:
        self._found = self._read()

    def _read(self) -> dict[str, Answered]:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="clock-skew") as pool:
            return dict(zip(self.clocks, pool.map(_answer, self.clocks.values()), strict=True))


def _answer(read: Reading) -> Answered:
    try:
        return Answered(True, read(), time.monotonic())
    except PeerError:
        return Answered(False, None, time.monotonic())


def clock_wording(skew: Mapping[str, float]) -> str:
    """Return the clocks as one line: ``database +0.1 s, Drydock -3.0 s``."""
    return ", ".join(f"{name} {ahead:+.1f} s" for name, ahead in skew.items())
