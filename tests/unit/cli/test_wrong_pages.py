"""What a proxy puts in the place of an answer is an error in every form (contract: shipyard-cli, 4)."""

import pytest

from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID

PAGE = b"<html>Sign in</html>"
DECODED = "Error: Unable to decode response. Value: <html>Sign in</html>\n"
COMMANDS = {
    "actions": ("get actions", "/actions"),
    "rendered": ("get renderedconfigdocs", "/renderedconfigdocs"),
    "collection": ("get configdocs --collection=c", "/configdocs/c"),
    "logs": (f"logs step/{ID}/preflight", f"/actions/{ID}/steps/preflight/logs"),
    "note": (f"describe notedetails {ID}", f"/notedetails/{ID}"),
    "nodes": ("get nodes", "/nodes"),
}


@pytest.mark.parametrize("form", ["cli", "format", "raw"])
@pytest.mark.parametrize(("line", "path"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_login_page_is_no_success(api, run, line, path, form):
    api.replies[f"GET {path}"] = Reply(200, PAGE, "text/html; charset=utf-8")
    result = run("--output-format", form, *line.split())
    assert (result.exit_code, result.stdout) == (1, DECODED)


@pytest.mark.parametrize("form", ["cli", "format"])
def test_a_page_of_a_proxy_is_not_laid_out(api, run, form):
    api.replies["GET /actions"] = Reply(502, PAGE, "text/html")
    assert run("--output-format", form, "get", "actions").stdout == DECODED


def test_a_created_action_is_json_in_the_raw_form_too(api, run):
    api.replies["POST /actions"] = Reply(201, PAGE, "text/html")
    result = run("--output-format=raw", "create", "action", "deploy_site")
    assert (result.exit_code, result.stdout) == (1, DECODED)


# As the contract has them (rest, 1): documents are YAML, and even raw text is called JSON.
UPSTREAM = {
    "rendered": ("get renderedconfigdocs", "/renderedconfigdocs", b"a: 1\n", "application/x-yaml"),
    "logs": (f"logs step/{ID}/preflight", f"/actions/{ID}/steps/preflight/logs", b"a log", "application/json"),
    "note": (f"describe notedetails {ID}", f"/notedetails/{ID}", b"a note", "application/json; charset=UTF-8"),
    "no type": ("get renderedconfigdocs", "/renderedconfigdocs", b"a: 1\n", ""),
    "JSON of a careless proxy": ("get actions", "/actions", b"[]", "text/plain"),
}


@pytest.mark.parametrize("form", ["cli", "format", "raw"])
@pytest.mark.parametrize(("line", "path", "body", "kind"), UPSTREAM.values(), ids=UPSTREAM.keys())
def test_what_other_servers_call_their_answers_is_taken(api, run, line, path, body, kind, form):
    api.replies[f"GET {path}"] = Reply(200, body, kind)
    assert run("--output-format", form, *line.split()).exit_code == 0
