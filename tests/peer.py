"""A peer on loopback that answers as it is told, for what no simulator ever says."""

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.prompt_servers import served

API = "/api/v1.0"
PATIENT = 20.0  # seconds; no answer that comes takes that long


@dataclass
class Request:
    """One request as it arrived; ``path`` is without the prefix of the API and without the query."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """One answer; ``body`` is bytes or text as it is, or a value that is sent as JSON.

    ``cut``: bytes of the body that are announced but never sent. ``hang``: no answer at all, until the client leaves.
    """

    status: int = 200
    body: Any = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    hang: bool = False

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


def seconds_for(*answers: Answer) -> float:
    """Return how long to wait for these answers: only one that never comes is given up soon."""
    return 1.0 if any(answer.hang for answer in answers) else PATIENT


class Peer(ThreadingHTTPServer):
    """Gives the answers of a route in turn, the last one for ever; without any, ``otherwise``, or it hangs up."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.otherwise: list[Answer] = []
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{API}"

    def on(self, route: str, *answers: Answer) -> None:
        """Set the answers of a route such as ``GET /tasks``."""
        self.answers[route] = list(answers)

    def forget(self) -> None:
        """Have no answer, and no request, as at first: a peer serves many tests."""
        self.answers.clear()
        self.otherwise.clear()
        self.requests.clear()

    def asked(self, route: str) -> list[Request]:
        return [one for one in self.requests if f"{one.method} {one.path}" == route]

    @property
    def changes(self) -> list[str]:
        """What was asked for that is no question."""
        return [f"{one.method} {one.path}" for one in self.requests if one.method != "GET"]


def running() -> AbstractContextManager[Peer]:
    """Run a peer in a thread of this process while the block lasts."""
    return served(Peer())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes, of which the second would wait for the delayed acknowledgement of the first.
    disable_nagle_algorithm = True
    server: Peer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.removeprefix(API).partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.command, path, parse_qsl(query), headers, raw))
        answers = self.server.answers.get(f"{self.command} {path}", self.server.otherwise)
        if not answers:
            self.close_connection = True
            return
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.hang:
            self.rfile.read(1)  # until the client goes away
            self.close_connection = True
            return
        body = answer.content
        self.send_response_only(answer.status)
        for name, value in {"Content-Length": str(len(body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) - answer.cut])
        self.close_connection = bool(answer.cut)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815 - the names that http.server looks for
