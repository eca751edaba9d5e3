"""A small HTTP port of a program that serves no API: ``/health/live``, ``/health/ready`` and ``/metrics``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from shipyard_api.ports.metrics import Exposition

_SILENT = 5.0  # seconds after which a caller who sends nothing is disconnected


@contextmanager
def served(
    address: str, port: int, exposition: Exposition, *, live: Callable[[], bool], ready: Callable[[], bool]
) -> Iterator[int]:
    """Serve in a thread until the block ends; give the port. Raises OSError if it is taken."""
    probes = {"/health/live": live, "/health/ready": ready}

    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENT

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, exposition.text(), exposition.content_type)
            elif probe := probes.get(self.path):
                self._answer(204 if probe() else 503)
            else:
                self._answer(404)

        def _answer(self, status: int, body: bytes = b"", content_type: str = "text/plain") -> None:
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: probes come every few seconds."""

        def version_string(self) -> str:
            return "shipyard"

    server = ThreadingHTTPServer((address, port), Handler)
    thread = Thread(target=server.serve_forever, name="status-port", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
