"""A peer on loopback that answers as it is told, for what the simulator never says."""

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    """One answer; ``cut`` bytes of the body are announced but never sent."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0


class Peer(ThreadingHTTPServer):
    """Gives the answers of a route in turn, the last one for ever; without any answer it hangs up."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api/v1.0"

    def on(self, route: str, *answers: Answer) -> None:
        """Set the answers of a route such as ``GET /tasks``."""
        self.answers[route] = list(answers)

    def asked(self, route: str) -> list[Request]:
        return [one for one in self.requests if f"{one.method} {one.path.partition('?')[0]}" == route]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Peer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        path = self.path.removeprefix("/api/v1.0")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.command, path, headers, json.loads(raw) if raw else None))
        answers = self.server.answers.get(f"{self.command} {path.partition('?')[0]}", [])
        if not answers:
            self.close_connection = True
            return
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response_only(answer.status)
        for name, value in {"Content-Length": str(len(body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) - answer.cut])
        self.close_connection = bool(answer.cut)

    do_GET = do_POST = _serve  # noqa: N815 - the names that http.server looks for
