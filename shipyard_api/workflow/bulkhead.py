"""How many turns of this worker wait for each peer, so that a dead or slow peer never takes the threads of the others.

A peer is slow while it has not answered a turn for ``PATIENCE``. Turns that call a slow peer do not count against the
turns that a worker runs at once: other jobs begin instead. ``MOST_WAITING`` turns may call it; further ones are put
off before they send anything, and write when they try again.

A peer may be out of reach from the host of this worker only. So a worker whose latest call of a peer failed lets the
other workers take jobs first (``lag``): one of them may reach it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shipyard_api.workflow.step import AnyUnit

PATIENCE = 1.0
"""Seconds without an answer after which a peer is slow."""

MOST_WAITING = 32
"""How many turns of one worker may wait for a slow peer: as many as an action with many work items has runs, so that a
peer that is slow but works is not asked less.
"""

LAG = 1.5
"""Seconds by which a worker comes after the others just after a failed call: longer than they need to see a job."""

TROUBLE = 60.0
"""Seconds in which the lag becomes none: the peer may be in reach again, and may not be called any more."""


class Bulkhead:
    """The calls of one worker process; shared by its threads. ``patience``: seconds."""

    def __init__(self, monotonic: Callable[[], float], *, patience: float = PATIENCE, most: int = MOST_WAITING) -> None:
        self._monotonic = monotonic
        self._patience = patience
        self._most = most
        self._lock = threading.Lock()
        # For each turn that is outside: the peer that it calls, and since when.
        self._calls: dict[object, tuple[str, float]] = {}
        # For each peer whose latest call failed, when it did.
        self._failed: dict[str, float] = {}

    @contextmanager
    def calling(self, peer: str) -> Iterator[None]:
        """Count the turn of this thread as one that waits for the peer, until the block ends."""
        call = object()
        with self._lock:
            self._calls[call] = (peer, self._monotonic())
        try:
            yield
        finally:
            with self._lock:
                del self._calls[call]

    def called(self, peer: str, *, reached: bool) -> None:
        """Note how a call of the peer ended."""
        with self._lock:
            self._failed.pop(peer, None)
            if not reached:
                self._failed[peer] = self._monotonic()

    def lag(self) -> float:
        """Return the seconds by which this worker lets others take jobs first: the newer the failure, the more.

        So where calls of several workers failed, the one that failed last comes last.
        """
        with self._lock:
            newest = max(self._failed.values(), default=-TROUBLE)
        return LAG * max(0.0, 1 - (self._monotonic() - newest) / TROUBLE)

    def waiting(self) -> int:
        """Return how many turns wait for slow peers."""
        return self._waiting().total()

    def is_full(self, peer: str) -> bool:
        """Return whether the peer is slow and the maximum number of turns waits for it."""
        return self._waiting()[peer] >= self._most

    def _waiting(self) -> Counter[str]:
        before = self._monotonic() - self._patience
        with self._lock:
            calls = list(self._calls.values())
        slow = {peer for peer, since in calls if since < before}
        return Counter(peer for peer, _ in calls if peer in slow)


def peer_of(unit: AnyUnit, state: Any, asked: Any) -> str:
    """Return who answers: the peer that the unit names, otherwise whichever peers all units of its sort call."""
    awaited = unit.awaits(state, asked)
    return awaited.who if awaited is not None else type(unit).__name__
