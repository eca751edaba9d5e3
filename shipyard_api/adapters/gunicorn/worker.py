"""A worker with threads of which no stranger can hold one by being slow.

gunicorn's own threaded worker gives a connection a thread from its first byte on, and waits in that thread for the
rest of the request, and for the caller to take the answer, for as long as that takes: as many callers as there are
threads, each sending a byte now and then, and nobody else is served. Here the one loop of the process reads heads and
sends what callers do not take at once, and a thread only has what it needs no caller for. What it may still wait for
are bodies of callers who may send one, and callers who have a token and ask for a lot; both have an end.
"""

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

from shipyard_api.adapters.gunicorn.caller import Caller, Reading

# How long a caller has to close a connection of which our half is closed; a reset could overtake the answer.
LINGER_SECONDS = 2.0
# The largest head, in bytes: far more than a request of ours needs.
LARGEST_HEAD = 32 * 1024
# As much of a body that nobody wanted is read, if it has come, to keep the connection.
LARGEST_REST = 64 * 1024
# Line breaks without a carriage return end a head, too: they are refused, and need not be waited for.
_ENDS_OF_HEAD = (b"\n\r\n", b"\n\n")
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"
)

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
        # Who has not taken all of an answer yet, and who is to close; each in the order of their timeouts.
        self._delivering: deque[TConn] = deque()
        self._lingering: deque[TConn] = deque()

    def load_wsgi(self) -> None:
        """Load the application, and note when it is given a request, and when it has given its answer."""
        super().load_wsgi()
        application = self.wsgi

        def noted(environ: Any, start_response: Any) -> Iterable[bytes]:
            client = self._busy[threading.get_ident()][0]
            if isinstance(client, Caller):
                client.reading = Reading.WAITING
            answer = application(environ, start_response)
            self._at(client, self.answer_seconds, socket.SHUT_RDWR)
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
        self._await_head(TConn(self.cfg, Caller(client), address, listener.getsockname()))

    def on_client_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        """A further request begins on a connection that was kept."""
        if not isinstance(client, Caller):
            super().on_client_socket_readable(conn, client)
            return
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._await_head(conn)

    def on_pending_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        """More of a head has come, or its caller has gone."""
        if not isinstance(client, Caller):
            super().on_pending_socket_readable(conn, client)
            return
        try:
            came = client.recv(LARGEST_HEAD)
        except BlockingIOError:
            return
        except OSError:
            came = b""
        looked_at = max(0, len(client.head) - 2)
        client.head += came
        if came and not _is_decided(client.head, looked_at):
            return
        self.poller.unregister(client)
        self.pending_conns.remove(conn)
        if came:
            self._begin(conn, client)
        else:
            self._end(conn)

    def handle(self, conn: TConn) -> Any:
        """Serve one request, in a thread."""
        self._at(conn.sock, self.body_seconds, socket.SHUT_RD)
        try:
            return super().handle(conn)
        finally:
            self._busy.pop(threading.get_ident(), None)

    def finish_request(self, conn: TConn, done: "Future[Any]") -> None:
        """Let the caller take the answer, then keep or close the connection; nothing here waits for the caller."""
        if not isinstance(conn.sock, Caller):
            super().finish_request(conn, done)
            return
        conn.sock.reading = Reading.WAITING
        conn.sock.setblocking(False)
        keep = not done.cancelled() and not done.exception() and bool(done.result())
        if not conn.sock.holds:
            self._go_on(conn, done, keep=keep)
            return
        conn.timeout = time.monotonic() + self.answer_seconds
        self._delivering.append(conn)
        self.poller.register(conn.sock, EVENT_WRITE, partial(self._deliver, conn, done, keep))

    def notify(self) -> None:
        """Say that the worker lives, once a second at least; and end what has taken too long."""
        super().notify()
        now = time.monotonic()
        for client, until, halves in list(self._busy.values()):
            if now > until:
                with contextlib.suppress(OSError):
                    client.shutdown(halves)
        for waiting in (self._delivering, self._lingering):
            while waiting and waiting[0].timeout < now:
                self._end(waiting.popleft())

    def _at(self, client: socket.socket, seconds: float, halves: int) -> None:
        self._busy[threading.get_ident()] = (client, time.monotonic() + seconds, halves)

    def _keepalive_after(self, conn: TConn, keepalive: object) -> bool:
        """Say whether the connection can be used again: not if a body is on its way that nobody has read."""
        if not isinstance(conn.sock, Caller):
            return bool(super()._keepalive_after(conn, keepalive))
        conn.sock.reading = Reading.AT_HAND
        return bool(keepalive) and bool(conn.parser.finish_body(max_bytes=LARGEST_REST))

    def _cap_keepalive(self, deadline: float) -> None:
        """A worker that is to stop waits no longer for heads than for further requests."""
        super()._cap_keepalive(deadline)
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, deadline)

    def _await_head(self, conn: TConn) -> None:
        """Wait for the head of a request, of which some may have been read behind the request before it."""
        conn.sock.setblocking(False)
        conn.sock.head = bytearray(conn.parser.unreader.take_buffered() if conn.parser else b"")
        if _is_decided(conn.sock.head, 0):
            self._begin(conn, conn.sock)
            return
        conn.timeout = time.monotonic() + self.head_seconds
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def _begin(self, conn: TConn, client: Caller) -> None:
        """Give a request whose head is there to a thread, or refuse it."""
        if not 0 <= _end_of(client.head, 0) <= LARGEST_HEAD:
            with contextlib.suppress(OSError):
                client.sendall(_TOO_LARGE)
            self._linger(conn)
            return
        conn.init()
        conn.data_ready = True
        conn.parser.unreader.unread(bytes(client.head))
        client.head.clear()
        client.reading = Reading.NOTHING
        self.enqueue_req(conn)

    def _deliver(self, conn: TConn, done: "Future[Any]", keep: bool, client: Caller) -> None:
        """Send more of an answer to a caller who takes more."""
        try:
            delivered = client.deliver()
        except OSError:
            delivered, keep = True, False
        if delivered:
            self.poller.unregister(client)
            self._delivering.remove(conn)
            self._go_on(conn, done, keep=keep)

    def _go_on(self, conn: TConn, done: "Future[Any]", *, keep: bool) -> None:
        if not keep:
            self._linger(conn)
        elif conn.parser.unreader.buf.getvalue():
            self._await_head(conn)
        else:
            super().finish_request(conn, done)

    def _linger(self, conn: TConn) -> None:
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            conn.timeout = time.monotonic() + LINGER_SECONDS
            self.poller.register(conn.sock, EVENT_READ, partial(self._discard, conn))
        except (OSError, ValueError, KeyError):
            self._end(conn)
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
        self._lingering.remove(conn)
        self._end(conn)

    def _end(self, conn: TConn) -> None:
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()


def patient(*, head: float, body: float, answer: float) -> type[WholeHeadsWorker]:
    """Return the worker class with limits of an installation, all in seconds."""
    limits = {"head_seconds": head, "body_seconds": body, "answer_seconds": answer}
    return type("PatientWorker", (WholeHeadsWorker,), limits)


def _is_decided(head: bytearray, looked_at: int) -> bool:
    """Say whether a head is whole, or too large to become a request; it was looked at up to there before."""
    return len(head) > LARGEST_HEAD or _end_of(head, looked_at) >= 0


def _end_of(head: bytearray, start: int) -> int:
    """Return where a head ends, or -1."""
    return min((end for end in (head.find(mark, start) for mark in _ENDS_OF_HEAD) if end >= 0), default=-1)
