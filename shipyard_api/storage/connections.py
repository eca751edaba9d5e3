"""Connections to the database: how many a process has, the end of silent ones, and what is an outage."""

import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakSet

import psycopg2
import sqlalchemy as sa
from msgspec import Struct
from psycopg2.extensions import TRANSACTION_STATUS_ACTIVE
from psycopg2.extensions import connection as Connection  # noqa: N812  # the driver's name for a class
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shipyard_api.ports.state.errors import StoreFull, StoreUnavailable
from shipyard_api.storage.addresses import open_connection

LOG = logging.getLogger(__name__)

# The SSLRequest of PostgreSQL's protocol: a server answers it with one letter, before authentication.
_QUESTION = struct.pack("!ii", 8, 80_877_103)


class ConnectionWatchdog:
    """Watches the connections of engines, in a thread that lasts from the first of them to the last.

    In seconds: ``longest``, after which a server is asked whether it answers; ``patience`` for its answer; ``every``,
    the pause between two looks.
    """

    def __init__(self, *, longest: float = 3.0, patience: float = 2.0, every: float = 1.0) -> None:
        self._longest = longest
        self._patience = patience
        self._every = every
        self._connections: WeakSet[Connection] = WeakSet()
        self._since: dict[Connection, float] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, *engines: sa.Engine) -> None:
        """Watch all connections that the engines make from now on."""
        for engine in engines:
            sa.event.listen(engine, "connect", self._connected)

    def _connected(self, connection: Any, _record: Any) -> None:
        with self._lock:
            self._connections.add(connection)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="database-silence", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._is_needed():
            time.sleep(self._every)
            self._look()

    def _is_needed(self) -> bool:
        with self._lock:
            if not self._connections:
                self._thread = None
            return self._thread is not None

    def _look(self) -> None:
        now = time.monotonic()
        with self._lock:
            busy = [connection for connection in self._connections if _is_busy(connection)]
        self._since = {connection: self._since.get(connection, now) for connection in busy}
        late = [connection for connection, since in self._since.items() if now - since > self._longest]
        if late:
            self._end_silent(late)

    def _end_silent(self, late: Collection[Connection]) -> None:
        """End those of the connections whose server does not answer."""
        answers: dict[Any, bool] = {}
        for connection in late:
            try:
                with socket.socket(fileno=os.dup(connection.fileno())) as ours:
                    if not _is_busy(connection):
                        continue  # the descriptor may be another one's
                    server = ours.getpeername()
                    if server not in answers:
                        answers[server] = self._answers(ours.family, server)
                    if not answers[server]:
                        LOG.warning("database does not answer", extra={"server": str(server)})
                        ours.shutdown(socket.SHUT_RDWR)
            except (OSError, psycopg2.Error):
                continue  # it has ended meanwhile
            # Asked again after as long.
            self._since.pop(connection, None)

    def _answers(self, family: int, server: Any) -> bool:
        """Return False only if the server, or its kernel, accepts a connection and sends nothing."""
        asked_at = time.monotonic()
        try:
            with socket.socket(family) as probe:
                probe.settimeout(self._patience)
                probe.connect(server)
                probe.sendall(_QUESTION)
                probe.recv(1)
        except TimeoutError:
            # Longer than that, this process was paused: the server may have answered.
            return time.monotonic() - asked_at > 2 * self._patience
        except OSError:
            pass  # its kernel refuses, and so ends the waiting connections by itself
        return True


def _is_busy(connection: Connection) -> bool:
    return not connection.closed and connection.info.transaction_status == TRANSACTION_STATUS_ACTIVE


_LONGEST_PAUSE = 30.0  # seconds


class _Outage(Struct):
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


@contextmanager
def outages() -> Iterator[None]:
    """Turn errors of an unreachable database into StoreUnavailable, of a full one into StoreFull."""
    try:
        yield
    except (DisconnectionError, PoolTimeout) as error:
        raise StoreUnavailable(str(error)) from error
    except DBAPIError as error:
        if getattr(error.orig, "pgcode", None) == _DISK_FULL:
            raise StoreFull(_first_line(error)) from error
        if error.connection_invalidated or _is_outage(error):
            raise StoreUnavailable(_first_line(error)) from error
        raise


_DISK_FULL = "53100"
# SQLSTATE classes that mean a server fault, not a statement fault: connection failure, out of resources, shutdown or
# startup. A deadlock is the fault of neither: the transaction was rolled back, and the same work succeeds later.
_OUTAGES = ("08", "53", "57P", "40P01")


def _is_outage(error: DBAPIError) -> bool:
    state = getattr(error.orig, "pgcode", None)
    if state is None:
        return isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
    return str(state).startswith(_OUTAGES)


def _first_line(error: DBAPIError) -> str:
    return (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
