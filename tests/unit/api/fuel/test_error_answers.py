"""Errors in Fuel's form (contract: fuel-task-graph, 5)."""

import falcon

from shipyard_api.api.fuel.error_answers import install
from shipyard_api.api.http.errors import BodyIncomplete, Fault
from shipyard_api.domain.error_kinds import Forbidden, Unauthenticated
from shipyard_api.domain.errors import InvalidDesign, TooManyRequests
from shipyard_api.domain.findings import error
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.state.errors import StoreUnavailable
from tests.unit.api.failing import failure
from tests.unit.tables import every_row

UNFIT = [error("UnknownTask", "Task 'a' is not in this graph.", path="/0/requires")]


@every_row(
    {
        "a fault": (Fault("'size' is not a number."), 400, "'size' is not a number.", None),
        "of the framework": (falcon.HTTPInvalidParam("It is no number.", "limit"), 400, "limit", None),
        "not served": (falcon.HTTPRouteNotFound(), 404, "GET / is not served. Of Fuel's API, Shipyard has ", None),
        "a method": (
            falcon.HTTPMethodNotAllowed(["PUT", "OPTIONS"]),
            405,
            "GET / is not served: this address takes ",
            None,
        ),
        "unknown": (Unauthenticated(False), 401, "Authentication required", None),
        "forbidden": (Forbidden(), 403, "Access was denied", None),
        "writes": (TooManyRequests(2.5), 429, "3 s", "3"),
        "half a body": (BodyIncomplete(10, 4), 400, "4 of 10 bytes", None),
        "a design": (InvalidDesign(UNFIT), 409, "", None),
        "database": (StoreUnavailable("secret"), 503, "Ask again", "5"),
        "Keystone": (Unavailable("Keystone", "validate", "secret"), 503, "does not answer", "5"),
        "a bug": (KeyError("secret"), 500, "Unhandled KeyError", None),
    }
)
def test_a_failure_has_a_message_and_its_findings(raised: Exception, code: int, says: str, pause: str | None) -> None:
    answer = failure(install, raised)

    assert (answer.status_code, set(answer.json)) == (code, {"message", "errors"})
    assert says in answer.json["message"]
    assert "secret" not in answer.text
    assert answer.headers.get("Retry-After") == pause
    expected = [{"name": "UnknownTask", "path": "/0/requires", "message": "Task 'a' is not in this graph."}]
    assert answer.json["errors"] == (expected if code == 409 else [])
