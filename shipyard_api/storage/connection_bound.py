"""A bound for the connections of a process to all databases of its sites together.

A connection that would be one too many takes the place of an idle one, of the site that was not used for longest.
"""

import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakSet

import psycopg2
import sqlalchemy as sa
from psycopg2.extensions import connection as Connection  # noqa: N812  # the driver's name for a class

from shipyard_api.storage.addresses import open_connection
from shipyard_api.storage.connection_watchdog import ConnectionWatchdog

_LONGEST_PAUSE = 30.0  # seconds


@dataclass(slots=True)
class _Outage:
    """A database that could not be reached. ``again_at``: on the monotonic clock, when it is tried again."""

    pause: float
    again_at: float


class ConnectionBound:
    """``most``: connections that may be open at the same time. Thread-safe.

    A database that was out of reach is tried again after a pause that grows to 30 s, by one thread; the others fail at
    once meanwhile, so that a dark site does not keep the threads of all.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._open: WeakSet[Connection] = WeakSet()
        self._opening = 0
        self._used: dict[sa.Engine, float] = {}
        self._outages: dict[str, _Outage] = {}
        self._silence = ConnectionWatchdog()

    def watch(self, *engines: sa.Engine) -> None:
        """Let the idle connections of engines make room for others, and end those to a silent server.

        The engines must open their connections with ``open``.
        """
        for engine in engines:
            self._used[engine] = 0.0
            sa.event.listen(engine, "checkout", partial(self._note_use, engine))
        self._silence.watch(*engines)

    def is_out_of_reach(self, url: str) -> bool:
        """Return whether the latest attempt to connect to a database failed."""
        return url in self._outages

    def open(self, url: str) -> Connection:
        """Connect as ``open_connection`` does, once there is room. Raises psycopg2.OperationalError."""
        with self._lock:
            outage = self._outages.get(url)
            if outage is not None:
                if time.monotonic() < outage.again_at:
                    raise psycopg2.OperationalError("the database was out of reach a moment ago")
                outage.again_at = time.monotonic() + _LONGEST_PAUSE  # for the others, while this thread tries
            self._make_room()
            self._opening += 1
        try:
            connection = open_connection(url)
        except psycopg2.OperationalError:
            with self._lock:
                pause = min(2 * outage.pause, _LONGEST_PAUSE) if outage else 1.0
                self._outages[url] = _Outage(pause, time.monotonic() + pause)
            raise
        else:
            with self._lock:
                self._outages.pop(url, None)
                self._open.add(connection)
            return connection
        finally:
            with self._lock:
                self._opening -= 1

    def _make_room(self) -> None:
        """Close idle connections until there is room for one. Raises OperationalError if all are in use."""
        while sum(not connection.closed for connection in self._open) + self._opening >= self._most:
            idle = [engine for engine in self._used if _is_idle(engine.pool)]
            if not idle:
                raise psycopg2.OperationalError(f"all {self._most} database connections of this process are in use")
            min(idle, key=self._used.__getitem__).dispose()

    def _note_use(self, engine: sa.Engine, *_: Any) -> None:
        self._used[engine] = time.monotonic()


def _is_idle(pool: Any) -> bool:
    return bool(pool.checkedin() and not pool.checkedout())
