"""Signing in through a Keystone (contract: shipyard-cli, 1.1 and 1.2): what it is asked, and what Shipyard is sent."""

import pytest

from tests.unit.cli.fake_api import Reply
from tests.unit.cli.fake_keystone import PASSWORD, FakeKeystone
from tests.unit.tables import table

NOBODY = {"SHIPYARD_URL": "", "SHIPYARD_TOKEN": ""}


@pytest.fixture
def keystone(api):
    api.replies["GET /actions"] = Reply(200, [])
    return FakeKeystone(api)


@pytest.fixture
def sign_in(run, keystone):
    """Run `get actions` with these variables and nothing of our own."""

    def invoke(*words, **environment):
        password = {"OS_USERNAME": "operator", "OS_PASSWORD": PASSWORD, "OS_USER_DOMAIN_NAME": "people"}
        given = {"OS_AUTH_URL": keystone.url, "OS_PROJECT_NAME": "sites"} | password | environment
        return run(*words, "get", "actions", **NOBODY, **given)

    return invoke


def asked(api):
    """The paths that were asked for, in order."""
    return [f"{request.method} {request.path}" for request in api.requests]


def test_a_password_gets_a_token_for_a_project_and_the_address_in_one_login(api, keystone, sign_in):
    assert sign_in().exit_code == 0
    (login,) = keystone.logins
    assert login["identity"] == {
        "methods": ["password"],
        "password": {"user": {"name": "operator", "domain": {"name": "people"}, "password": PASSWORD}},
    }
    assert login["scope"] == {"project": {"name": "sites", "domain": {"name": "default"}}}
    assert asked(api) == ["POST /v3/auth/tokens", "GET /api/v1.0/actions"]
    assert api.requests[-1].headers["x-auth-token"] == "token-1"
    assert api.requests[-1].query == [("verbosity", "1")]


SCOPES = {
    "project's domain": (
        {"OS_PROJECT_DOMAIN_NAME": "north"},
        {"project": {"name": "sites", "domain": {"name": "north"}}},
    ),
    "domain": ({"OS_PROJECT_NAME": "", "OS_DOMAIN_NAME": "north"}, {"domain": {"name": "north"}}),
}


@table(("given", "scope"), SCOPES)
def test_what_the_token_is_for(keystone, sign_in, given, scope):
    assert sign_in(**given).exit_code == 0
    assert keystone.logins[0]["scope"] == scope


def test_options_say_the_same_as_variables(api, run, keystone):
    options = {
        "auth-url": keystone.url,
        "username": "operator",
        "password": PASSWORD,
        "user-domain-name": "people",
        "project-name": "sites",
        "project-domain-name": "north",
    }
    words = [part for name, value in options.items() for part in (f"--os-{name}", value)]
    assert run(*words, "get", "actions", **NOBODY).exit_code == 0
    assert keystone.logins[0]["scope"] == {"project": {"name": "sites", "domain": {"name": "north"}}}
    assert api.requests[-1].headers["x-auth-token"] == "token-1"


def test_the_domain_of_the_user_is_default_unless_said(keystone, sign_in):
    sign_in(OS_USER_DOMAIN_NAME="")
    assert keystone.logins[0]["identity"]["password"]["user"]["domain"] == {"name": "default"}


def test_a_token_of_the_environment_goes_out_as_it_is_and_its_own_catalog_has_the_address(api, keystone, sign_in):
    """Nothing but the token is needed: a login that names no project would have no catalog."""
    result = sign_in(OS_AUTH_TOKEN=keystone.scoped, OS_USERNAME="", OS_PASSWORD="", OS_PROJECT_NAME="")
    assert result.exit_code == 0
    assert asked(api) == ["GET /v3/auth/catalog", "GET /api/v1.0/actions"]
    assert [request.headers["x-auth-token"] for request in api.requests] == [keystone.scoped] * 2


def test_a_token_for_nothing_finds_the_address_if_a_project_is_named_and_still_goes_out_as_it_is(
    api, keystone, sign_in
):
    assert sign_in(OS_AUTH_TOKEN=keystone.unscoped).exit_code == 0
    (login,) = keystone.logins
    assert login["identity"] == {"methods": ["token"], "token": {"id": keystone.unscoped}}
    assert login["scope"] == {"project": {"name": "sites", "domain": {"name": "default"}}}
    assert api.requests[-1].headers["x-auth-token"] == keystone.unscoped


def test_a_token_on_the_command_line_is_exchanged_for_a_new_one(api, keystone, sign_in):
    assert sign_in("--os-auth-token", keystone.scoped).exit_code == 0
    assert keystone.logins[0]["identity"]["methods"] == ["token"]
    assert api.requests[-1].headers["x-auth-token"] == "token-1"


OURS = {
    "url and token": ({"SHIPYARD_TOKEN": "ours"}, ["GET /api/v1.0/actions"], "ours"),
    "url and a token of Keystone": (
        {"OS_AUTH_TOKEN": FakeKeystone.unscoped},
        ["GET /api/v1.0/actions"],
        FakeKeystone.unscoped,
    ),
    "url, and nobody to sign in": ({"OS_USERNAME": "", "OS_PASSWORD": ""}, ["GET /api/v1.0/actions"], None),
}


