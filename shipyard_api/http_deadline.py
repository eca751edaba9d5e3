"""Connections whose answers have a deadline as a whole, status line and headers included.

The library's timeouts bound the time between two pieces only, so a peer that sends a byte now and then would hold a
thread for ever. Connections, with their TLS, are urllib3's; chunks and lengths are read by the standard library. What
these and requests do beyond that took three quarters of the CPU of a request: redirects, retries, cookies and proxies,
which are not wanted, and headers parsed as those of e-mail.
"""

import contextlib
import http.client
import io
import socket
import ssl
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from errno import ETIMEDOUT
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import certifi
from urllib3 import HTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

KEPT = 32
"""Connections to a peer that are kept for the next request; beyond them, one is made for each request in flight."""

DEAD_SECONDS = 5
"""Without an acknowledgement of a request or probe for this time, a connection is dead. Linux only.

A peer that is merely slow acknowledges: its kernel does. Without this, a host that is cut off waits for an answer as
long as the slowest operation of a peer may take.
"""
_ALIVE = (
    ("SO_KEEPALIVE", socket.SOL_SOCKET, 1),
    ("TCP_KEEPIDLE", socket.IPPROTO_TCP, 3),
    ("TCP_KEEPINTVL", socket.IPPROTO_TCP, 1),
    ("TCP_USER_TIMEOUT", socket.IPPROTO_TCP, DEAD_SECONDS * 1000),
)
_OPTIONS = [
    *HTTPConnection.default_socket_options,
    *((level, getattr(socket, name), value) for name, level, value in _ALIVE if hasattr(socket, name)),
]
_PIECE = 64 * 1024
_MOST_FIELDS = 200
_LONGEST_LINE = 64 * 1024

FAILURES = (OSError, HTTPError, http.client.HTTPException)
"""What an exchange raises, also while its answer is read."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a long wait for an answer depends on: ``is_wanted`` is asked at an interval of seconds; False ends it."""

    is_wanted: Callable[[], bool]
    every: float = 4.0


class Limits(NamedTuple):
    """Limits of an exchange: ``connect`` and ``read`` in seconds, as in ``HttpClient``; ``deadline`` is monotonic."""

    connect: float
    read: float
    deadline: float
    waiting: Waiting | None = None


class Request(NamedTuple):
    """A request, as it is sent. ``target``: path and query, quoted."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and headers of an answer, with lower-case names; ``pieces`` reads its body."""

    status: int
    headers: dict[str, str]
    pieces: Iterator[bytes]


class Connections:
    """Connections to one address, for any thread.

    ``verify``: a file or directory of trusted certificates, True for the public authorities, False for none. ``tls``:
    trust and credentials instead; ``server_name``: checked instead of the address.
    """

    def __init__(
        self, base_url: str, *, verify: bool | str = True, tls: ssl.SSLContext | None = None, server_name: str = ""
    ) -> None:
        address = urlsplit(base_url)
        self.address = f"{address.scheme}://{address.netloc}"
        self._host, self._port = address.hostname or "", address.port
        self._is_secure = address.scheme == "https"
        self._verify, self._tls, self._server_name = verify, tls, server_name
        self._kept: deque[HTTPConnection] = deque()
        weakref.finalize(self, _close, self._kept)

    @contextlib.contextmanager
    def exchange(self, request: Request, limits: Limits) -> Iterator[Answer]:
        """Send the request; what the block does not read of the answer is lost, with the connection.

        Raises one of ``FAILURES``.
        """
        connection = self._idle() or self.connect(limits.connect)
        is_whole = False
        try:
            stream = _Stream(connection.sock, limits)
            # A peer may answer and hang up before it has read everything.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sock.sendall(_text(request, _host_header(connection)))
            with _Response(stream, method=request.method) as response:  # type: ignore[arg-type]
                response.begin()
                yield Answer(response.status, response.fields, _pieces(response))
                is_whole = not response.will_close and (response.isclosed() or response.length == 0)
        finally:
            if is_whole and len(self._kept) < KEPT:
                self._kept.append(connection)
            else:
                connection.close()

    def connect(self, seconds: float) -> HTTPConnection:
        """Return a new connection. Raises one of ``FAILURES``."""
        settings: dict[str, Any] = {"port": self._port, "timeout": seconds, "socket_options": _OPTIONS}
        if not self._is_secure:
            connection = HTTPConnection(self._host, **settings)
        elif self._tls:
            connection = HTTPSConnection(
                self._host, **settings, ssl_context=self._tls, server_hostname=self._server_name or None
            )
        else:
            connection = HTTPSConnection(self._host, **settings, **_trust(self._verify))
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the connections that are not in use; others may still be made."""
        _close(self._kept)

    def _idle(self) -> HTTPConnection | None:
        """Return a kept connection that the peer has not closed, the one that was used last."""
        while True:
            try:
                connection = self._kept.pop()
            except IndexError:
                return None
            if connection.is_connected:
                return connection
            connection.close()


def _close(connections: deque[HTTPConnection]) -> None:
    with contextlib.suppress(IndexError):
        while True:
            connections.pop().close()


class _Stream(io.RawIOBase):
    """What a socket receives until the deadline; afterwards TimeoutError. Closing it leaves the socket open."""

    def __init__(self, sock: socket.socket, limits: Limits) -> None:
        self._socket = sock
        self._limits = limits
        self._seconds = limits.read
        sock.settimeout(limits.read)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return a buffer of this stream, as sockets do."""
        return io.BufferedReader(self, _PIECE)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        _, read, deadline, waiting = self._limits
        began = time.monotonic()
        until = min(deadline, began + read)
        while (left := until - time.monotonic()) > 0:
            # Mostly it is the same for every piece.
            longest = read if deadline - began > read else left
            self._wait_at_most(min(left, waiting.every) if waiting else longest)
            try:
                return self._socket.recv_into(buffer)
            except TimeoutError as error:
                if error.errno == ETIMEDOUT:  # the kernel has given up
                    raise
                if waiting and not waiting.is_wanted():
                    raise TimeoutError("the answer is no longer wanted") from None
        raise TimeoutError("the answer is late")

    def _wait_at_most(self, seconds: float) -> None:
        if seconds != self._seconds:  # each setting is a call of the kernel
            self._seconds = seconds
            self._socket.settimeout(seconds)


