"""How many jobs a worker runs at once, and when: a job that waits for a peer gives its slot back."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

# Seconds between two looks at the jobs that wait. Nothing reports when a job begins to wait.
_RECHECK = 0.25


class Slots:
    """The slots of a worker, in its event loop. ``waiting``: how many of its jobs wait for a peer now.

    ``lag``: seconds by which it lets other workers take a job first, if there are any.
    """

    def __init__(self, count: int, waiting: Callable[[], int], lag: Callable[[], float] = lambda: 0.0) -> None:
        self._count = count
        self._waiting = waiting
        self.lag = lag
        self._taken = 0
        self._stopped = False
        self._changed = asyncio.Event()

    async def free(self) -> bool:
        """Return as soon as a job may begin; False: the worker stops, and none may."""
        while self._taken - self._waiting() >= self._count and not self._stopped:
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), _RECHECK)
        return not self._stopped

    def take(self) -> None:
        """Note that a job begins."""
        self._taken += 1

    def give_back(self) -> None:
        """Note that a job has ended."""
        self._taken -= 1
        self._changed.set()

    def stop(self) -> None:
        """Let no further job begin."""
        self._stopped = True
        self._changed.set()
