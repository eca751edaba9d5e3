"""Connections whose answers have a deadline as a whole, status line and headers included.

The library's timeouts bound the time between two pieces only, so a peer that sends a byte now and then would hold a
thread for ever.
"""

import http.client
import io
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

_request = threading.local()

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


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a long wait for an answer depends on: ``is_wanted`` is asked at an interval of seconds; False ends it."""

    is_wanted: Callable[[], bool]
    every: float = 4.0


def begin(seconds: float, waiting: Waiting | None = None) -> float:
    """Bound the answer to this thread's next request; return its deadline on the monotonic clock."""
    _request.waiting = waiting
    _request.deadline = time.monotonic() + seconds
    deadline: float = _request.deadline
    return deadline


class _Reader(io.RawIOBase):
    """What a socket receives until the deadline; afterwards TimeoutError."""

    def __init__(self, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._socket = sock
        self._raw = raw  # keeps the socket open as long as this is

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        waiting: Waiting | None = _request.waiting
        usual, began = self._socket.gettimeout(), time.monotonic()
        until = _request.deadline if usual is None else min(_request.deadline, began + usual)
        try:
            while (left := until - time.monotonic()) > 0:
                self._socket.settimeout(min(left, waiting.every) if waiting else left)
                try:
                    return self._socket.recv_into(buffer)
                except TimeoutError:
                    if waiting and not waiting.is_wanted():
                        raise TimeoutError("the answer is no longer wanted") from None
            raise TimeoutError("the answer is late")
        finally:
            self._socket.settimeout(usual)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self.fp = io.BufferedReader(_Reader(sock, self.fp.detach()))


class _Connection(HTTPConnection):
    response_class = _Response


class _TlsConnection(HTTPSConnection):
    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class _Adapter(HTTPAdapter):
    def __init__(self) -> None:
        super().__init__(pool_maxsize=KEPT)

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named, socket_options=_OPTIONS)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}


class _OwnTls(_Adapter):
    """Connections with one TLS context; the library would trust the public authorities, too."""

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._tls = {"ssl_context": context} | ({"server_hostname": server_name} if server_name else {})
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named, **self._tls)

    def cert_verify(self, *_: Any) -> None:
        """Leave it to the context."""


def adapter(tls: ssl.SSLContext | None = None, server_name: str = "") -> HTTPAdapter:
    """Return connections, for any thread, in which every answer has the deadline of its request.

    ``tls``: trust and credentials for all connections; ``server_name``: checked instead of the address.
    """
    return _OwnTls(tls, server_name) if tls else _Adapter()