def _text(request: Request, host: str) -> bytes:
    lines = [f"{request.method} {request.target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (request.body or b"")


def _host_header(connection: HTTPConnection) -> str:
    host = connection.host if connection.host.isascii() else connection.host.encode("idna").decode("ascii")
    host = f"[{host.partition('%')[0]}]" if ":" in host else host
    return host if connection.port == connection.default_port else f"{host}:{connection.port}"


class _Response(http.client.HTTPResponse):
    """Reads the head of an answer without ``email``, whose parser took half as long as all the rest of a request."""

    fields: dict[str, str]

    def begin(self) -> None:
        """Read the head; ``fields`` has its headers, with lower-case names."""
        version, status, self.reason = self._read_status()  # type: ignore[attr-defined]
        while status == HTTPStatus.CONTINUE:
            _fields(self.fp)
            version, status, self.reason = self._read_status()  # type: ignore[attr-defined]
        if not version.startswith("HTTP/1."):
            raise http.client.UnknownProtocol(version)
        self.code = self.status = status
        self.version = 10 if version == "HTTP/1.0" else 11
        self.fields = _fields(self.fp)
        self.headers = self.msg = self.fields  # type: ignore[assignment]  # as what is inherited looks for them
        self.chunked = self.fields.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        length = self.fields.get("content-length", "").partition(",")[0]
        self.length = int(length) if length.isdecimal() and not self.chunked else None
        if status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED) or status < 200 or self._method == "HEAD":  # type: ignore[attr-defined]
            self.length = 0
        ends = self._check_close()  # type: ignore[attr-defined]
        self.will_close = ends or (self.length is None and not self.chunked)


def _fields(stream: io.BufferedIOBase) -> dict[str, str]:
    """Read the headers of an answer, a repeated one as one value (RFC 9110, 5.2). Raises HTTPException."""
    fields: dict[str, str] = {}
    name = ""
    for _ in range(_MOST_FIELDS):
        line = stream.readline(_LONGEST_LINE)
        if line in (b"\r\n", b"\n"):
            return fields
        if not line.endswith(b"\n"):
            raise http.client.IncompleteRead(line)
        text = line.decode("latin-1")
        if text[0] in " \t" and name:  # goes on from the line before
            fields[name] += f" {text.strip()}"
            continue
        name, colon, value = text.partition(":")
        name, value = name.strip().lower(), value.strip()
        if colon:
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
        else:
            name = ""  # no header
    raise http.client.HTTPException(f"more than {_MOST_FIELDS} headers")


def _pieces(response: _Response) -> Iterator[bytes]:
    """Yield the body as it arrives. Raises IncompleteRead if the connection ends before it does."""
    source: Any = response
    if response.fields.get("content-encoding", "identity").lower() != "identity":
        # We ask for none; a peer may do it all the same.
        source = HTTPResponse(response, response.fields, preload_content=False)
    # read1() returns what has arrived; read() would wait for a full piece.
    while piece := source.read1(_PIECE):
        yield piece
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)


def _trust(verify: bool | str) -> dict[str, Any]:
    if not verify:
        return {"cert_reqs": "CERT_NONE"}
    place = certifi.where() if verify is True else verify
    return {"cert_reqs": "CERT_REQUIRED", "ca_cert_dir" if Path(place).is_dir() else "ca_certs": place}
