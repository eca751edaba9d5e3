"""What is asked of Keystone, what each kind of answer means, and that no secret gets out."""

import traceback
from typing import Any

import pytest

from shipyard_api.adapters.keystone import KeystoneOptions, Scope
from shipyard_api.adapters.keystone.client import KeystoneClient
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from tests import simulated_keystone
from tests.peer import Answer, Peer
from tests.simulated_keystone import ACCOUNT
from tests.unit.tables import every_row

PASSWORD = "s3cret-of-shipyard"
ROUTE = "POST /v3/auth/tokens"


def endpoint(url: str, *, interface: str = "public", region: str = "RegionOne") -> dict[str, str]:
    return {"id": url, "url": url, "interface": interface, "region": region, "region_id": region}


def given(token: str = "gAAAA-token", *, catalog: tuple[dict[str, Any], ...] = (), **changes: Any) -> Answer:
    """A token for two minutes, as Keystone gives it."""
    body = {
        "methods": ["password"],
        "user": {"domain": {"id": "default", "name": "Default"}, "id": "u1", "name": "shipyard"},
        "issued_at": "2026-11-21T09:51:12.000000Z",
        "expires_at": "2026-11-21T09:53:12.000000Z",
        "catalog": list(catalog),
    }
    return Answer(201, {"token": body | changes}, {"X-Subject-Token": token})


def refused(status: int, message: str) -> Answer:
    return Answer(status, {"error": {"code": status, "message": message, "title": "Unauthorized"}})


def client(peer: Peer, **changes: Any) -> KeystoneClient:
    options = {"user": "shipyard", "password": PASSWORD, "project": "service"} | changes
    return KeystoneClient(KeystoneOptions(auth_url=peer.url, **options))


def test_a_token_is_asked_for_by_names_for_a_project_or_the_whole_system(peer: Peer) -> None:
    peer.on(ROUTE, given())
    for suffix in ("", "/", "/v3", "/v3/"):
        told = {"user": "shipyard", "password": PASSWORD, "project": "service", "user_domain": "people"}
        options = KeystoneOptions(auth_url=peer.url + suffix, project_domain="sites", **told)  # type: ignore[arg-type]
        granted = KeystoneClient(options).grant()
        assert (granted.token, granted.lifetime) == ("gAAAA-token", 120.0)
    client(peer, scope=Scope.SYSTEM, project="").grant()
    *project, system = [one.json["auth"] for one in peer.asked(ROUTE)]
    assert (
        project
        == [
            {
                "identity": {
                    "methods": ["password"],
                    "password": {"user": {"name": "shipyard", "domain": {"name": "people"}, "password": PASSWORD}},
                },
                "scope": {"project": {"name": "service", "domain": {"name": "sites"}}},
            }
        ]
        * 4
    )
    assert system["scope"] == {"system": {"all": True}}


def test_the_request_is_as_it_was_recorded_and_so_is_the_answer_to_a_wrong_one() -> None:
    told = {"user": ACCOUNT, "password": simulated_keystone.PASSWORD, "project": "service"}
    with simulated_keystone.running() as keystone:
        granted = KeystoneClient(KeystoneOptions(auth_url=keystone.url, **told)).grant()
        assert granted.token in keystone.tokens
        assert granted.endpoint("identity", interface="internal", region="RegionOne") == keystone.url
        for wrong in ({"password": PASSWORD}, {"project": "nothing"}, {"user": "nobody"}, {"user_domain": "nowhere"}):
            options = KeystoneOptions(auth_url=keystone.url, **{**told, **wrong})
            with pytest.raises(Refused) as refusal:
                KeystoneClient(options).grant()
            assert f"no token for {options.whose}; check the password" in str(refusal.value)
            assert "answered 401: The request you have made requires authentication." in str(refusal.value)
            assert options.password not in str(refusal.value)


@every_row(["", "keystone.example.org:5000", "ftp://h", "http://u:p@h"])
def test_an_address_that_is_none_is_told_at_once(address: str) -> None:
    with pytest.raises(ValueError, match="base URL"):
        KeystoneClient(KeystoneOptions(auth_url=address, user="u", password="p", project="service"))


