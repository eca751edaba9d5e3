"""Failures that have nothing to do with templates, in the forms of Ironic's errors (contract: deploy templates, 5)."""

import json
from typing import ClassVar

import falcon.asgi

from shipyard_api.api.http.errors import BodyIncomplete, InvalidAddress
from shipyard_api.api.ironic.error_answers import install
from shipyard_api.domain.errors import TooManyRequests
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.identity import PolicyBroken
from shipyard_api.ports.state.errors import StoreFull, StoreUnavailable, UnsuitableDatabase
from tests.integration.api.in_process import Client
from tests.unit.tables import every_row


class Failing:
    """A resource that fails as a test wants it to."""

    error: ClassVar[Exception]

    async def on_get(self, _req: falcon.Request, _resp: falcon.Response) -> None:
        raise self.error


FAILURES = {
    "writes": (TooManyRequests(2.5), 429, "Wait 3 s", "3"),
    "half a body": (BodyIncomplete(10, 4), 400, "4 of 10 bytes", None),
    "address": (InvalidAddress("query", 255), 400, "query", None),
    "database": (StoreUnavailable("secret"), 503, "Ask again", "5"),
    "full": (StoreFull("secret"), 503, "is full", "5"),
    "schema": (UnsuitableDatabase("secret"), 503, "another release", None),
    "Keystone": (Unavailable("Keystone", "validate", "secret"), 503, "does not answer", "5"),
    "policy": (PolicyBroken("secret"), 500, "policy", None),
    "a bug": (KeyError("secret"), 500, "Unhandled KeyError", None),
}


@every_row(FAILURES)
def test_a_failure_is_answered_in_the_form_of_resources(
    error: Exception, code: int, says: str, pause: str | None
) -> None:
    app = falcon.asgi.App()
    install(app)
    Failing.error = error
    app.add_route("/", Failing())

    answer = Client(app).simulate_get("/")

    inner = json.loads(answer.json["error_message"])
    assert answer.status_code == code
    assert (inner["faultcode"], inner["debuginfo"]) == ("Server" if code >= 500 else "Client", None)
    assert says in inner["faultstring"]
    assert "secret" not in answer.text
    assert answer.headers.get("Retry-After") == pause
