"""What clients ask before anything else: the version, and a token (contract: fuel-task-graph, 12)."""

from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.fuel import reading
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.threads import answer_in_thread
from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.domain.json_types import member
from shipyard_api.ports.identity import Identities

_LONGEST_BODY = 16_384
_FAR = "2999-12-31T23:59:59Z"


class Version:
    """``/api/v1/version``."""

    policy: ClassVar[Policy] = {"GET": None}

    def __init__(self, *, auth_required: bool) -> None:
        """``auth_required``: whether requests need a token."""
        self._auth_required = auth_required

    async def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the version, and whether requests need a token."""
        resp.media = {
            "release": version("shipyard"),
            "api": "1.0",
            "auth_required": self._auth_required,
            "feature_groups": [],
        }


class Tokens:
    """``/keystone/v2.0/tokens``: the password of a client is a token of ours, and it gets the same token back."""

    policy: ClassVar[Policy] = {"POST": None}

    def __init__(self, identities: Identities | None) -> None:
        """``identities``: None if requests need no token."""
        self._identities = identities

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response) -> None:
        """Answer with the token that was sent as the password."""
        if self._identities is None:
            raise Fault("Requests need no token here.", falcon.HTTP_404)
        req.context.challenge = self._identities.challenge
        sent = await reading.body(req, _LONGEST_BODY)
        await answer_in_thread(resp, partial(_issue, self._identities, req, resp, sent))


def _issue(identities: Identities, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
    token = _secret(reading.value(req, sent))
    identity = identities.of({"HTTP_X_AUTH_TOKEN": token})
    tenant = {"id": "shipyard", "name": "shipyard", "enabled": True}
    resp.media = {
        "access": {
            "token": {"id": token, "expires": _FAR, "tenant": tenant},
            "user": {
                "id": identity.user,
                "name": identity.user,
                "username": identity.user,
                "roles": [{"name": role} for role in sorted(identity.roles)],
            },
            "serviceCatalog": [],
            "metadata": {},
        }
    }


def _secret(body: Any) -> str:
    if not isinstance(member(body, "auth"), dict):
        raise Fault("The body has no 'auth'.")
    for path in (("passwordCredentials", "password"), ("token", "id")):
        written = member(body, "auth", *path)
        if isinstance(written, str) and written.isascii():
            return written
    raise Unauthenticated(False)
