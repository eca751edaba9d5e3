"""A Shipyard API that answers what it was told to; as a program, one that plays a short deployment (a fake stack)."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TOKEN = "token-of-the-operator"


@dataclass
class Reply:
    status: int = 200
    body: Any = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False  # the connection breaks in the middle of the answer

    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Request:
    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes


@dataclass
class FakeApi:
    """``replies`` by "METHOD /path below the version": one, or several in turn, of which the last is for ever.

    Or a function that is asked each time.
    """

    replies: dict[str, Reply | list[Reply] | Callable[[Request], Reply]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def start(self) -> str:
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self.url

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        found = self.replies.get(f"{request.method} {request.path.removeprefix('/api/v1.0')}")
        if callable(found):
            return found(request)
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found or Reply(404, {"message": None, "reason": "404 Not Found", "details": {"messageList": []}})


class _Handler(BaseHTTPRequestHandler):
    api: FakeApi
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, parts.path, parse_qsl(parts.query), headers, self.rfile.read(size))
        reply = self.api.reply(request)
        self.send_response(reply.status)
        if reply.content_type:
            self.send_header("Content-Type", reply.content_type)
        self.send_header("X-Shipyard-Req", "request-1")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.data()) + reply.cut))
        self.end_headers()
        self.wfile.write(reply.data())

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names are the library's

    def log_message(self, *_: object) -> None:
        pass


def deployment(action: dict[str, Any], groups: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> FakeApi:
    """An API on which an action goes from pending over processing to the given end."""
    from tests.unit.cli.samples import PLAN

    one = f"/actions/{action['id']}"
    good = {"kind": "Status", "status": "Success", "message": "Validations succeeded", "reason": "Validation"}
    pending = action | {"action_lifecycle": "Pending", "dag_status": "queued", "verdict": None}
    busy = pending | {"action_lifecycle": "Processing", "dag_status": "running"}
    return FakeApi(
        {
            "POST /configdocs/design": Reply(201, good),
            "POST /commitconfigdocs": Reply(200, good),
            "POST /plans": Reply(200, PLAN),
            "POST /actions": Reply(201, {"id": action["id"], "name": "deploy_site", "dag_status": "SCHEDULED"}),
            f"GET {one}": [Reply(200, pending), Reply(200, busy), Reply(200, action)],
            f"GET {one}/groups": [
                Reply(200, {"groups": [], "next": None}),
                Reply(200, {"groups": groups, "next": None}),
            ],
            f"GET {one}/nodes": [Reply(200, {"nodes": [], "next": None}), Reply(200, {"nodes": nodes, "next": None})],
        }
    )


def stack(fate: str) -> FakeApi:
    """An API on which a deployment ends as the fate says: ``fails``, ``refuses``, or else successfully."""
    from tests.unit.cli import samples

    groups = [
        samples.group(
            "control-nodes",
            "success",
            counts={"success": 1},
            phases=[samples.phase("prepare", ["n1"], at=1), samples.phase("deploy", ["n1"], at=2)],
        ),
        samples.group(
            "ntp-node",
            "failed",
            critical=False,
            reason="prepare",
            counts={"failure": 1},
            phases=[samples.phase("prepare", ["n2"], "failure", at=0), samples.phase("deploy", [], "skipped", at=3)],
        ),
    ]
    nodes = [
        samples.node("n1", group_name="control-nodes"),
        samples.node("n2", "failure", "ntp-node", reason="prepare"),
    ]
    api = deployment(samples.action("Failed" if fate == "fails" else "Complete"), groups, nodes)
    if fate == "refuses":
        api.replies["POST /commitconfigdocs"] = Reply(400, samples.REFUSED)
    return api


def main(arguments: list[str]) -> None:
    """Be a stack: ``up … --ready-file F --scenario S …``; what goes wrong is in the scenario's file."""
    sys.path.insert(0, str(Path(__file__).parents[3]))
    import yaml

    def value(name: str) -> str:
        return arguments[arguments.index(name) + 1]

    fate = (yaml.safe_load(Path(value("--scenario")).read_text()) or {}).get("fake", "")
    Path(value("--scenario")).with_suffix(".pid").write_text(str(os.getpid()))
    if fate == "dies":
        print("could not start Postgres:\nno space left", file=sys.stderr)
        sys.exit(3)
    api = stack(fate)
    url = api.start()
    ready = {"url": url, "token": TOKEN, "database_url": "", "pid": os.getpid(), "simulators": {}}
    Path(value("--ready-file")).write_text(json.dumps(ready))
    signal.sigwait({signal.SIGTERM})
    if "--history" in arguments:
        Path(value("--history")).write_text("{}\n{}\n")
    Path(value("--scenario")).with_suffix(".stopped").write_text("by SIGTERM")


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    main(sys.argv[1:])