NO_TOKEN: dict[str, tuple[Answer, type[PeerError], str]] = {
    "403": (refused(403, "no"), Refused, r"user shipyard .* for project service .*answered 403: no"),
    "something else": (refused(404, "no"), Refused, "no Identity API v3 at this address"),
    "not understood": (refused(400, "no"), Refused, "answered 400: no"),
    "leads elsewhere": (Answer(302, b"", {"Location": "http://h/"}), Refused, "answered 302"),
    "a bug": (refused(500, PASSWORD), Unavailable, "answered 500: "),
    "a proxy": (Answer(503, b"<html>"), Unavailable, r"answered 503 without a reason$"),
    "too often": (Answer(429, b"", {"Retry-After": "7"}), Busy, "answered 429"),
    "an empty object": (Answer(201, b"{}"), Unavailable, "without a readable token"),
    "no JSON": (Answer(201, b"<html>"), Unavailable, "without a readable token"),
    "a list": (Answer(201, {"token": []}, {"X-Subject-Token": "t"}), Unavailable, "without a readable token"),
    "no token in the headers": (Answer(201, given().body), Unavailable, "without a readable token"),
    "an end that is no time": (given(expires_at="soon"), Unavailable, "without a readable token"),
    "no end": (given(expires_at=None), Unavailable, "without a readable token"),
    "an end long past": (given(expires_at="2026-11-21T09:00:00Z"), Unavailable, "without a readable token"),
    "cut short": (Answer(201, b"x" * 9, cut=3), Unavailable, "cut short"),
    "an echo": (refused(401, f"Invalid password {PASSWORD}"), Refused, "Invalid password"),
}


def test_what_an_answer_without_a_token_means(peer: Peer) -> None:
    for title, (answer, error, text) in NO_TOKEN.items():
        peer.requests.clear()
        peer.on(ROUTE, answer)
        with pytest.raises(error, match=text) as raised:
            client(peer).grant()
        assert (raised.value.system, raised.value.operation) == ("Keystone", "POST /auth/tokens")
        assert len(peer.asked(ROUTE)) == 1, title
        assert getattr(raised.value, "whole_site", False) is (error is Refused), title
        told = "".join(traceback.format_exception(raised.value))
        assert PASSWORD not in told, title
        assert "gAAAA-token" not in told, title


def test_a_keystone_that_hangs_is_given_up(peer: Peer) -> None:
    peer.on(ROUTE, Answer(hang=True))
    with pytest.raises(Unavailable, match=r"longer than 0\.2 s|within 0\.2 s"):
        client(peer, read_timeout_seconds=0.2).grant()


def test_neither_options_nor_grants_show_secrets(peer: Peer) -> None:
    peer.on(ROUTE, given())
    asking = client(peer)
    granted = asking.grant()
    options = KeystoneOptions(auth_url=peer.url, user="u", password=PASSWORD)
    assert not {secret for secret in (PASSWORD, "gAAAA-token") if secret in f"{asking!r}{granted!r}{options!r}"}


CATALOG = (
    {"type": "identity", "name": "keystone", "endpoints": [endpoint("http://keystone/v3")]},
    {
        "type": "baremetal",
        "name": "ironic",
        "endpoints": [
            endpoint("http://public.one:6385"),
            endpoint("http://internal.one:6385/v1", interface="internal"),
            endpoint("http://public.two:6385", region="RegionTwo"),
        ],
    },
)


def test_an_endpoint_is_found_by_interface_and_region_or_refused_by_name(peer: Peer) -> None:
    peer.on(ROUTE, given(catalog=CATALOG))
    granted = client(peer).grant()
    for interface, region, url in (
        ("public", "", "http://public.one:6385"),
        ("internal", "", "http://internal.one:6385/v1"),
        ("public", "RegionTwo", "http://public.two:6385"),
    ):
        assert granted.endpoint("baremetal", interface=interface, region=region) == url
    for catalog, interface, region in (
        ((), "public", ""),
        (CATALOG, "admin", ""),
        (CATALOG, "public", "Three"),
        (CATALOG[:1], "public", ""),
    ):
        peer.on(ROUTE, given(catalog=catalog))
        with pytest.raises(Refused, match=f"no {interface} endpoint of a baremetal service.*{region}"):
            client(peer).grant().endpoint("baremetal", interface=interface, region=region)
