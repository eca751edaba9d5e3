"""In which order a request is checked (contract: shipyard-rest, 1); methods and paths are in the wire cases."""

from typing import Any

from tests.integration.api.wire import JSON, V1, Caller, Site


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
