"""One reading of a peer for all threads of a process that need one at about the same time."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from shipyard_api.ports.errors import PeerError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Reading(Generic[T]):
    began: datetime
    result: "Future[T]" = field(default_factory=Future)


class SharedReading(Generic[T]):
    """A reading that serves everyone for ``seconds``. ``now``: a clock that may be set; then no reading is recent."""

    def __init__(self, read: Callable[[], T], now: Callable[[], datetime], seconds: float) -> None:
        self._read = read
        self._now = now
        self._age = timedelta(seconds=seconds)
        self._lock = threading.Lock()
        self._newest: _Reading[T] | None = None

    def recent(self) -> T | None:
        """Return what was read within the seconds, None if nothing was.

        Waits for a reading that is on its way, and raises its PeerError.
        """
        with self._lock:
            newest = self._newest
        if newest is None or not timedelta(0) <= self._now() - newest.began < self._age:
            return None
        try:
            return newest.result.result()
        except PeerError as error:
            raise error.again() from error  # callers add to an error what they know

    def fresh(self) -> T:
        """Read now, for later callers too."""
        reading: _Reading[T] = _Reading(self._now())
        with self._lock:
            self._newest = reading
        try:
            value = self._read()
        except BaseException as error:
            with self._lock:
                if self._newest is reading:
                    self._newest = None
            reading.result.set_exception(error)
            raise
        reading.result.set_result(value)
        return value
