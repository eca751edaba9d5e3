"""A proxy between an adapter and its peer that knows every request, and lets one of them break on the wire."""

import http.client
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from email.message import Message
from enum import Enum
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tests.prompt_servers import served
from tests.waiting import PATIENCE

_NAMED = re.compile(r"/(machines|tags|nodes|tasks)/(?!\?)[^/?]+")
_ASKED = re.compile(r'"(?:action|target)": ?"(?P<what>[^"]+)"')
_OPERATION = re.compile(r"[?&](op=\w+|subtaskerrors)")


class Breakage(Enum):
    """What happens to a request that breaks."""

    REFUSED = "refused"  # the connection is closed before the peer hears of it
    RESET = "reset"  # the peer does the work, and the connection is reset in the middle of the answer
    LOST = "answer lost"  # the peer does the work, and no answer ever comes
    LATE = "late"  # the connection is closed, and the peer hears of it when it is delivered
    STALE = "stale"  # a read is answered as the same one was the first time


ON_THE_WIRE = (Breakage.REFUSED, Breakage.RESET, Breakage.LOST)
"""What a wire does by itself."""


@dataclass(frozen=True)
class Call:
    """One request: its kind, and the how-manieth of its kind it was, from 1."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}, number {self.number}"


class BreakingProxy(ThreadingHTTPServer):
    """Passes requests on to ``peer`` and their answers back; ``breaks`` says whether and how a request breaks."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, peer: str, breaks: Callable[[Call], Breakage | None] = lambda _: None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.peer = urlsplit(peer)
        self.calls: list[Call] = []
        self.broken: list[Call] = []
        self.late: list[Callable[[], object]] = []
        self.answers: dict[str, bytes] = {}
        self._breaks = breaks
        self._numbers: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def deliver(self) -> None:
        """Let the peer hear of the requests that are late."""
        late, self.late = self.late, []
        for ask in late:
            ask()

    def shutdown_request(self, request: Any) -> None:
        """Only close: a farewell first would turn a reset into a regular end."""
        self.close_request(request)

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that went away."""

    def note(self, kind: str) -> Breakage | None:
        """Count a request, and return whether and how it breaks."""
        with self._lock:
            self._numbers[kind] += 1
            call = Call(kind, self._numbers[kind])
            self.calls.append(call)
            breakage = self._breaks(call)
            if breakage is not None:
                self.broken.append(call)
            return breakage


def proxy(
    peer: str, breaks: Callable[[Call], Breakage | None] = lambda _: None
) -> AbstractContextManager[BreakingProxy]:
    """Run a proxy in a thread of this process while the block lasts."""
    return served(BreakingProxy(peer, breaks))


def kind_of(method: str, path: str, body: bytes) -> str:
    """Return what a request has in common with all of its kind: no names of machines, tags or tasks are in it."""
    route = _NAMED.sub(r"/\1/*", urlsplit(path).path)
    operation = _OPERATION.search(path)
    asked = _ASKED.search(body.decode("utf-8", "replace")) if body.startswith(b"{") else None
    return " ".join(filter(None, (method, route, operation and operation[1], asked and asked["what"])))


class _Handler(BaseHTTPRequestHandler):
    server: BreakingProxy

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        breakage = self.server.note(kind_of(self.command, self.path, body))
        if breakage is Breakage.REFUSED:
            return
        if breakage is Breakage.LATE:
            self.server.late.append(partial(_ask, self.server.peer, self.command, self.path, self.headers, body))
            return
        asked = f"{self.command} {self.path}"
        stale = self.server.answers.get(asked) if breakage is Breakage.STALE else None
        answer = stale or _ask(self.server.peer, self.command, self.path, self.headers, body)
        self.server.answers.setdefault(asked, answer)
        if breakage is Breakage.LOST:
            self.connection.settimeout(30)
            self.rfile.read(1)  # until the client gives up
        elif breakage is Breakage.RESET:
            self.wfile.write(answer[: len(answer) // 2])
            # Without lingering, the connection ends in a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815 - the names that http.server looks for


def _ask(peer: SplitResult, method: str, path: str, headers: Message, body: bytes) -> bytes:
    """Return the peer's answer as it would stand on the wire, or nothing where the peer hung up."""
    connection = http.client.HTTPConnection(peer.hostname or "", peer.port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        head = f"HTTP/1.0 {answer.status} {answer.reason}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in answer.getheaders())
        return head.encode("latin-1") + b"\r\n" + answer.read()
    except (OSError, http.client.HTTPException):
        return b""
    finally:
        connection.close()
