"""A Keystone on loopback that knows one service account and the tokens that a test hands out.

It is held to what a real Keystone answered: tests/contract/test_simulated_keystone.py.
"""

import json
import secrets
import threading
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.prompt_servers import served

ACCOUNT, PASSWORD = "shipyard", "shipyard-pw"
LOGIN = {
    "identity": {
        "methods": ["password"],
        "password": {"user": {"name": ACCOUNT, "domain": {"name": "Default"}, "password": PASSWORD}},
    },
    "scope": {"project": {"name": "service", "domain": {"name": "Default"}}},
}
FERNET = "gAAAA"  # how every token begins
MAY_VALIDATE = {"admin", "service"}
LONGEST_SILENCE = 60.0  # seconds


def id_of(*names: str) -> str:
    """Return the id of a user, a role, a domain, or of a project of a domain."""
    return "default" if names == ("Default",) else uuid.uuid5(uuid.NAMESPACE_OID, "/".join(names)).hex


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
    in_catalog: str = ""  # its address in the catalog, if that is not ``url``

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
        token = FERNET + secrets.token_urlsafe(64)
        body: dict[str, Any] = {
            "methods": ["password"],
            "user": {
                "id": id_of(user),
                "name": user,
                "domain": {"id": "default", "name": "Default"},
                "password_expires_at": None,
            },
            "audit_ids": [secrets.token_urlsafe(16)],
            "issued_at": _moment(now - timedelta(hours=1)),
            "expires_at": _moment(now + timedelta(seconds=seconds)),
            **more,
        }
        if project is not None:
            of = {"id": id_of(domain), "name": domain}
            body["project"] = {"id": id_of(domain, project), "name": project, "domain": of}
            body["is_domain"] = False
            body["roles"] = [{"id": id_of(role), "name": role} for role in roles]
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


def running() -> AbstractContextManager[Keystone]:
    """Run one in a thread of this process while the block lasts."""
    return served(Keystone())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # see tests/peer.py
    server: Keystone

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        self.server.asked.append((self.command, path))
        trouble = self.server.trouble
        trouble.over.wait(LONGEST_SILENCE if trouble.silent else trouble.delay)
        if trouble.hang_up or trouble.silent:
            self.close_connection = True
            return
        if trouble.status:
            self._refuse(trouble.status, "trouble")
        elif (self.command, path) == ("POST", "/v3/auth/tokens"):
            self._log_in(json.loads(sent))
        elif (self.command, path) == ("GET", "/v3/auth/tokens"):
            self._validate(query.split("&"))
        elif (self.command, path) == ("GET", "/"):
            self._show_versions()
        else:
            self._refuse(404, "no such thing")

    do_GET = do_POST = _serve  # noqa: N815 - the names that http.server looks for

    def _show_versions(self) -> None:
        address = f"{self.server.url}/"
        kind = {"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}
        version = {"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z", "media-types": [kind]}
        version["links"] = [{"rel": "self", "href": address}]
        self._answer(300, {"versions": {"values": [version]}}, {"Location": address})

    def _log_in(self, body: Any) -> None:
        if body["auth"] != LOGIN:
            self._refuse_unknown()
            return
        url = self.server.in_catalog or self.server.url
        address = {"region": "RegionOne", "region_id": "RegionOne", "url": url}
        endpoints = [
            {"id": id_of("endpoint", kind), "interface": kind, **address} for kind in ("public", "internal", "admin")
        ]
        catalog = [{"id": id_of("keystone"), "type": "identity", "name": "keystone", "endpoints": endpoints}]
        roles = ("admin", "manager", "member", "reader")
        token = self.server.give(ACCOUNT, *roles, project="service", catalog=catalog, seconds=self.server.lifetime)
        self._answer(201, {"token": self.server.tokens[token]}, {"X-Subject-Token": token})

    def _validate(self, query: list[str]) -> None:
        caller, token = self._known(self.headers.get("X-Auth-Token")), self.headers.get("X-Subject-Token")
        found = self._known(token, ended="allow_expired=1" in query)
        if caller is None:
            self._refuse_unknown()
        elif token is None:
            self._refuse(404, "No token in the request")
        elif found is None:
            is_ours = token.startswith(FERNET)
            self._refuse(404, "Failed to validate token" if is_ours else "Could not recognize Fernet token")
        elif not MAY_VALIDATE & {role["name"] for role in caller.get("roles", [])}:
            self._refuse(403, "You are not authorized to perform the requested action: identity:validate_token.")
        else:
            if "nocatalog" in query:
                found = {name: value for name, value in found.items() if name != "catalog"}
            self._answer(200, {"token": found}, {"X-Subject-Token": token})

    def _known(self, token: str | None, *, ended: bool = False) -> dict[str, Any] | None:
        found = self.server.tokens.get(token or "")
        return found if found and (ended or found["expires_at"] > _moment(datetime.now(UTC))) else None

    def _refuse_unknown(self) -> None:
        challenge = {"WWW-Authenticate": f'Keystone uri="{self.server.url}"'}
        self._refuse(401, "The request you have made requires authentication.", challenge)

    def _refuse(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        error = {"code": status, "message": text, "title": HTTPStatus(status).phrase}
        self._answer(status, {"error": error}, headers)

    def _answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response_only(status)
        for name, value in {
            "Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})
        }.items():  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
