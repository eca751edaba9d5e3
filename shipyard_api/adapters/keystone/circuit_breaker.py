"""A circuit breaker: limits concurrent requests to Keystone, and fails fast during an outage.

A Keystone that accepts connections and never answers holds every calling thread for the whole timeout. Callers in the
cache need threads meanwhile, and the others need not wait for an error.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from shipyard_api.ports.errors import Busy, Unavailable

from .client import SYSTEM

# Seconds without requests after an unanswered one; then one request is let through, and the pause starts again.
PAUSE_SECONDS = 5.0

OPERATION = "token validation"
_Answer = TypeVar("_Answer")


class CircuitBreaker:
    """The requests in flight to one Keystone; may be shared by threads.

    ``at_once``: the most requests in flight. There is no queue: cached callers need the threads that would wait in it.
    ``slow_seconds``: a failure after this time counts as an outage. A faster one delays no caller and may be caused by
    the request, whose content strangers choose, so it does not affect others.
    """

    def __init__(self, *, at_once: int, slow_seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._at_once = at_once
        self._slow_seconds = slow_seconds
        self._now = monotonic
        self._lock = threading.Lock()
        self._in_flight = 0
        self._answered_at = float("-inf")
        self._error: Unavailable | None = None
        self._open_until = 0.0

    def call(self, request: Callable[[], _Answer]) -> _Answer:
        """Call ``request``, and return or raise what it does; its Unavailable counts as a failure of Keystone.

        Raises Unavailable at once during an outage, and Busy at the limit of requests in flight.
        """
        began = self._begin()
        failure = None
        try:
            return request()
        except Unavailable as error:
            failure = error
            raise
        finally:
            self._end(began, failure)

    def _begin(self) -> float:
        with self._lock:
            now = self._now()
            if self._error and now < self._open_until:
                raise Unavailable(SYSTEM, OPERATION, "it did not answer just now") from self._error
            if self._in_flight >= self._at_once:
                detail = f"{self._in_flight} callers are already waiting for its answer"
                raise Busy(SYSTEM, OPERATION, detail, retry_after=1)
            # After an outage, this request finds out whether Keystone is back.
            self._open_until = now + PAUSE_SECONDS
            self._in_flight += 1
            return now

    def _end(self, began: float, failure: Unavailable | None) -> None:
        with self._lock:
            self._in_flight -= 1
            now = self._now()
            if failure is None or now - began < self._slow_seconds:
                self._answered_at, self._error = now, None
            elif self._answered_at < began:  # Keystone has answered others meanwhile: no outage
                self._error, self._open_until = failure, now + PAUSE_SECONDS
