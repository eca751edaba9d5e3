"""A small threaded HTTP server for a simulator: one thread a connection, silent, on this machine only."""

import io
import json
import os
import select
import signal
import sys
import threading
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from types import FrameType
from typing import IO, Any, cast
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

from shipyard_api.simulators.drydock.faults import Application

HOST = "127.0.0.1"


class Server(ThreadingMixIn, WSGIServer):
    """Listens on a port of this machine; port 0 takes a free one."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, application: Application, port: int) -> None:
        super().__init__((HOST, port), _RequestHandler)
        self.set_app(application)

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"http://{HOST}:{self.server_port}"

    def server_bind(self) -> None:
        """Bind without asking DNS for the name of this machine, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; everything else is a fault of ours and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _RequestHandler(WSGIRequestHandler):
    timeout = 60  # a connection that never sends its request does not hold a thread for ever

    def handle(self) -> None:
        self.raw_requestline = self.rfile.readline(65_537)
        if len(self.raw_requestline) > 65_536:
            self.requestline, self.request_version, self.command = "", "", ""
            self.send_error(414)
            return
        if not self.parse_request():
            return
        # The whole body is read first: an answer sent before it would be lost with the reset of the connection.
        length = self.headers.get("Content-Length", "0")
        body = self.rfile.read(int(length)) if length.isdecimal() else b""
        handler = ServerHandler(
            io.BytesIO(body), cast("IO[bytes]", self.wfile), self.get_stderr(), self.get_environ(), multithread=True
        )
        handler.request_handler = self  # type: ignore[attr-defined]  # the way wsgiref itself hands it over
        handler.run(self.server.get_app())  # type: ignore[attr-defined]  # the server is always ours

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: what matters is in the event log."""


def announce(ready_file: Path, url: str) -> None:
    """Write where this process listens; whoever waits for the file never sees half of it."""
    written = ready_file.with_name(f"{ready_file.name}.{os.getpid()}")
    written.write_text(json.dumps({"url": url, "pid": os.getpid()}) + "\n", encoding="utf-8")
    written.replace(ready_file)


def exit_on_signals() -> None:
    """Let SIGTERM and SIGINT end the process at once, successfully."""

    def leave(_signum: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)


def exit_with_parent() -> None:
    """End this process when the one that started it ends, however that happens."""
    parent = os.pidfd_open(os.getppid())

    def wait() -> None:
        poll = select.poll()
        poll.register(parent, select.POLLIN)
        poll.poll()
        os._exit(0)

    threading.Thread(target=wait, name="parent", daemon=True).start()
