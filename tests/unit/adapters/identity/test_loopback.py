"""Which requests come from this very machine, and from nobody that it only passes on."""

import logging
from typing import Any

import pytest

from shipyard_api.adapters.identity.loopback import LoopbackIdentities, open_to_others
from shipyard_api.domain.error_kinds import Forbidden
from shipyard_api.ports.identity import ACCEPTED
from tests.unit.tables import every_row


def request(**changes: Any) -> dict[str, Any]:
    made = {"wsgi.url_scheme": "http", "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:9000"}
    made |= {"SERVER_PROTOCOL": "HTTP/1.1", **changes}
    return {name: value for name, value in made.items() if value is not None}


HERE: dict[str, dict[str, Any]] = {
    "as curl asks": {},
    "over IPv6": {"REMOTE_ADDR": "::1", "HTTP_HOST": "[::1]:9000"},
    "by name": {"HTTP_HOST": "localhost:9000"},
    "by name without a port": {"HTTP_HOST": "localhost"},
    "by a capital name": {"HTTP_HOST": "LOCALHOST"},
    "another address of loopback": {"REMOTE_ADDR": "127.8.9.10", "HTTP_HOST": "127.8.9.10"},
    "IPv4 in IPv6": {"REMOTE_ADDR": "::ffff:127.0.0.1"},
    "over a unix socket": {"REMOTE_ADDR": "", "HTTP_HOST": "localhost", ACCEPTED: ""},
    "accepted on loopback": {ACCEPTED: "127.0.0.1"},
    "accepted on IPv6 loopback": {ACCEPTED: "::1"},
    "a page of ours": {"HTTP_ORIGIN": "http://127.0.0.1:9000", "HTTP_SEC_FETCH_SITE": "same-origin"},
    "a page of ours on the usual port": {"HTTP_HOST": "localhost", "HTTP_ORIGIN": "http://localhost:80"},
    "typed into a browser": {"HTTP_SEC_FETCH_SITE": "none"},
    "as our command line asks": {
        "HTTP_ACCEPT_ENCODING": "identity",
        "HTTP_CONNECTION": "keep-alive",
        "HTTP_X_CONTEXT_MARKER": "m",
        "HTTP_X_AUTH_TOKEN": "t",
        "HTTP_IDEMPOTENCY_KEY": "k",
    },
    "as Python's urllib asks": {"HTTP_CONNECTION": "close", "HTTP_USER_AGENT": "Python-urllib/3.11"},
    "NOT NOTICED: nginx from 1.29.7 on, or any proxy that speaks 1.1 and adds nothing": {"HTTP_CONNECTION": None},
}
NOT_HERE: dict[str, tuple[dict[str, Any], str]] = {
    "from another machine": ({"REMOTE_ADDR": "10.0.0.5"}, "comes from elsewhere"),
    "from another machine, IPv6": ({"REMOTE_ADDR": "fd00::5"}, "comes from elsewhere"),
    "from what is no address": ({"REMOTE_ADDR": "localhost.evil.example"}, "comes from elsewhere"),
    "accepted on all addresses": ({ACCEPTED: "10.0.0.1"}, "others can reach"),
    "addressed to a name that leads here": ({"HTTP_HOST": "evil.example:9000"}, "(Host)"),
    "addressed to a name below ours": ({"HTTP_HOST": "localhost.evil.example"}, "(Host)"),
    "addressed to nobody": ({"HTTP_HOST": None}, "(Host)"),
    "addressed to nothing": ({"HTTP_HOST": ""}, "(Host)"),
    "addressed with a user": ({"HTTP_HOST": "x@127.0.0.1"}, "(Host)"),
    "addressed to an address and more": ({"HTTP_HOST": "127.0.0.1/evil.example"}, "(Host)"),
    "addressed to a port that is none": ({"HTTP_HOST": "127.0.0.1:port"}, "(Host)"),
    "a page of another site": ({"HTTP_ORIGIN": "https://evil.example"}, "(Origin)"),
    "a page on another port": ({"HTTP_ORIGIN": "http://127.0.0.1:8000"}, "(Origin)"),
    "a page by another name": ({"HTTP_ORIGIN": "http://localhost:9000"}, "(Origin)"),
    "a page by another scheme": ({"HTTP_ORIGIN": "https://127.0.0.1:9000"}, "(Origin)"),
    "a page in a box": ({"HTTP_ORIGIN": "null"}, "(Origin)"),
    "an origin that is none": ({"HTTP_ORIGIN": "http://[::1"}, "(Origin)"),
    "an image on another site": ({"HTTP_SEC_FETCH_SITE": "cross-site"}, "(Sec-Fetch-Site)"),
    "a page on another port, without Origin": ({"HTTP_SEC_FETCH_SITE": "same-site"}, "(Sec-Fetch-Site)"),
    "passed on": ({"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, "by a proxy"),
    "passed on, as the standard says": ({"HTTP_FORWARDED": "for=127.0.0.1"}, "by a proxy"),
    "passed on to a host": ({"HTTP_X_FORWARDED_HOST": "localhost"}, "by a proxy"),
    "passed on by nginx": ({"HTTP_X_REAL_IP": "127.0.0.1"}, "by a proxy"),
    "passed on by a cache": ({"HTTP_VIA": "1.1 cache"}, "by a proxy (Via)"),
    "passed on by nginx without a word, before 1.29.7": (
        {"SERVER_PROTOCOL": "HTTP/1.0", "HTTP_CONNECTION": "close"},
        "by a proxy, or by a client that speaks HTTP/1.0",
    ),
    "passed on in the oldest way": ({"SERVER_PROTOCOL": "HTTP/0.9"}, "by a proxy"),
    **{
        f"passed on with {name}": ({f"HTTP_{name.upper().replace('-', '_')}": "x"}, f"by a proxy ({name})")
        for name in (
            "X-Forwarded-Proto",
            "X-Forwarded-Port",
            "X-Forwarded-Server",
            "X-Forwarded-Prefix",
            "X-Forwarded-Anything",
            "X-Forwarded",
            "X-Forward-For",
            "Forwarded-For",
            "X-Client-Ip",
            "Client-Ip",
            "True-Client-Ip",
            "Cf-Connecting-Ip",
            "Cf-Ray",
            "Cdn-Loop",
            "Fly-Client-Ip",
            "X-Original-Url",
            "X-Original-Host",
            "X-Originating-Ip",
            "X-Envoy-External-Address",
            "X-Cluster-Client-Ip",
            "X-Amzn-Trace-Id",
            "X-Varnish",
            "X-Scheme",
            "Max-Forwards",
        )
    },
}


@every_row(HERE)
def test_whoever_is_here_is_an_administrator(changes: dict[str, Any]) -> None:
    found = LoopbackIdentities().of(request(**changes))

    assert (found.user, found.key, found.roles) == ("anonymous", "anonymous", {"admin"})


@every_row(NOT_HERE)
def test_whoever_is_not_here_is_told_why_they_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(Forbidden) as caught:
        LoopbackIdentities().of(request(**changes))

    assert caught.value.data["detail"].startswith("Without identities ([identity] kind = none)")
    assert told in caught.value.data["detail"]


def test_that_everybody_is_an_administrator_is_said_at_start(caplog: pytest.LogCaptureFixture) -> None:
    LoopbackIdentities()

    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "through a local proxy" in record.message


@every_row(
    {
        "loopback": (("127.0.0.1", 9000), []),
        "loopback, IPv6": (("::1", 9000, 0, 0), []),
        "a path": ("/run/shipyard.sock", []),
        "a socket without a name": ("", []),
        "every address": (("0.0.0.0", 9000), ["0.0.0.0:9000"]),
        "every address, IPv6": (("::", 9000, 0, 0), ["[::]:9000"]),
        "one that others see": (("192.168.1.4", 80), ["192.168.1.4:80"]),
    },
)
def test_which_sockets_other_machines_reach(address: object, shown: list[str]) -> None:
    assert open_to_others([("127.0.0.1", 1), address]) == shown
