"""How every command prints an answer: errors, other shapes, proxies, other servers (contract: shipyard-cli, 4)."""

import pytest

from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID
from tests.unit.tables import table

SHAPES = {"an object": {"x": 1}, "a list": [], "nothing": None}


@table("body", SHAPES)
def test_an_answer_of_another_shape_is_an_error_and_nothing_is_retried(api, run, body):
    api.replies["POST /plans"] = Reply(200, body)
    result = run("retry", ID)
    assert result.exit_code == 1
    assert result.stdout.startswith("Error: ")
    assert isinstance(result.exception, SystemExit)
    assert [request for request in api.requests if request.path.endswith("/control/retry")] == []


PAGE = b"<html>Sign in</html>"
DECODED = "Error: Unable to decode response. Value: <html>Sign in</html>\n"
COMMANDS = {
    "actions": ("get actions", "/actions"),
    "rendered": ("get renderedconfigdocs", "/renderedconfigdocs"),
    "logs": (f"logs step/{ID}/preflight", f"/actions/{ID}/steps/preflight/logs"),
}


@table(("line", "path"), COMMANDS)
def test_a_login_page_is_no_success(api, run, line, path):
    api.replies[f"GET {path}"] = Reply(200, PAGE, "text/html; charset=utf-8")
    for form in ("cli", "format", "raw"):
        result = run("--output-format", form, *line.split())
        assert (result.exit_code, result.stdout) == (1, DECODED), form


# As the contract has them (rest, 1): documents are YAML, and even raw text is called JSON.
UPSTREAM = {
    "rendered": ("get renderedconfigdocs", "/renderedconfigdocs", b"a: 1\n", "application/x-yaml"),
    "logs": (f"logs step/{ID}/preflight", f"/actions/{ID}/steps/preflight/logs", b"a log", "application/json"),
    "note": (f"describe notedetails {ID}", f"/notedetails/{ID}", b"a note", "application/json; charset=UTF-8"),
    "no type": ("get renderedconfigdocs", "/renderedconfigdocs", b"a: 1\n", ""),
    "JSON of a careless proxy": ("get actions", "/actions", b"[]", "text/plain"),
}


@table(("line", "path", "body", "kind"), UPSTREAM)
def test_what_other_servers_call_their_answers_is_taken(api, run, line, path, body, kind):
    api.replies[f"GET {path}"] = Reply(200, body, kind)
    for form in ("cli", "format", "raw"):
        assert run("--output-format", form, *line.split()).exit_code == 0, form


NO_STATUS = {
    "HTML": (Reply(502, PAGE, "text/html"), "- Error: 502 from {url} (GET /actions)"),
    "JSON of another shape": (Reply(503, {"error": "no upstream"}), "- Error: 503 from {url} (GET /actions)"),
    "a redirection": (
        Reply(301, b"", "text/html", {"Location": "https://site/"}),
        "- Error: 301 from {url} (GET /actions), which points to https://site/",
    ),
    "a redirection to nowhere": (Reply(302, b"", "text/html"), "- Error: 302 from {url} (GET /actions)"),
}


@table(("reply", "line"), NO_STATUS)
def test_an_error_that_is_no_status_says_who_answered_what_and_the_raw_form_says_it_on_stderr(api, run, reply, line):
    api.replies["GET /actions"] = reply
    result = run("get", "actions")
    assert (result.exit_code, result.stdout.splitlines()[-1], result.stderr) == (1, line.format(url=api.url), "")
    result = run("--output-format=raw", "get", "actions")
    assert (result.exit_code, result.stdout) == (1, f"{reply.data().decode()}\n")
    assert result.stderr == f"{line.format(url=api.url)}\n"


# Commands that upstream's server knows nothing of, with what they ask it for first that it does not have.
OURS = {
    f"watch {ID}": f"GET /actions/{ID}/groups",
    f"retry {ID}": "POST /plans",
    "get nodes": "GET /nodes",
}


@pytest.mark.parametrize(("line", "request_"), OURS.items(), ids=OURS.keys())
def test_what_upstreams_server_does_not_have_is_told(api, run, line, request_):
    api.replies |= {
        f"GET /actions/{ID}": Reply(200, {"id": ID, "action_lifecycle": "Failed"}),
        request_: Reply(404, {"title": "404 Not Found"}),
    }
    result = run(*line.split())
    assert (result.exit_code, result.stdout) == (
        1,
        "Error: Not specified\nReason: Not specified\n"
        f"- Error: 404 from {api.url} ({request_}): this server has no such address; it may be of another release\n",
    )
