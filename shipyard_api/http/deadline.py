"""Requests to one address, through the requests library, whose answers have a deadline as a whole, headers included.

The library's timeouts bound the time between two pieces only, so a peer that sends a byte now and then would hold a
thread for ever. So at the deadline, or when the answer is no longer wanted, the socket of the exchange is shut.
"""

import contextlib
import http.client
import io
import re
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import certifi
from msgspec import Struct
from requests import PreparedRequest, Session
from requests import Response as Received
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.poolmanager import PoolManager

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
_NO_COOKIES = DefaultCookiePolicy(allowed_domains=[])

FAILURES = (OSError, HTTPError, http.client.HTTPException)
"""What an exchange raises, also while its answer is read; errors of requests are OSErrors."""


class Waiting(Struct, frozen=True):
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


class Answer(Struct, frozen=True):
    """Status and headers of an answer, with lower-case names; ``pieces`` reads its body."""

    status: int
    headers: dict[str, str]
    pieces: Iterator[bytes]


class Connections:
    """Connections to one address, for any thread.

    ``ca_file``: a file or directory of trusted certificates instead of the public authorities'. ``tls``: trust and
    credentials instead; ``server_name``: checked instead of the address.
    """

    def __init__(
        self, base_url: str, *, ca_file: str = "", tls: ssl.SSLContext | None = None, server_name: str = ""
    ) -> None:
        address = urlsplit(base_url)
        self.address = f"{address.scheme}://{address.netloc}"
        # A zone means something on this host only (RFC 6874); older releases of Python send it.
        self._host = {"Host": re.sub(r"%[^]]*", "", address.netloc)} if "%" in address.netloc else {}
        trust = {"ssl_context": tls, "server_hostname": server_name or None} if tls else _trust(ca_file)
        self._adapter = _Adapter(trust)
        self._session = _Session()
        self._session.trust_env = False
        self._session.cookies.set_policy(_NO_COOKIES)
        self._session.mount(self.address, self._adapter)
        weakref.finalize(self, self._adapter.close)

    @contextlib.contextmanager
    def exchange(self, request: Request, limits: Limits) -> Iterator[Answer]:
        """Send the request; what the block does not read of the answer is lost, with the connection.

        Raises one of ``FAILURES``.
        """
        prepared = PreparedRequest()
        prepared.method, prepared.url, prepared.body = request.method, self.address + request.target, request.body
        prepared.headers = CaseInsensitiveDict({**self._host, **request.headers})
        with _Watch(limits) as watch:
            try:
                timeouts = (limits.connect, limits.read)
                received = self._session.send(prepared, stream=True, timeout=timeouts, allow_redirects=False)
                with contextlib.closing(received):
                    headers = {name.lower(): value.strip() for name, value in received.headers.items()}
                    yield Answer(received.status_code, headers, _pieces(received, watch))
            except FAILURES as error:
                watch.check(error)
                raise

    def close(self) -> None:
        """Close the connections that are not in use; others may still be made."""
        self._adapter.close()


class _Watch:
    """Shuts the socket of this thread's exchange at the deadline, or when its answer is no longer wanted."""

    _of_thread = threading.local()
    # Between the look at whose a connection is and its end.
    _lock = threading.Lock()

    def __init__(self, limits: Limits) -> None:
        self._deadline, self._waiting = limits.deadline, limits.waiting
        self._over = threading.Event()
        self._trouble: Exception | None = None
        self._connection: _Watched | None = None

    def __enter__(self) -> "_Watch":
        self._of_thread.now = self
        threading.Thread(target=self._watch, name="deadline", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._of_thread.now = None
        self._over.set()

    @classmethod
    def uses(cls, connection: "_Watched") -> None:
        """Note which connection the exchange of this thread uses; an earlier exchange leaves it alone from now on."""
        watch: _Watch = cls._of_thread.now
        with cls._lock:
            watch._connection, connection.watch = connection, watch

    def check(self, cause: BaseException | None = None) -> None:
        """Raise TimeoutError, or what ``is_wanted`` raised, if the socket was shut here."""
        if self._trouble is not None:
            raise self._trouble from cause

    def _watch(self) -> None:
        self._trouble = self._awaited_trouble()
        # Once more while it is still connecting.
        while self._trouble is not None and not self._over.is_set():
            with self._lock, contextlib.suppress(OSError, AttributeError):
                if self._connection is not None and self._connection.watch is self:
                    self._connection.sock.shutdown(socket.SHUT_RDWR)
            self._over.wait(0.1)

    def _awaited_trouble(self) -> Exception | None:
        while (left := self._deadline - time.monotonic()) > 0:
            if self._over.wait(min(left, self._waiting.every) if self._waiting else left):
                return None
            try:
                if self._waiting and not self._waiting.is_wanted():
                    return TimeoutError("the answer is no longer wanted")
            except Exception as error:  # noqa: BLE001  # raised where the answer is awaited
                return error
        return TimeoutError("the answer is late")


class _Session(Session):
    def get_redirect_target(self, resp: Received) -> None:
        """Follow no redirect, nor read what comes with it."""


class _Lines:
    """The lines of a head, with the last one."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self.last = b""

    def readline(self, limit: int = -1) -> bytes:
        self.last = self._stream.readline(limit)
        return self.last

    def close(self) -> None:
        self._stream.close()


class _Response(http.client.HTTPResponse):
    """Takes no head that is cut short, or has lines that are no headers, for a whole one, as the library does."""

    def begin(self) -> None:
        stream: Any = self.fp
        lines: Any = _Lines(stream)  # it has what ``begin`` needs of a stream
        self.fp = lines
        try:
            super().begin()
        finally:
            self.fp = stream if self.fp is lines else self.fp
        if lines.last not in (b"\r\n", b"\n") or self.headers.defects:
            raise http.client.IncompleteRead(lines.last)


class _Watched(HTTPConnection):
    response_class = _Response
    watch: _Watch | None = None

    def connect(self) -> None:
        _Watch.uses(self)
        super().connect()

    def request(self, *arguments: Any, **options: Any) -> None:
        _Watch.uses(self)
        super().request(*arguments, **options)


class _WatchedTls(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTls


class _Adapter(HTTPAdapter):
    """Connections with keep-alive probes, and the trust of this address instead of that of each request."""

    def __init__(self, trust: Mapping[str, Any]) -> None:
        self._trust = trust
        super().__init__(pool_connections=1, pool_maxsize=KEPT)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **_: Any) -> None:
        self.poolmanager = PoolManager(
            num_pools=connections, maxsize=maxsize, block=block, socket_options=_OPTIONS, **self._trust
        )
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}

    def get_connection_with_tls_context(self, request: PreparedRequest, *_: Any, **__: Any) -> HTTPConnectionPool:
        pool: HTTPConnectionPool = self.poolmanager.connection_from_url(str(request.url))
        return pool

    def cert_verify(self, *_: Any) -> None:
        """Change nothing: the pool has its trust."""


def _pieces(received: Received, watch: _Watch) -> Iterator[bytes]:
    """Yield the body as it arrives, decompressed. Raises one of ``FAILURES`` if it ends too early."""
    # read1() returns what has arrived; read() would wait for a full piece.
    while piece := received.raw.read1(_PIECE, decode_content=True):
        yield piece
    watch.check()


def _trust(ca_file: str) -> dict[str, Any]:
    place = ca_file or certifi.where()
    return {"cert_reqs": "CERT_REQUIRED", "ca_cert_dir" if Path(place).is_dir() else "ca_certs": place}
