"""Answers in every form that a resource can give them."""

from collections.abc import Callable
from typing import Any

import falcon
import falcon.asgi
import pytest
from falcon.testing import Result

from shipyard_api.api.http.compression import Compression
from shipyard_api.api.http.entity_tags import EntityTags, holds
from tests.integration.api.in_process import Client

Get = Callable[..., Result]
BODY = b"n1 is deployed\n" * 1000


class Resource:
    """Texts in every form that an answer can have; ``rendered`` counts those that took work."""

    def __init__(self) -> None:
        self.rendered = 0

    async def on_get(self, req: falcon.Request, resp: falcon.asgi.Response, form: str) -> None:
        if form == "version" and holds(req, resp, "v1"):
            return
        self.rendered += 1
        match form:
            case "media":
                resp.media = {"body": BODY.decode()}
            case "stream":
                resp.stream, resp.content_length = self._pieces(), len(BODY)
            case "small":
                resp.data = BODY[:1023]
            case "large":
                resp.data = BODY * 100
            case "refused":
                holds(req, resp, "v1")
                raise falcon.HTTPConflict
            case "nothing":
                resp.status = falcon.HTTP_204
            case _:
                resp.data = BODY

    async def on_post(self, _req: falcon.Request, resp: falcon.asgi.Response, form: str) -> None:
        resp.data = BODY

    async def _pieces(self) -> Any:
        for start in range(0, len(BODY), 999):
            yield BODY[start : start + 999]


@pytest.fixture
def resource() -> Resource:
    return Resource()


@pytest.fixture
def client(resource: Resource) -> Client:
    app: Any = falcon.asgi.App(middleware=[Compression(), EntityTags()])
    app.add_route("/{form}", resource)
    return Client(app)


@pytest.fixture
def get(client: Client) -> Get:
    """GET of a form, with headers whose names have ``_`` for ``-``."""

    def asked(form: str, **headers: str) -> Result:
        return client.simulate_get(f"/{form}", headers={name.replace("_", "-"): one for name, one in headers.items()})

    return asked
