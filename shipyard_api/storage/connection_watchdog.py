"""Ends connections to a database server that accepts connections and answers none, so that waiting threads go on.

The kernel of a frozen server confirms what it receives, so TCP's own limits end nothing. A server that is merely busy
answers the first question of the protocol, and keeps its connections.
"""

import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Collection
from typing import Any
from weakref import WeakSet

import psycopg2
import sqlalchemy as sa
from psycopg2.extensions import TRANSACTION_STATUS_ACTIVE
from psycopg2.extensions import connection as Connection  # noqa: N812  # the driver's name for a class

LOG = logging.getLogger(__name__)

# The SSLRequest of PostgreSQL's protocol: a server answers it with one letter, before authentication.
_QUESTION = struct.pack("!ii", 8, 80_877_103)


class ConnectionWatchdog:
    """Watches the connections of engines, in a thread that starts with the first connection.

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
        while True:
            time.sleep(self._every)
            self._look()

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
        try:
            with socket.socket(family) as probe:
                probe.settimeout(self._patience)
                probe.connect(server)
                probe.sendall(_QUESTION)
                probe.recv(1)
        except TimeoutError:
            return False
        except OSError:
            pass  # its kernel refuses, and so ends the waiting connections by itself
        return True


def _is_busy(connection: Connection) -> bool:
    return not connection.closed and connection.info.transaction_status == TRANSACTION_STATUS_ACTIVE
