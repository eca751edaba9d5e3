"""What a caller can hold: a socket for a while, and 64 kB of memory; never a thread. And how often it may write."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import falcon

from shipyard_api.api.http.threads import in_thread
from shipyard_api.usecases.callers import LimitWrites

LOG = logging.getLogger(__name__)

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Scope = dict[str, Any]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# An answer goes to the server in pieces: it keeps a copy of each until the caller takes it. Large pieces need fewer
# turns of the event loop, and are for callers who are authenticated.
PIECE = 32 * 1024
LARGE_PIECE = 1024 * 1024
# The key of a request's scope that is set once its caller is authenticated.
AUTHENTICATED = "shipyard.authenticated"
# The key of a request's scope that has the beginning of its address which is no more in its path: its site's.
MOUNTED = "shipyard.mounted"
# The key of a request's scope that is set once its answer is a stream without an end.
STREAM = "shipyard.stream"
# The server's extension that says whether the process goes on: streams end before it stops.
SERVING = "shipyard.serving"
# The server's extension that says whether the caller has closed the connection, or their half of it.
LEFT = "shipyard.left"
# The server's extension that closes a connection at once, without waiting for the caller to take the rest.
ABORT = "shipyard.abort"

_DISCONNECTED: Message = {"type": "http.disconnect"}
_NOTHING_YET: Message = {"type": "http.request", "body": b"", "more_body": True}


class CallerLimits:
    """ASGI middleware. Seconds: ``body`` from the first wait for a body to its end, ``answer`` for all of an answer.
    Each part of a stream has the time of an answer, and goes out in small pieces.

    A body that is late ends as if its caller had hung up; the connection of an answer that is not taken is closed.
    """

    def __init__(self, application: Application, *, body: float, answer: float) -> None:
        self._application = application
        self._body = body
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        body = _Body(receive, self._body, awaited=_has_body(scope))
        answer = _Answer(scope, send, self._answer)
        try:
            await self._application(scope, body.receive, answer.send)
        except _NotTaken:
            LOG.info("answer not taken in time", extra={"path": scope["path"][:200]})
            abort = scope.get("extensions", {}).get(ABORT)
            if abort is not None:
                abort()
                await asyncio.sleep(0)


class _NotTaken(Exception):
    """The caller did not take the answer in time."""


class _Body:
    def __init__(self, receive: Receive, seconds: float, *, awaited: bool) -> None:
        self._receive = receive
        self._seconds = seconds
        self._awaited = awaited
        self._begun = False
        self._deadline: float | None = None

    async def receive(self) -> Message:
        """Return the next message; the framework's first question is answered without waiting for the body."""
        if not self._awaited:
            return await self._receive()
        if not self._begun:
            # The framework asks before it authenticates: a caller who may not send a body is refused without it.
            self._begun = True
            return _NOTHING_YET
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            return _DISCONNECTED
        self._awaited = bool(message.get("more_body", False))
        return message


class _Answer:
    def __init__(self, scope: Scope, send: Send, seconds: float) -> None:
        self._scope = scope
        self._send = send
        self._seconds = seconds
        self._deadline = 0.0

    async def send(self, message: Message) -> None:
        """Pass a message on; raises _NotTaken when the caller has had its time."""
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        is_stream = STREAM in self._scope
        if is_stream or not self._deadline:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._in_pieces(message, LARGE_PIECE if AUTHENTICATED in self._scope and not is_stream else PIECE)
        except TimeoutError:
            raise _NotTaken from None

    async def _in_pieces(self, message: Message, size: int) -> None:
        body: bytes = message.get("body", b"")
        last = max(0, len(body) - 1) // size * size
        for start in range(0, last, size):
            await self._send({"type": message["type"], "body": body[start : start + size], "more_body": True})
        await self._send({**message, "body": body[last:]} if last else message)


def _has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0"))
        for name, value in scope["headers"]
    )


WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""The methods that change something, and so are counted and leave a line in the audit log."""
SMALL_WRITE = 0.05
"""The ``write_cost`` of a resource that changes a row or two. Scripts call it once for each node or template."""
NO_WRITE = 0.0
"""The ``write_cost`` of a resource that changes nothing, whatever its method. A function of the request may decide."""
_USUAL = 1.0
# A write of this many bytes costs as much as a usual one, however little it changes.
_BYTES = 256 * 1024


class WriteLimit:
    """Middleware, after the one that identifies callers. Rejected callers are not counted."""

    def __init__(self, limit: LimitWrites) -> None:
        self._limit = limit

    async def process_resource(
        self, req: falcon.Request, _resp: falcon.Response, resource: object, _params: Any
    ) -> None:
        """Count a write, or refuse it."""
        if req.method not in WRITES or (identity := getattr(req.context, "identity", None)) is None:
            return
        stated: float | Callable[[falcon.Request], float] = getattr(resource, "write_cost", _USUAL)
        cost = stated(req) if callable(stated) else stated
        if cost:
            size = (req.content_length or 0) / _BYTES
            await in_thread(self._limit, identity.key, min(_USUAL, cost + size))
