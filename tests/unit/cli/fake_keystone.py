"""A Keystone v3 with one user, as far as a client of Shipyard meets it; it plays on the fake API's own port."""

import json
from typing import Any

from tests.unit.cli.fake_api import FakeApi, Reply, Request

PASSWORD = "s3cret-of-the-operator"
USER = {"name": "operator", "domain": {"name": "people"}, "password": PASSWORD}
REFUSED = {"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "No"}}


class FakeKeystone:
    """Gives tokens ``token-1``, ``token-2`` … and knows for what each is; only those for something have a catalog.

    ``scoped``, ``unscoped``: tokens of earlier logins. ``rescoping``: a token may be exchanged for one for something.
    """

    scoped, unscoped = "token-for-a-project", "token-for-nothing"

    def __init__(self, api: FakeApi) -> None:
        self.url = f"{api.url}/v3"
        self.rescoping = True
        self.logins: list[dict[str, Any]] = []
        self.catalog: list[dict[str, Any]] = [
            {
                "type": "shipyard",
                "name": "shipyard",
                "endpoints": [
                    {"interface": "internal", "url": "http://127.0.0.1:9/api/v1.0"},
                    {"interface": "public", "url": f"{api.url}/api/v1.0"},
                ],
            }
        ]
        self._scopes: dict[str, object] = {self.scoped: {"project": {}}, self.unscoped: None}
        api.replies["POST /v3/auth/tokens"] = self._login
        api.replies["GET /v3/auth/catalog"] = self._catalog

    def _login(self, request: Request) -> Reply:
        auth = json.loads(request.body)["auth"]
        self.logins.append(auth)
        scope, identity = auth.get("scope"), auth["identity"]
        if identity["methods"] == ["password"]:
            known = identity["password"]["user"] == USER
        else:
            known = identity["token"]["id"] in self._scopes
            if known and scope and not self.rescoping:
                return Reply(403, {"error": {"code": 403, "message": "No rescoping.", "title": "Forbidden"}})
        if not known:
            return Reply(401, REFUSED)
        name = f"token-{len(self.logins)}"
        self._scopes[name] = scope
        token = {"methods": ["password"], "expires_at": "2099-01-01T00:00:00.000000Z", "user": {"name": "operator"}}
        if scope:
            token["catalog"] = self.catalog
        return Reply(201, {"token": token}, headers={"X-Subject-Token": name})

    def _catalog(self, request: Request) -> Reply:
        token = request.headers.get("x-auth-token", "")
        if token not in self._scopes:
            return Reply(401, REFUSED)
        if not self._scopes[token]:
            return Reply(403, {"error": {"code": 403, "message": "Not for this token.", "title": "Forbidden"}})
        return Reply(200, {"catalog": self.catalog})
