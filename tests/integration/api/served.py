"""The API under gunicorn as it is shipped, behind a port, and callers who write to sockets."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.conftest import ROOT
from tests.forked import Program
from tests.waiting import PATIENCE, until


@dataclass(frozen=True)
class Answer:
    """One answer from the wire."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass(frozen=True)
class Server:
    """The API behind a port, or behind a socket in the file system if there is a path; and a token for it."""

    port: int
    token: str
    path: str = ""
    stop: Callable[[], None] = lambda: None

    def send(self, raw: bytes, *, hang_up: bool = False) -> list[Answer]:
        """Send bytes and return every answer until the server closes; ``hang_up`` ends our half first."""
        with self._connect() as connection:
            connection.sendall(raw)
            if hang_up:
                connection.shutdown(socket.SHUT_WR)
            received = bytearray()
            try:
                while chunk := connection.recv(65536):
                    received += chunk
            except ConnectionResetError:
                pass  # the server closed without reading all that was sent; what it said is there
        return list(_answers(bytes(received)))

    def _connect(self) -> socket.socket:
        if not self.path:
            return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        try:
            connection.connect(self.path)
        except OSError:
            connection.close()
            raise
        return connection

    def request(self, line: str, headers: str = "", body: bytes = b"", *, token: bool = True) -> bytes:
        """A request with what every one has; ``headers`` as on the wire, each with its line break."""
        own = f"X-Auth-Token: {self.token}\r\n" if token else ""
        return f"{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{own}{headers}\r\n".encode("latin-1") + body


def _answers(received: bytes) -> Iterator[Answer]:
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        yield Answer(int(first.split()[1]), headers, rest[:length])
        received = rest[length:]


@contextmanager
def gunicorn(url: str, token: str, *, path: str = "", port: int = 0, **environment: str) -> Iterator[Server]:
    """The API on a database, with one worker and no limit of writes; on a port, or at a path if there is one."""
    with socket.create_server(("127.0.0.1", port), backlog=128) as listening:
        port = listening.getsockname()[1]
        environ = {
            **os.environ,
            "DATABASE_URL": url,
            "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
            "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
            "SHIPYARD_API_WRITES_PER_MINUTE": "0",
            "SHIPYARD_API_WORKERS": "1",
            **({"SHIPYARD_BIND": f"unix:{path}"} if path else {}),
            **environment,
        }
        words = ["-c", str(ROOT / "etc" / "gunicorn.conf.py"), "--chdir", str(ROOT), "shipyard_api.programs.asgi:app"]
        process = Program("gunicorn", words, environ, 1, None if path else listening)
    server = Server(port, token, path, process.terminate)
    try:
        _await(process, server)
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _await(process: Program, server: Server) -> None:
    def answers() -> bool:
        assert process.poll() is None, "gunicorn did not come up"
        with suppress(OSError, IndexError):
            return server.send(server.request("GET /health"))[0].code == 204
        return False

    until(answers, every=0.05)