@table(("given", "paths", "token"), OURS)
def test_with_our_own_address_no_catalog_is_needed(api, run, keystone, given, paths, token):
    who = {"OS_USERNAME": "operator", "OS_PASSWORD": PASSWORD, "OS_USER_DOMAIN_NAME": "people"}
    environment = {"SHIPYARD_TOKEN": "", "OS_AUTH_URL": keystone.url, "OS_PROJECT_NAME": "sites"} | who | given
    assert run("get", "actions", **environment).exit_code == 0
    assert asked(api) == paths
    assert api.requests[-1].headers.get("x-auth-token") == token


def test_our_own_token_is_sent_to_the_address_of_the_catalog(api, sign_in):
    assert sign_in("--token", "ours").exit_code == 0
    assert api.requests[-1].headers["x-auth-token"] == "ours"


def test_all_requests_of_a_command_share_one_login(api, keystone, run):
    api.replies["POST /plans"] = Reply(200, {"refused": None, "totals": {"nodes": 0, "kept": 0}})
    api.replies["POST /actions/01M7XV7VKPMDHXJVA7WMC7P6XP/control/retry"] = Reply(201, {"id": "2" * 26})
    given = {"OS_AUTH_URL": keystone.url, "OS_AUTH_TOKEN": keystone.scoped}
    assert run("retry", "01M7XV7VKPMDHXJVA7WMC7P6XP", **NOBODY, **given).exit_code == 0
    assert len(keystone.logins) == 0


REFUSALS = {
    "wrong password": (
        {"OS_PASSWORD": "wrong"},
        "Error: Client Error: The request you have made requires authentication. (HTTP 401)\n",
    ),
    "no password": (
        {"OS_PASSWORD": ""},
        "Error: Client Error: Keystone needs OS_USERNAME and OS_PASSWORD, or OS_AUTH_TOKEN\n",
    ),
    "nothing to work in": ({"OS_PROJECT_NAME": ""}, "Error: Client Error: The service catalog is empty.\n"),
}


@table(("given", "text"), REFUSALS)
def test_what_keystone_refuses_is_an_error_on_stdout_and_never_shows_a_secret(sign_in, given, text):
    result = sign_in(**given)
    assert (result.exit_code, result.stdout, result.stderr) == (1, text, "")


@pytest.mark.parametrize("end", ["", "/v3/"])
def test_the_address_of_keystone_may_end_in_the_version_or_not(api, sign_in, end):
    assert sign_in(OS_AUTH_URL=api.url + end).exit_code == 0


def test_an_address_of_something_else_is_asked_about(api, sign_in):
    result = sign_in(OS_AUTH_URL=f"{api.url}/else")
    assert result.exit_code == 1
    assert result.stdout.startswith("Error: Client Error: ")
    assert result.stdout.endswith("(HTTP 404); is OS_AUTH_URL the address of a Keystone?\n")


def test_a_catalog_without_shipyard_says_so(keystone, sign_in):
    keystone.catalog[0]["type"] = "identity"
    result = sign_in()
    text = "public endpoint for shipyard service not found"
    assert (result.exit_code, result.stdout) == (1, f"Error: Client Error: {text}\n")


def test_no_secret_is_in_what_debug_says(keystone, sign_in):
    result = sign_in("--debug")
    assert "Keystone's catalog has Shipyard at" in result.stderr
    assert PASSWORD not in result.output
    assert "token-1" not in result.output


ADDRESSES = {
    "a password": ("http://u:secret-pass@127.0.0.1:1/v3", "must not hold a user, a query or a fragment"),
    "no scheme": ("127.0.0.1:1/v3", "must start with http:// or https:// and name a host"),
}


@table(("url", "text"), ADDRESSES)
def test_an_address_that_cannot_be_asked_is_said_and_not_shown(sign_in, url, text):
    result = sign_in(OS_AUTH_URL=url)
    assert (result.exit_code, result.stdout) == (1, f"Error: Client Error: OS_AUTH_URL: a base URL {text}\n")


UNREACHABLE = {
    "nobody there": ({"OS_AUTH_URL": "http://127.0.0.1:1/v3"}, "no connection to 127.0.0.1:1: Connection refused"),
    "no certificates": (
        {"OS_AUTH_URL": "https://127.0.0.1:1/v3", "REQUESTS_CA_BUNDLE": "/none.pem"},
        "the file of trusted certificates /none.pem does not exist",
    ),
}


@table(("given", "text"), UNREACHABLE)
def test_a_keystone_that_cannot_be_reached_is_said_in_one_line(sign_in, given, text):
    result = sign_in(**given)
    assert (result.exit_code, result.stdout) == (1, f"Error: Client Error: Keystone: {text}\n")


def test_a_keystone_without_tls_is_said_in_our_words(api, sign_in):
    result = sign_in(OS_AUTH_URL=api.url.replace("http:", "https:"))
    assert result.exit_code == 1
    assert "HTTPSConnectionPool" not in result.stdout
    assert result.stdout.endswith("; without TLS an address begins with http://\n")
