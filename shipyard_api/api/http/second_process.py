"""A second process beside one that serves requests, for answers that take seconds of processor time.

Only one thread of a process runs Python at a time, so such an answer would delay every other one of its process. The
second process serves the same routes at a low priority. It starts when it is first wanted, and ends when it was not
wanted for a while, with its parent, or when an answer takes too long.
"""

import asyncio
import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

import falcon
import falcon.asgi
from msgspec import Struct

from shipyard_api.api.http.limits import MOUNTED, Application, Message
from shipyard_api.child_processes import die_with_parent

LOG = logging.getLogger(__name__)

_NICE = 10
_IDLE_SECONDS = 60.0
# Longer than any bounded answer takes on a busy machine.
_LONGEST_SECONDS = 300.0
_STOP_SECONDS = 5.0
# How often to look whether the caller still waits.
_LOOK_SECONDS = 1.0

Headers = Sequence[tuple[bytes, bytes]]


class SecondProcessLost(Exception):
    """The process ended, or was ended, before it answered: it took too long, or its caller has left."""


class Asked(Struct, frozen=True):
    """A request as ASGI describes it, with its whole body. Its headers authenticate the caller once more."""

    method: str
    path: str
    query: bytes
    headers: Headers
    body: bytes

    @classmethod
    def of(cls, req: falcon.asgi.Request, body: bytes, marker: str) -> "Asked":
        """Return the request with the marker of its context, for log lines; its answer is not compressed."""
        headers = {name.lower(): value for name, value in req.headers.items()}
        headers.pop("accept-encoding", None)
        headers |= {"content-length": str(len(body)), "x-context-marker": marker}
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        path = req.scope.get(MOUNTED, "") + req.scope["path"]
        return cls(req.method, path, req.scope["query_string"], encoded, body)


class Answered(Struct, frozen=True):
    """An answer, and the processor seconds that it took."""

    status: int
    headers: Headers
    body: bytes
    seconds: float

    def give(self, resp: falcon.Response) -> None:
        """Let a response be this one."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.headers}
        # As the resources of this process write it: what follows compares the text.
        resp.status, resp.data = falcon.code_to_http_status(self.status), self.body
        if "content-type" in headers:  # a 304 has none
            resp.content_type = headers["content-type"]
        for name in ("ETag", "Location", "Retry-After"):
            if name.lower() in headers:
                resp.set_header(name, headers[name.lower()])


class SecondProcess:
    """The process, as its parent sees it; it answers one request at a time. ``command`` gets a file descriptor."""

    def __init__(
        self, command: Sequence[str], *, idle: float = _IDLE_SECONDS, longest: float = _LONGEST_SECONDS
    ) -> None:
        self._command = command
        self._idle = idle
        self._longest = longest
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._is_ready = False
        self._wanted_at = 0.0
        self._lock = threading.Lock()

    def ask(self, asked: Asked, has_left: Callable[[], bool] = lambda: False) -> Answered | None:
        """Return the answer, or None while the process starts. Raises SecondProcessLost.

        ``has_left``: whether the caller has gone, which ends the process.
        """
        with self._lock:
            self._wanted_at = time.monotonic()
            try:
                connection = self._connection or self._start()
                if not self._is_ready:
                    self._is_ready = connection.poll() and bool(connection.recv())
                if not self._is_ready:
                    return None
                connection.send(asked)
                until = time.monotonic() + self._longest
                while not connection.poll(max(0.0, min(_LOOK_SECONDS, until - time.monotonic()))):
                    if has_left():
                        raise ConnectionAbortedError
                    if time.monotonic() > until:
                        raise TimeoutError
                answered: Answered = connection.recv()
            except (OSError, EOFError) as error:
                if self._process is not None and isinstance(error, TimeoutError | ConnectionAbortedError):
                    self._process.kill()  # it would go on for a caller who has gone
                code = self._end()
                LOG.warning("second process lost", extra={"code": code, "detail": type(error).__name__})
                raise SecondProcessLost from error
            self._wanted_at = time.monotonic()
            return answered

    def close(self) -> None:
        """End the process if there is one."""
        with self._lock:
            self._end()

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*self._command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        threading.Thread(target=self._end_when_idle, args=(self._process,), daemon=True).start()
        return self._connection

    def _end_when_idle(self, process: "subprocess.Popen[bytes]") -> None:
        while True:
            time.sleep(max(0.01, self._wanted_at + self._idle - time.monotonic()))
            with self._lock:
                if self._process is not process:
                    return
                if time.monotonic() >= self._wanted_at + self._idle:
                    self._end()
                    return

    def _end(self) -> int | None:
        process, connection = self._process, self._connection
        self._process = self._connection = None
        self._is_ready = False
        if connection is not None:
            connection.close()
        if process is None:
            return None
        try:
            return process.wait(0 if connection is None else _STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def serve(application: Application, descriptor: int) -> None:
    """Answer the parent's requests until it hangs up."""
    with Connection(descriptor) as connection, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        connection.send(True)
        while True:
            asked: Asked = connection.recv()
            connection.send(asyncio.run(_answered(application, asked)))


def lower_priority() -> None:
    """Give this process only idle processor time, and end it with its parent."""
    os.nice(_NICE)
    die_with_parent()


def command(module: str) -> list[str]:
    """Return the command that runs a program of ours."""
    return [sys.executable, "-m", module]


async def _answered(application: Application, asked: Asked) -> Answered:
    began = time.process_time()
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.1"},
        "http_version": "1.1",
        "scheme": "http",
        "method": asked.method,
        "path": asked.path,
        "raw_path": asked.path.encode(),
        "query_string": asked.query,
        "root_path": "",
        "headers": list(asked.headers),
        "server": ("127.0.0.1", 0),
        "client": ("127.0.0.1", 0),
    }
    parts: list[Message] = []
    messages: list[Message] = [{"type": "http.request", "body": asked.body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.Event().wait()  # the parent does not hang up
        return messages.pop()

    async def send(message: Message) -> None:
        parts.append(message)

    await application(scope, receive, send)
    start = next(part for part in parts if part["type"] == "http.response.start")
    body = b"".join(part.get("body", b"") for part in parts if part["type"] == "http.response.body")
    return Answered(start["status"], list(start["headers"]), body, time.process_time() - began)
