"""Failures that have nothing to do with templates, in the forms of Ironic's errors (contract: deploy templates, 5)."""

import json

import falcon

from shipyard_api.api.http.errors import BodyIncomplete, Fault, InvalidAddress
from shipyard_api.api.http.problems import Problem
from shipyard_api.api.ironic.error_answers import install, problem
from shipyard_api.api.ironic.reading import NotServed, TooDeep
from shipyard_api.domain.deploy_steps.errors import InvalidTemplate
from shipyard_api.domain.deploy_steps.templates import DUPLICATE_STEP
from shipyard_api.domain.error_kinds import Forbidden, Unauthenticated
from shipyard_api.domain.errors import TooManyRequests
from shipyard_api.domain.findings import error
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.identity import PolicyBroken
from shipyard_api.ports.state.errors import StoreFull, StoreUnavailable, UnsuitableDatabase
from tests.unit.api.failing import failure
from tests.unit.tables import every_row

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
    answer = failure(install, error)

    inner = json.loads(answer.json["error_message"])
    assert answer.status_code == code
    assert (inner["faultcode"], inner["debuginfo"]) == ("Server" if code >= 500 else "Client", None)
    assert says in inner["faultstring"]
    assert "secret" not in answer.text
    assert answer.headers.get("Retry-After") == pause


def test_faults_and_unknown_callers_have_their_own_forms() -> None:
    fault = failure(install, Fault("'size' is not a number."))
    assert (fault.status_code, json.loads(fault.json["error_message"])["faultstring"]) == (
        400,
        "'size' is not a number.",
    )
    served = failure(install, NotServed("Nodes are not served.", falcon.HTTP_404))
    assert (served.status_code, "Nodes are not served." in served.text, "faultcode" in served.text) == (
        404,
        True,
        False,
    )
    unknown = failure(install, Unauthenticated(False))
    assert (unknown.status_code, unknown.json["error"]["title"]) == (401, "Unauthorized")


TWICE, WRONG = error(DUPLICATE_STEP, "Twice."), error("Other", "Wrong.")
DENIED = "Access was denied to the following resource: baremetal:deploy_template:get"


@every_row(
    {
        "a fault": (Fault("No."), Problem(None, "No."), {}),
        "too deep": (TooDeep("No."), Problem(None, "No."), {}),
        "not served": (NotServed("No.", falcon.HTTP_404), Problem("Not Found", "No."), {}),
        "of the framework": (
            falcon.HTTPMethodNotAllowed(["PUT"]),
            Problem("Method Not Allowed", "405 Method Not Allowed"),
            {"Allow": "PUT"},
        ),
        "with a text": (falcon.HTTPBadRequest(description="No."), Problem("Bad Request", "No."), {}),
        "unknown": (
            Unauthenticated(False),
            Problem("Unauthorized", "The request you have made requires authentication."),
            {"WWW-Authenticate": "Keystone"},
        ),
        "forbidden": (Forbidden(), Problem(None, DENIED), {}),
        "a step twice": (InvalidTemplate([TWICE, TWICE]), Problem(None, "Deploy template invalid: Twice. Twice."), {}),
        "and more": (InvalidTemplate([TWICE, WRONG]), Problem(None, "Schema error for template: Twice. Wrong."), {}),
    }
)
def test_the_problem_is_found_in_every_form(raised: Exception, found: Problem, headers: dict[str, str]) -> None:
    answer = failure(install, raised)

    assert problem(answer.json) == found
    assert {name: answer.headers.get(name) for name in headers} == headers
    assert ("error_message" in answer.json) is not isinstance(raised, TooDeep | Unauthenticated)
    assert isinstance(raised, Unauthenticated) is (answer.json.get("error", {}).get("code") == 401)
