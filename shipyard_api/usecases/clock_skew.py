"""How far the clocks of the database and of peers are from this host's. Nothing depends on them; logs are compared."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# Seconds for which a reading is kept: peers are not asked for every health check.
_KEPT = 300.0

Reading = Callable[[], float | None]
"""Returns how many seconds a clock is ahead of this host's; None if it cannot be read."""


@dataclass(slots=True)
class ClockSkew:
    """The use case. ``clocks``: by the name of their system."""

    clocks: Mapping[str, Reading]
    _found: dict[str, float] = field(default_factory=dict)
    _asked: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def measure(self) -> Mapping[str, float | None]:
        """Read every clock now; each may take a few seconds."""
        return {name: read() for name, read in self.clocks.items()}

    def latest(self) -> Mapping[str, float]:
        """Return the clocks that could be read; they are read in the background, every few minutes."""
        with self._lock:
            due = self._asked is None or time.monotonic() - self._asked > _KEPT
            if due:
                self._asked = time.monotonic()
        if due:
            threading.Thread(target=self._refresh, name="clock-skew", daemon=True).start()
        return self._found

    def _refresh(self) -> None:
        self._found = {name: ahead for name, ahead in self.measure().items() if ahead is not None}


def clock_wording(skew: Mapping[str, float]) -> str:
    """Return the clocks as one line: ``database +0.1 s, Drydock -3.0 s``."""
    return ", ".join(f"{name} {ahead:+.1f} s" for name, ahead in skew.items())
