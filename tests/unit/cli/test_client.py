"""The client of the API: addresses, tokens, connections, and writes whose answer is lost."""

import uuid

import pytest

from tests.unit.cli.fake_api import TOKEN, Reply
from tests.unit.cli.samples import ID
from tests.unit.tables import table


@pytest.mark.parametrize("end", ["/", "/api/v1.0"])
def test_the_address_may_end_in_the_version_or_not(api, run, end):
    api.replies["GET /actions"] = Reply(200, [])
    assert run("--url", api.url + end, "get", "actions").exit_code == 0
    assert api.requests[0].path == "/api/v1.0/actions"


def test_debug_says_what_was_asked_without_the_token(api, run):
    api.replies["GET /actions"] = Reply(200, [])
    result = run("--debug", "get", "actions")
    assert "GET /actions 200 2 bytes" in result.stderr
    assert "request request-1" in result.stderr
    assert TOKEN not in result.output


def test_a_token_that_http_forbids_is_refused_without_showing_it(run):
    result = run("get", "actions", SHIPYARD_TOKEN="sécret\n")
    assert result.exit_code == 1
    assert "the header X-Auth-Token holds characters" in result.stdout
    assert "cret" not in result.stdout.replace("secret", "")


def test_a_name_and_a_password_without_a_keystone_are_not_sent(api, run):
    result = run("get", "actions", SHIPYARD_TOKEN="", OS_USERNAME="me", OS_PASSWORD="secret-pass")
    assert (result.exit_code, api.requests) == (1, [])
    assert result.stdout.startswith("Error: Missing the Keystone that OS_USERNAME and OS_PASSWORD are for: ")
    assert "secret-pass" not in result.output


CREATED = Reply(201, {"id": ID, "name": "deploy_site"})
LOST = Reply(201, {"id": ID}, cut=True)
OURS = {"paths": {"/api/v1.0/actions": {"post": {"parameters": [{"name": "Idempotency-Key", "in": "header"}]}}}}
# As upstream's server, which has no such description at all, and as one of ours from before keys were known.
OTHERS = {"none": Reply(404, {}), "older": Reply(200, {"paths": {"/api/v1.0/actions": {"post": {}}}})}


def keys(api):
    """The keys of the requests that started an action."""
    posts = [request for request in api.requests if request.method == "POST" and not request.path.endswith("/plans")]
    return [request.headers["idempotency-key"] for request in posts]


def test_every_start_of_an_action_has_a_key_of_its_own(api, run):
    api.replies["POST /actions"] = CREATED
    for _ in range(2):
        assert run("create", "action", "deploy_site").exit_code == 0
    first, second = keys(api)
    assert uuid.UUID(first) != uuid.UUID(second)


def test_a_lost_answer_is_asked_for_once_more_with_the_same_key(api, run):
    api.replies |= {"POST /actions": [LOST, CREATED], "GET /openapi.json": Reply(200, OURS)}
    result = run("create", "action", "deploy_site")
    assert (result.exit_code, f"action/{ID}" in result.stdout) == (0, True)
    first, second = keys(api)
    assert first == second


def test_an_answer_that_is_lost_again_is_an_error(api, run):
    api.replies |= {"POST /actions": LOST, "GET /openapi.json": Reply(200, OURS)}
    result = run("create", "action", "deploy_site")
    assert (result.exit_code, len(keys(api))) == (1, 2)
    assert result.stdout.startswith("Error: Client Error: Shipyard POST /actions: the answer of ")
    assert result.stdout.endswith(PERHAPS)


PROXIES = {
    "503, JSON of its own": Reply(503, {"error": "no upstream"}),
    "504": Reply(504, b"", "text/html"),
}
PERHAPS = "\nThe server may have done it: check before you send it again.\n"


@table("proxy", PROXIES)
def test_an_answer_of_a_proxy_is_a_lost_answer(api, run, proxy):
    api.replies |= {"POST /actions": [proxy, CREATED], "GET /openapi.json": Reply(200, OURS)}
    result = run("create", "action", "deploy_site")
    assert (result.exit_code, f"action/{ID}" in result.stdout) == (0, True)
    first, second = keys(api)
    assert first == second


RETRY = f"POST /actions/{ID}/control/retry"
CONTROL = "/api/v1.0/actions/{action_id}/control/{control_verb}"


def test_a_lost_retry_may_have_been_done(api, run):
    """Our own server knows no key there: a second retry of the same action is refused by its state, or is a new one."""
    api.replies |= {
        "POST /plans": Reply(200, {"refused": None, "totals": {"nodes": 0, "kept": 0}}),
        RETRY: [LOST, CREATED],
        "GET /openapi.json": Reply(200, OURS),
    }
    result = run("retry", ID)
    assert (result.exit_code, len(keys(api))) == (1, 1)
    assert result.stdout.endswith(PERHAPS)


def test_a_lost_retry_is_asked_for_again_where_the_server_knows_keys_there(api, run):
    described = {"paths": {CONTROL: OURS["paths"]["/api/v1.0/actions"]}}
    api.replies |= {RETRY: [LOST, CREATED], "GET /openapi.json": Reply(200, described)}
    assert run("--output-format=raw", "retry", ID).exit_code == 0
    first, second = keys(api)
    assert first == second


@table("description", OTHERS)
def test_a_server_that_knows_no_keys_is_not_asked_twice(api, run, description):
    api.replies |= {"POST /actions": [LOST, CREATED], "GET /openapi.json": description}
    result = run("create", "action", "deploy_site")
    assert (result.exit_code, len(keys(api))) == (1, 1)
    assert result.stdout.endswith("\nThe server may have done it: check before you send it again.\n")


NEVER_SENT = {
    "nobody there": ({"url": "http://127.0.0.1:1"}, "no connection to 127.0.0.1:1"),
    "no such port": ({"url": "http://127.0.0.1:99999"}, "a base URL must have a port of 0 to 65535, or none"),
    "no certificates": (
        {"url": "https://127.0.0.1:1", "REQUESTS_CA_BUNDLE": "/none.pem"},
        "the file of trusted certificates /none.pem does not exist",
    ),
}


@table(("given", "text"), NEVER_SENT)
def test_a_request_that_never_arrived_is_not_said_to_have_been_done(run, given, text):
    result = run("create", "action", "deploy_site", **given)
    assert (result.exit_code, text in result.stdout) == (1, True)
    assert "all the same" not in result.stdout


def test_a_server_that_does_not_speak_tls_was_not_asked(api, run):
    result = run("create", "action", "deploy_site", url=api.url.replace("http:", "https:"))
    assert (result.exit_code, api.requests) == (1, [])
    assert result.stdout.endswith("; without TLS an address begins with http://\n")


def test_an_answer_that_says_no_is_an_answer(api, run):
    api.replies["POST /actions"] = Reply(503, {"message": "Later", "reason": "Starting"})
    result = run("create", "action", "deploy_site")
    assert (result.exit_code, result.stdout, len(api.requests)) == (1, "Error: Later\nReason: Starting\n", 1)
