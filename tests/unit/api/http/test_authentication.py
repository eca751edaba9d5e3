"""Which requests reach the identities: those whose token is no longer than a token can be."""

import base64

import falcon
import falcon.asgi
import pytest
from falcon.testing import TestClient

from shipyard_api.api.http.authentication import Authentication, Policy
from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.identity import Identity, Request


class Identities:
    """Knows nobody, and keeps the length of each token that it was asked for."""

    challenge = "Token"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def cached(self, request: Request) -> Identity | None:
        self.asked.append(len(request["HTTP_X_AUTH_TOKEN"]))
        return None

    def of(self, request: Request) -> Identity:
        self.asked.append(len(request["HTTP_X_AUTH_TOKEN"]))
        raise Unauthenticated


class NoPolicy:
    def allows(self, rule: str, identity: Identity) -> bool:
        raise AssertionError("nobody was authenticated")


class Resource:
    policy: Policy = {"GET": "any:rule"}  # noqa: RUF012  # as resources declare it

    async def on_get(self, req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
        raise AssertionError("nobody was authenticated")


@pytest.mark.parametrize(
    ("way", "length", "asked"),
    [("X-Auth-Token", 4096, [4096, 4096]), ("X-Auth-Token", 4097, []), ("Bearer", 4097, []), ("Basic", 4097, [])],
)
def test_a_token_of_more_than_4096_characters_is_never_looked_up(way: str, length: int, asked: list[int]) -> None:
    identities, token = Identities(), "x" * length
    app = falcon.asgi.App(middleware=[Authentication(identities, NoPolicy())])
    app.add_route("/", Resource())

    async def refused(_req: object, resp: falcon.asgi.Response, _error: Exception, _params: object) -> None:
        resp.status = falcon.HTTP_401

    app.add_error_handler(Unauthenticated, refused)
    password = base64.b64encode(f"user:{token}".encode()).decode()
    sent = {
        "X-Auth-Token": {"X-Auth-Token": token},
        "Bearer": {"Authorization": f"Bearer {token}"},
        "Basic": {"Authorization": f"Basic {password}"},
    }[way]

    assert TestClient(app).simulate_get("/", headers=sent).status == falcon.HTTP_401
    assert identities.asked == asked
