"""A connection of gunicorn's asgi worker, with the bounds that the worker itself does not keep.

gunicorn 27 reads ``worker_connections`` and never compares it, gives the first request of a connection any time to
arrive, holds 256 kB of a body, refuses malformed HTTP with a line of text, and waits for idle connections when it is to
end. Everything else is gunicorn's own.
"""

import json
import uuid
from asyncio import Transport
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any
from weakref import WeakSet

from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers import gasgi

# What a connection holds of a body that was not asked for, and of an answer that was not taken; bytes for each.
HELD_BYTES = 32 * 1024
# How long a caller may take to close a connection whose answer is complete: a reset could overtake the answer.
LINGER_SECONDS = 2.0
# The key of a request's scope under which the application finds how to close its connection at once.
ABORT = "shipyard.abort"
# The one under which it finds whether the caller has closed the connection, or their half of it.
LEFT = "shipyard.left"
# And the one under which it finds whether the worker goes on.
SERVING = "shipyard.serving"

_TITLES = {
    400: "The request is not valid HTTP",
    414: "The request line is too long",
    431: "The header fields of the request are too large",
}


class BoundedConnection(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """Closes at once when the process has its number of connections, and when the head of a request is late."""

    head_seconds: float  # set by use_bounded_connections

    def __init__(self, worker: Any) -> None:
        super().__init__(worker)
        self._max_buffer_size = HELD_BYTES
        self._closed: bool
        self._head_timer: Any = None
        self._discarding = False
        self._left = False
        self._is_new = True

    def connection_made(self, transport: Transport) -> None:
        """Accept the connection, or close it if there are too many."""
        super().connection_made(transport)
        if self.worker.nr_conns > self.cfg.worker_connections:
            transport.abort()
            return
        transport.max_size = HELD_BYTES  # type: ignore[attr-defined]  # of asyncio's own: how much it reads at once
        transport.set_write_buffer_limits(high=HELD_BYTES)
        self.worker.open_connections.add(self)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Pass on what came; of a connection that is being closed nothing is wanted any more."""
        if self._discarding:
            return
        self._is_new = False
        if self._head_timer is None and self._current_request is None:
            self._await_head()
        super().data_received(data)

    def eof_received(self) -> bool:
        """Go on answering a caller who has closed only their half; say whether the connection stays open."""
        self._left = True
        if self._current_request is None or self._discarding:
            return False
        self._keepalive = 0
        self._body_receiver.set_complete()  # no more of a body will come; its reader counts what came
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._left = True
        self._head_has_come()
        super().connection_lost(exc)

    def end_if_idle(self) -> None:
        """Close if nothing has come of a request, and none is being answered."""
        if self._awaiting_request and (self._is_new or self._head_timer is None):
            self.transport.close()
            self._request_ready.set()

    def _await_head(self) -> None:
        self._head_timer = self.worker.loop.call_later(self.head_seconds, self._head_is_late)

    def _head_has_come(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self.transport.abort()

    def _on_headers_complete(self) -> Any:
        self._head_has_come()
        return super()._on_headers_complete()

    def _build_http_scope(self, request: Any, sockname: Any, peername: Any) -> Any:
        scope = super()._build_http_scope(request, sockname, peername)
        scope.setdefault("extensions", {}).update(
            {ABORT: self.transport.abort, LEFT: lambda: self._left, SERVING: self._is_serving}
        )
        if isinstance(sockname, str | bytes):
            scope["server"] = scope["client"] = None  # a unix socket
        return scope

    def _is_serving(self) -> bool:
        return bool(self.worker.alive)

    def _send_error_response(self, status: int, message: str, extra_headers: Any = ()) -> None:
        """Refuse a request that no application sees, in the form of the API's errors."""
        reason = HTTPStatus(status).phrase
        code = f"{status} {reason}"
        body = json.dumps(
            {
                "kind": "status",
                "apiVersion": "N/A",
                "metadata": {},
                "status": "Failure",
                "message": _TITLES.get(status, reason),
                "reason": message[:200],
                "details": {
                    "errorType": "HTTPError",
                    "errorCount": 1,
                    "messageList": [{"message": message[:200], "error": True}],
                },
                "code": code,
                "retry": status >= 500,
            }
        ).encode()
        headers = [
            *extra_headers,
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("X-Shipyard-Req", str(uuid.uuid4())),
            ("Connection", "close"),
        ]
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        self._safe_write(f"HTTP/1.1 {code}\r\n{lines}\r\n".encode("latin-1") + body)

    def _close_transport(self) -> None:
        """Close our half, and the other one when the caller has closed it or had its time."""
        transport = self.transport
        if transport is None or self._closed:
            return
        self._closed = True
        if transport.is_closing() or not transport.can_write_eof():
            transport.close()
            return
        self._head_has_come()
        self._discarding = True
        try:
            transport.write_eof()
        except OSError:  # the caller has gone
            transport.abort()
            return
        self._reading_paused = False
        transport.resume_reading()
        self.worker.loop.call_later(LINGER_SECONDS, transport.abort)


def use_bounded_connections(worker: Any, head_seconds: float) -> None:
    """Make gunicorn's asgi worker, which names its class of connections itself, use this class.

    Its listening sockets keep the backlog of the settings; the worker would let asyncio shorten it to 100.
    """
    BoundedConnection.head_seconds = head_seconds
    worker.open_connections = WeakSet()
    worker._shutdown = partial(_end, worker, worker._shutdown)
    gasgi.ASGIProtocol = BoundedConnection
    worker.loop.create_server = partial(worker.loop.create_server, backlog=worker.cfg.backlog)


async def _end(worker: gasgi.ASGIWorker, end: Callable[[], Awaitable[None]]) -> None:
    """End a worker once its requests are answered; it would wait for who keeps a connection for the next one."""
    for server in worker.servers:
        server.close()
    for connection in list(worker.open_connections):
        connection.end_if_idle()
    await end()
