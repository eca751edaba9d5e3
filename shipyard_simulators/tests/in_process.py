"""Requests to a simulator of this process, without a socket: an answer costs a twentieth of one over the network.

``HTTP`` is a session of `requests`. It calls the application of a simulator that runs in this process, and uses the
network for everything else, such as a simulator in a process of its own. A test of the connection itself calls
`requests` directly, of a simulator that is served.
"""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from weakref import WeakValueDictionary
from wsgiref.util import setup_testing_defaults

import requests
from falcon.routing import compiled
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPResponse

from shipyard_simulators.faults import ConnectionCut
from shipyard_simulators.server import Served, Server

# Falcon compiles the same routes for every application; one compilation serves all of a peer.
compiled.compile = cache(compile)  # type: ignore[attr-defined]

_servers: WeakValueDictionary[int, Server] = WeakValueDictionary()
_bind = Server.server_bind


def _bind_and_remember(server: Server) -> None:
    _bind(server)
    _servers[server.server_port] = server


Server.server_bind = _bind_and_remember  # type: ignore[method-assign]


class _InProcess(HTTPAdapter):
    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        server = _servers.get(urlsplit(request.url).port or 0)
        if server is None or server.socket.fileno() < 0:
            return super().send(request, *args, **options)
        return answered(request, server)


def answered(request: requests.PreparedRequest, server: Server) -> requests.Response:
    """Return what the application of a server answers. Raises ConnectionError for a connection that it would cut."""
    status, headers, content = called(server, request.method, request.url, request.headers, request.body)
    answer = requests.Response()
    answer.status_code, answer.reason = int(status[:3]), status[4:]
    answer.headers = CaseInsensitiveDict(headers)
    answer.request, answer.url = request, str(request.url)
    answer._content = content
    answer.raw = HTTPResponse(io.BytesIO(content), headers, preload_content=False)
    answer.encoding = requests.utils.get_encoding_from_headers(answer.headers)
    return answer


def called(
    server: Server, method: str | None, url: str | None, headers: Mapping[str, Any], body: bytes | str | None
) -> tuple[str, list[tuple[str, str]], bytes]:
    """Return status, headers and body of an answer; raise what ``requests`` does where one is cut, or cut short."""
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], _error: Any = None) -> Any:
        started[:] = status, headers
        return written.write

    written = io.BytesIO()
    try:
        parts = server.get_app()(_environ(server, method, url, headers, body), start_response)
        written.write(b"".join(parts))
        if hasattr(parts, "close"):
            parts.close()
    except ConnectionCut as cut:
        raise requests.ConnectionError from cut
    status, answered_headers = started
    content = written.getvalue()
    announced = next((value for name, value in answered_headers if name.lower() == "content-length"), 0)
    if method != "HEAD" and len(content) < int(announced):
        raise requests.exceptions.ChunkedEncodingError
    return status, answered_headers, content


def _environ(
    server: Server, method: str | None, url: str | None, headers: Mapping[str, Any], body: bytes | str | None
) -> dict[str, Any]:
    address = urlsplit(url)
    content = body.encode() if isinstance(body, str) else body or b""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": unquote_to_bytes(str(address.path)).decode("latin-1"),
        "QUERY_STRING": str(address.query),
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": str(server.server_port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": str(address.netloc),
        "CONTENT_TYPE": server.untyped,
        "wsgi.input": io.BytesIO(content),
    }
    for name, value in headers.items():
        key = name.upper().replace("-", "_")
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = text
    setup_testing_defaults(environ)
    return environ


HTTP = requests.Session()
HTTP.trust_env = False
HTTP.mount("http://127.0.0.1:", _InProcess())


@contextmanager
def unserved(simulator: Served) -> Iterator[Served]:
    """Run a simulator without serving its port, which only ``HTTP`` needs: a server takes time to stop."""
    with simulator:
        simulator._begin()
        try:
            yield simulator
        finally:
            simulator._end()
