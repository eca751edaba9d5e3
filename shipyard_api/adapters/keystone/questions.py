"""How many of our threads ask Keystone at once, and what the others learn from one that got no answer.

A Keystone that takes connections and never answers holds every thread that asks it for the whole time limit. Whoever
needs no question has to find a thread meanwhile, and whoever needs one does not have to wait to be told no.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from shipyard_api.ports.errors import Busy, Unavailable

from .client import SYSTEM

# For so long nobody asks a Keystone that has just not answered; then one asks, and the others wait for another while.
AWAY_SECONDS = 5.0

OPERATION = "token validation"
_Answer = TypeVar("_Answer")


class Questions:
    """The questions that are under way to one Keystone; may be shared by threads.

    ``at_once``: how many there may be. There is no queue: a thread that waits for its turn is one that callers who are
    known do not have. ``slow_seconds``: from when on a failure means that Keystone does not answer. One that comes
    quicker holds up nobody, and may be due to what was asked, which strangers choose: it counts for nobody else.
    """

    def __init__(self, *, at_once: int, slow_seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._at_once = at_once
        self._slow_seconds = slow_seconds
        self._now = monotonic
        self._lock = threading.Lock()
        self._under_way = 0
        self._answered_at = float("-inf")
        self._trouble: Unavailable | None = None
        self._away_until = 0.0

    def ask(self, question: Callable[[], _Answer]) -> _Answer:
        """Return what the question returns, and raise what it raises; Unavailable from it is a failure of Keystone.

        Raises Unavailable at once while Keystone is away, and Busy if as many as may are asking already.
        """
        began = self._begin()
        trouble = None
        try:
            return question()
        except Unavailable as error:
            trouble = error
            raise
        finally:
            self._end(began, trouble)

    def _begin(self) -> float:
        with self._lock:
            now = self._now()
            if self._trouble and now < self._away_until:
                raise Unavailable(SYSTEM, OPERATION, "it did not answer just now") from self._trouble
            if self._under_way >= self._at_once:
                told = f"{self._under_way} callers are waiting for its answer already"
                raise Busy(SYSTEM, OPERATION, told, retry_after=1)
            # Should nobody know yet whether it is back, this is the one who finds out.
            self._away_until = now + AWAY_SECONDS
            self._under_way += 1
            return now

    def _end(self, began: float, trouble: Unavailable | None) -> None:
        with self._lock:
            self._under_way -= 1
            now = self._now()
            if trouble is None or now - began < self._slow_seconds:
                self._answered_at, self._trouble = now, None
            elif self._answered_at < began:  # a Keystone that has answered others meanwhile is not away
                self._trouble, self._away_until = trouble, now + AWAY_SECONDS
