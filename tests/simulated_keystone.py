"""A Keystone on loopback that knows one service account and the tokens that a test hands out."""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ACCOUNT, PASSWORD = "shipyard", "pw-of-the-account"
LONGEST_SILENCE = 60.0  # seconds


@dataclass
class Trouble:
    """What the Keystone does instead of answering: hang up, answer everything with one status, or nothing at all.

    ``over`` ends the silence for those who still wait: it hangs up on them. ``delay``: seconds before every answer.
    """

    hang_up: bool = False
    status: int = 0
    silent: bool = False
    delay: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)


@dataclass
class Keystone(ThreadingHTTPServer):
    """The Identity API v3, as much of it as whoever validates tokens asks for."""

    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    trouble: Trouble = field(default_factory=Trouble)
    connections: list[Any] = field(default_factory=list)
    lifetime: float = 3600.0  # seconds, of the account's own tokens

    daemon_threads = True

    def __post_init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)

    __hash__ = object.__hash__

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v3"

    def give(
        self,
        user: str,
        *roles: str,
        project: str | None = "site",
        domain: str = "Default",
        seconds: float = 3600,
        **more: Any,
    ) -> str:
        """Return a new token of a user for a project of a domain; without a project, one for nothing."""
        now = datetime.now(UTC)
        token = "k-" + uuid.uuid4().hex
        body: dict[str, Any] = {
            "methods": ["password"],
            "user": {"id": f"id-of-{user}", "name": user, "domain": {"id": "default", "name": "Default"}},
            "audit_ids": [uuid.uuid4().hex],
            "issued_at": _moment(now - timedelta(hours=1)),
            "expires_at": _moment(now + timedelta(seconds=seconds)),
            **more,
        }
        if project is not None:
            of = {"id": f"id-of-domain-{domain}", "name": domain}
            body["project"] = {"id": f"id-of-{domain}-{project}", "name": project, "domain": of}
            body["roles"] = [{"id": f"id-of-{role}", "name": role} for role in roles]
        self.tokens[token] = body
        return token

    def close_all(self) -> None:
        """Close the connections that callers keep."""
        while self.connections:
            self.shutdown_request(self.connections.pop())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection."""
        self.connections.append(request)
        super().process_request(request, client_address)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Accept connections and answer nothing while the block lasts."""
        before, self.trouble = self.trouble, Trouble(silent=True)
        try:
            yield
        finally:
            self.trouble.over.set()
            self.trouble = before

    def validations(self) -> int:
        """How often somebody asked what a token is."""
        return sum(one == ("GET", "/v3/auth/tokens") for one in self.asked)


@contextmanager
def running() -> Iterator[Keystone]:
    """Run one in a thread of this process while the block lasts."""
    with Keystone() as keystone:
        thread = threading.Thread(target=keystone.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield keystone
        finally:
            keystone.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Keystone

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0].rstrip("/")
        self.server.asked.append((self.command, path))
        trouble = self.server.trouble
        trouble.over.wait(LONGEST_SILENCE if trouble.silent else trouble.delay)
        if trouble.hang_up or trouble.silent:
            self.close_connection = True
            return
        if trouble.status:
            self._answer(trouble.status, {"error": {"message": "trouble"}})
        elif (self.command, path) == ("POST", "/v3/auth/tokens"):
            self._log_in(json.loads(sent))
        elif (self.command, path) == ("GET", "/v3/auth/tokens"):
            self._validate()
        elif (self.command, path) == ("GET", "/v3"):
            links = [{"rel": "self", "href": self.server.url}]
            self._answer(200, {"version": {"id": "v3.14", "status": "stable", "links": links, "media-types": []}})
        else:
            self._answer(404, {"error": {"message": "no such thing"}})

    do_GET = do_POST = do_HEAD = _serve  # noqa: N815 - the names that http.server looks for

    def _log_in(self, body: Any) -> None:
        user = body["auth"]["identity"]["password"]["user"]
        if (user["name"], user["password"]) != (ACCOUNT, PASSWORD):
            self._answer(401, {"error": {"message": "The request you have made requires authentication."}})
            return
        addresses = [
            {"id": kind, "interface": kind, "region": "one", "region_id": "one", "url": self.server.url}
            for kind in ("public", "internal", "admin")
        ]
        catalog = [{"id": "c", "type": "identity", "name": "keystone", "endpoints": addresses}]
        token = self.server.give(ACCOUNT, "service", project="service", catalog=catalog, seconds=self.server.lifetime)
        self._answer(201, {"token": self.server.tokens[token]}, {"X-Subject-Token": token})

    def _validate(self) -> None:
        if self._known(self.headers.get("X-Auth-Token")) is None:
            self._answer(401, {"error": {"message": "who asks?"}})
            return
        found = self._known(self.headers.get("X-Subject-Token"))
        if found is None:
            self._answer(404, {"error": {"message": "no such token"}})
            return
        self._answer(200, {"token": found})

    def _known(self, token: str | None) -> dict[str, Any] | None:
        found = self.server.tokens.get(token or "")
        return found if found and found["expires_at"] > _moment(datetime.now(UTC)) else None

    def _answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response_only(status)
        for name, value in {
            "Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})
        }.items():  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
