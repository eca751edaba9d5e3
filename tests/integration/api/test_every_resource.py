"""What the contract says of every resource: methods, paths, in which order things are checked (shipyard-rest, 1)."""

import uuid
from typing import Any

import falcon
import pytest

from tests.integration.api.wire import JSON, V1, Caller, Site, small_design

GET, POST, BOTH = "GET, OPTIONS", "OPTIONS, POST", "GET, OPTIONS, POST"
# The address space of the contract; "x" stands for any one segment.
SPACE = {
    "/versions": GET,
    f"{V1}/health": GET,
    f"{V1}/configdocs": GET,
    f"{V1}/configdocs/x": BOTH,
    f"{V1}/renderedconfigdocs": GET,
    f"{V1}/commitconfigdocs": POST,
    f"{V1}/actions": BOTH,
    f"{V1}/actions/x": GET,
    f"{V1}/actions/x/control/x": POST,
    f"{V1}/actions/x/validations/x": GET,
    f"{V1}/actions/x/steps/x": GET,
    f"{V1}/actions/x/steps/x/logs": GET,
    f"{V1}/notedetails/x": GET,
    f"{V1}/workflows": GET,
    f"{V1}/workflows/x": GET,
    f"{V1}/site_statuses": GET,
}


@pytest.mark.parametrize(("path", "allowed"), SPACE.items(), ids=list(SPACE))
def test_options_name_the_methods_of_the_contract(site: Site, path: str, allowed: str) -> None:
    answer = site.nobody.ask("OPTIONS", path)

    assert (answer.status, answer.content, answer.headers["Allow"]) == (falcon.HTTP_200, b"", allowed)
    assert uuid.UUID(answer.headers["X-Shipyard-Req"])


@pytest.mark.parametrize(("path", "allowed"), SPACE.items(), ids=list(SPACE))
def test_any_other_method_is_refused_before_anybody_is_asked_who_they_are(site: Site, path: str, allowed: str) -> None:
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - set(allowed.split(", ")):
        answer = site.nobody.ask(method, path)
        (entry,) = answer.json["details"]["messageList"]
        assert entry["message"].startswith(f"{path} does not take {method}; it takes ")
        assert answer.json == {
            "kind": "status",
            "apiVersion": "v1.0" if path.startswith(V1) else "N/A",
            "metadata": {},
            "status": "Failure",
            "message": None,
            "reason": "405 Method Not Allowed",
            "details": {
                "errorType": "HTTPMethodNotAllowed",
                "errorCount": 1,
                "messageList": [entry],
            },
            "code": "405 Method Not Allowed",
            "retry": False,
        }
        assert set(answer.headers["Allow"].split(", ")) == set(allowed.split(", "))
    assert site.nobody.ask("HEAD", path).status == falcon.HTTP_405


@pytest.mark.parametrize(
    "path",
    [
        V1,
        f"{V1}/",
        "/api/v1.1/actions",
        f"{V1}/Actions",
        f"{V1}/health/",
        f"{V1}/actions/a/b",
        f"{V1}/actions/a/steps",
        f"{V1}/actions/a/steps/b/logs/c",
        f"{V1}/actions/a/steps/b/c",
        f"{V1}/workflows/a/b",
        f"{V1}/configdocs/a/b",
        f"{V1}/actions//a",
    ],
)
def test_no_path_but_these_is_one(site: Site, path: str) -> None:
    answer = site.nobody.ask("GET", path)

    assert (answer.status, answer.json["message"], answer.json["reason"]) == (
        falcon.HTTP_404,
        None,
        "404 Not Found",
    )
    assert answer.json["details"]["errorType"] == "HTTPRouteNotFound"
    assert uuid.UUID(answer.headers["X-Shipyard-Req"])


