"""A small threaded HTTP server on 127.0.0.1: one thread per connection, no log output."""

import io
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from socketserver import TCPServer, ThreadingMixIn
from types import TracebackType
from typing import IO, Any, Self, TypeVar, cast
from wsgiref.headers import Headers
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

from shipyard_simulators.events import EventLog

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

HOST = "127.0.0.1"


class Server(ThreadingMixIn, WSGIServer):
    """An HTTP server on a port of 127.0.0.1; port 0 selects a free one.

    ``untyped``: the media type of a body without a Content-Type; the default is wsgiref's.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, application: Application, port: int, *, untyped: str = "text/plain") -> None:
        self._open: set[socket.socket] = set()
        super().__init__((HOST, port), _RequestHandler)
        self.untyped = untyped
        self.set_app(application)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://{HOST}:{self.server_port}"

    def server_bind(self) -> None:
        """Bind without a DNS lookup of this machine's name, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection, in a thread."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection whose requests are answered."""
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Stop listening, and hang up on clients that keep their connections, as the end of a process would."""
        super().server_close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients; print everything else, because it is our bug."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Simulated:
    """A peer with a port and an event log. It listens from the start and answers while ``serve`` runs.

    Subclasses with background work start it in ``_begin``, stop it in ``_end``, and release resources in ``_close``.
    """

    def __init__(self, application: Application, port: int, log: EventLog, *, untyped: str = "text/plain") -> None:
        self._server = Server(application, port, untyped=untyped)
        self._log = log

    @property
    def url(self) -> str:
        """The base URL, without the path of the API."""
        return self._server.url

    def serve(self) -> None:
        """Answer requests until ``stop`` is called from another thread."""
        self._begin()
        # How soon stop is noticed.
        self._server.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """End ``serve``. Call it once, from another thread."""
        self._server.shutdown()
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._server.server_close()
        self._close()
        self._log.close()

    def _begin(self) -> None:
        """Start background work."""

    def _end(self) -> None:
        """Stop background work."""

    def _close(self) -> None:
        """Release resources, also if the peer was never served or never stopped."""


Served = TypeVar("Served", bound=Simulated)


@contextmanager
def in_thread(simulator: Served) -> Iterator[Served]:
    """Run a simulator in a thread of this process inside a ``with`` block."""
    with simulator:
        thread = threading.Thread(target=simulator.serve, name="simulator")
        thread.start()
        try:
            yield simulator
        finally:
            simulator.stop()
            thread.join()


class _Answer(ServerHandler):
    """One answer. The connection stays open for the next request if the client can tell where this one ends."""

    http_version = "1.1"
    headers: Headers
    request_handler: "_RequestHandler"
    _has_length = False
    is_whole = False

    def cleanup_headers(self) -> None:
        super().cleanup_headers()
        self._has_length = "Content-Length" in self.headers
        if self.request_handler.close_connection or not self._has_length:
            self.headers["Connection"] = "close"

    def finish_response(self) -> None:
        super().finish_response()
        self.is_whole = self._has_length


class _RequestHandler(WSGIRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes, of which the second would wait for the client's delayed acknowledgement.
    disable_nagle_algorithm = True
    timeout = 60  # seconds; a connection that never sends its request must not hold a thread for ever

    def handle(self) -> None:
        self.close_connection = False
        while not self.close_connection:
            self._handle_one()

    def _handle_one(self) -> None:
        self.raw_requestline = self.rfile.readline(65_537)
        self.close_connection = True
        if len(self.raw_requestline) > 65_536:
            self.requestline, self.request_version, self.command = "", "", ""
            self.send_error(414)
            return
        if not self.parse_request():
            return
        # Read the whole body first: an answer sent earlier would be lost when the connection is reset.
        length = self.headers.get("Content-Length", "0")
        body = self.rfile.read(int(length)) if length.isdecimal() else b""
        answer = _Answer(
            io.BytesIO(body), cast("IO[bytes]", self.wfile), self.get_stderr(), self.get_environ(), multithread=True
        )
        answer.request_handler = self
        answer.run(self.server.get_app())  # type: ignore[arg-type]  # it was set at the start
        self.close_connection |= not answer.is_whole

    def get_environ(self) -> dict[str, Any]:
        """Return the environment of the request."""
        environ = super().get_environ()
        if "Content-Type" not in self.headers:
            environ["CONTENT_TYPE"] = self.server.untyped
        return environ

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the event log holds what matters."""
