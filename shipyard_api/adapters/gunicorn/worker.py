"""A worker with threads of which no caller can hold one by being slow.

gunicorn's own threaded worker gives a connection a thread from its first byte on, and waits in that thread for the
rest of the request, for as long as that takes: as many callers as there are threads, each sending a byte now and then,
and nobody else is served. Here a thread is only given to a request whose head has arrived as a whole. Before that,
the operating system keeps what has arrived, and the one loop of the process looks at it. What is read or written in a
thread after that has an end, too: the bodies of callers who may send one, and the answers.
"""

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn import util
from gunicorn.workers.gthread import TConn, ThreadWorker

# How long a thread waits for what is left of a body that nobody wanted, before the connection is closed instead.
DRAIN_SECONDS = 0.1
# How long a caller has to close a connection of which our half is closed; a reset could overtake the answer.
LINGER_SECONDS = 2.0
# The largest head, in bytes. Far more than a request of ours needs, and less than a socket's buffer holds.
LARGEST_HEAD = 32 * 1024
_END_OF_HEAD = b"\r\n\r\n"

Application = Callable[[Any, Any], Iterable[bytes]]


class WholeHeadsWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Fills gunicorn's ``worker_class``. With TLS ended in gunicorn itself it is only the threaded worker.

    ``head_seconds``: in which a request's head must have come, since the connection or its first byte.
    ``body_seconds``: the same for its body, since a thread has it.
    ``answer_seconds``: in which the caller must have taken the answer.
    """

    head_seconds = 10.0
    body_seconds = 60.0
    answer_seconds = 180.0
    wsgi: Application

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # What each thread is at: on which socket, until when, and which halves are closed if it is not done by then.
        self._busy: dict[int, tuple[socket.socket, float, int]] = {}
        self._lingering: deque[TConn] = deque()

    def load_wsgi(self) -> None:
        """Load the application, and note when it has given its answer."""
        super().load_wsgi()
        application = self.wsgi

        def noted(environ: Any, start_response: Any) -> Iterable[bytes]:
            answer = application(environ, start_response)
            self._at(self._busy[threading.get_ident()][0], self.answer_seconds, socket.SHUT_RDWR)
            return answer

        self.wsgi = noted

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection, and wait for its first request without a thread."""
        if self.cfg.is_ssl:
            super().accept(listener)
            return
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # another worker was quicker, or the caller has gone
        self.nr_conns += 1
        self._await_head(TConn(self.cfg, client, address, listener.getsockname()))

    def on_client_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        """A further request begins on a connection that was kept."""
        if self.cfg.is_ssl or self._is_whole(conn):
            super().on_client_socket_readable(conn, client)
            return
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._await_head(conn)

    def on_pending_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        """More of a head has come, or its caller has gone."""
        if self.cfg.is_ssl or self._is_whole(conn):
            super().on_pending_socket_readable(conn, client)

    def handle(self, conn: TConn) -> Any:
        """Serve one request, in a thread."""
        self._at(conn.sock, self.body_seconds, socket.SHUT_RD)
        try:
            return super().handle(conn)
        finally:
            self._busy.pop(threading.get_ident(), None)

    def finish_request(self, conn: TConn, done: "Future[Any]") -> None:
        """Keep the connection for another request, or close it; nothing here waits for the caller."""
        if done.cancelled() or done.exception() or not done.result():
            self._linger(conn)
        elif _read_ahead(conn) and _END_OF_HEAD not in _read_ahead(conn):
            self._await_head(conn)
        else:
            super().finish_request(conn, done)

    def notify(self) -> None:
        """Say that the worker lives, once a second at least; and end what has taken too long."""
        super().notify()
        now = time.monotonic()
        for client, until, halves in list(self._busy.values()):
            if now > until:
                with contextlib.suppress(OSError):
                    client.shutdown(halves)
        while self._lingering and self._lingering[0].timeout < now:
            self._close(self._lingering[0])

    def _at(self, client: socket.socket, seconds: float, halves: int) -> None:
        self._busy[threading.get_ident()] = (client, time.monotonic() + seconds, halves)

    def _keepalive_after(self, conn: TConn, keepalive: object) -> bool:
        """Say whether the connection can be used again: not if a body is on its way that nobody has read."""
        return bool(keepalive) and bool(conn.parser.finish_body(deadline=time.monotonic() + DRAIN_SECONDS))

    def _cap_keepalive(self, deadline: float) -> None:
        """A worker that is to stop waits no longer for heads than for further requests."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def _await_head(self, conn: TConn) -> None:
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.head_seconds
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def _is_whole(self, conn: TConn) -> bool:
        """Say whether a thread would not have to wait: the head is there, or can never be.

        If it is not, the loop is told of the connection again when there is more than now.
        """
        try:
            arrived = conn.sock.recv(LARGEST_HEAD, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        seen, conn.seen = getattr(conn, "seen", 0), 0
        if len(arrived) <= seen or _END_OF_HEAD in _read_ahead(conn) + arrived:
            # Called without there being more, so the caller has closed their half.
            _tell_from(conn.sock, 1)
            return True
        if len(arrived) == LARGEST_HEAD:
            with contextlib.suppress(OSError):
                util.write_error(conn.sock, 431, "Request Header Fields Too Large", "")
                conn.sock.shutdown(socket.SHUT_RDWR)
            return True
        conn.seen = len(arrived)
        _tell_from(conn.sock, len(arrived) + 1)
        return False

    def _linger(self, conn: TConn) -> None:
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            conn.timeout = time.monotonic() + LINGER_SECONDS
            self.poller.register(conn.sock, EVENT_READ, partial(self._discard, conn))
        except (OSError, ValueError, KeyError):
            self.nr_conns -= 1
            conn.close()
        else:
            self._lingering.append(conn)

    def _discard(self, conn: TConn, client: socket.socket) -> None:
        """Read what still comes on a connection that is being closed; at its end, close it."""
        try:
            if client.recv(65536):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close(conn)

    def _close(self, conn: TConn) -> None:
        self._lingering.remove(conn)
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()


def patient(*, head: float, body: float, answer: float) -> type[WholeHeadsWorker]:
    """Return the worker class with limits of an installation, all in seconds."""
    limits = {"head_seconds": head, "body_seconds": body, "answer_seconds": answer}
    return type("PatientWorker", (WholeHeadsWorker,), limits)


def _read_ahead(conn: TConn) -> bytes:
    """Return what was read of a connection behind its latest request."""
    held: bytes = conn.parser.unreader.buf.getvalue() if conn.parser else b""
    return held


def _tell_from(client: socket.socket, size: int) -> None:
    """Let the loop be told of a connection when so many bytes have come, or their end."""
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