SLASHES = {
    "/actions/": (falcon.HTTP_404, "Action not found", "Unknown Action: "),
    "/actions/ACTION/steps/": (falcon.HTTP_404, "Step not found", "Unknown step "),
    "/actions/ACTION/validations/": (falcon.HTTP_404, "Validation not found", "Unknown validation "),
    "/actions//steps/x": (falcon.HTTP_404, "Action not found", "Unknown action "),
    "/actions//steps/x/logs": (falcon.HTTP_400, "Invalid Action ID!", "An invalid action ID was specified"),
    "/actions//validations/x": (falcon.HTTP_404, "Action not found", "Unknown action "),
    "/notedetails/": (
        falcon.HTTP_400,
        "Notes ID values are 26 character ULID values",
        "Invalid note_id:  in URL",
    ),
    "/workflows/": (
        falcon.HTTP_400,
        "Invalid Workflow ID specified",
        "Workflow id must use {dag id}__{execution date} format",
    ),
}


@pytest.mark.parametrize(("path", "expected"), SLASHES.items(), ids=list(SLASHES))
def test_what_is_empty_in_a_path_is_an_id_like_any_other(site: Site, path: str, expected: tuple[str, str, str]) -> None:
    site.commit(*small_design())

    answer = site.viewer.get(path.replace("ACTION", site.create_action()))

    assert (answer.status, answer.json["message"], answer.json["reason"]) == expected


def test_an_action_that_there_is_not_has_its_own_words_at_each_resource(site: Site) -> None:
    unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    said = {
        path: (site.viewer if method == "GET" else site.admin).ask(method, f"{V1}/actions/{unknown}{path}").json
        for path, method in {
            "": "GET",
            "/steps/x": "GET",
            "/steps/x/logs": "GET",
            "/validations/x": "GET",
            "/control/stop": "POST",
        }.items()
    }

    assert {path: (one["message"], one["reason"]) for path, one in said.items()} == {
        "": ("Action not found", f"Unknown Action: {unknown}"),
        "/steps/x": ("Action not found", f"Unknown action {unknown}"),
        "/steps/x/logs": ("Action Not Found!", f"Unknown Action {unknown}"),
        "/validations/x": ("Action not found", f"Unknown action {unknown}"),
        "/control/stop": ("Action not found", f"Unknown action {unknown}"),
    }


def asks(caller: Caller, method: str, path: str, **request: Any) -> tuple[int, str]:
    answer = caller.ask(method, f"{V1}{path}", **request)
    return answer.status_code, str(answer.json["message"])


def test_verbosity_comes_first_then_the_route_who_asks_the_body_and_the_parameters(site: Site) -> None:
    wrong = "verbosity=9&allow-intermediate-commits=perhaps&try=x&limit=x"
    params = wrong.partition("&")[2]
    verbosity = (400, "Invalid verbosity parameter")

    assert asks(site.nobody, "GET", "/nowhere", query=wrong) == verbosity
    assert asks(site.nobody, "DELETE", "/actions", query=wrong) == verbosity
    assert asks(site.nobody, "POST", "/actions", query=wrong) == verbosity
    assert asks(site.nobody, "DELETE", "/actions", query=params)[0] == 405
    for path in ("/actions", "/actions/x/steps/x/logs", "/workflows"):
        assert asks(site.nobody, "GET", path, query=params) == (401, "Unauthenticated")
        assert asks(site.peer, "GET", path, query=params) == (403, "Forbidden")
    assert asks(site.nobody, "POST", "/actions", query=params, body="{") == (401, "Unauthenticated")
    assert asks(site.viewer, "POST", "/actions", query=params, body="{") == (403, "Forbidden")
    bad_json = {"query": params, "body": "{", "headers": JSON}
    assert asks(site.admin, "POST", "/actions", **bad_json) == (400, "JSON could not be decoded")
    good_json = {"query": params, "body": '{"name": "deploy_site"}', "headers": JSON}
    code, message = asks(site.admin, "POST", "/actions", **good_json)
    assert (code, message.partition(" parameter")[0]) == (400, 'The "allow-intermediate-commits"')
