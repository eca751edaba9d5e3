"""Ironic's adapter before a simulator that does not let everybody in, wired as the settings say."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.wiring import provisioners
from shipyard_api.wiring.settings import SettingsError, load
from shipyard_simulators.ironic import simulator as ironic_simulator
from shipyard_simulators.scenario import parse_scenario
from tests.peer import Answer, Peer, running
from tests.unit.tables import every_row

ROUTE = "POST /v3/auth/tokens"
KEYSTONE = {
    "SHIPYARD_IRONIC_AUTH": "keystone",
    "SHIPYARD_KEYSTONE_USER": "shipyard",
    "SHIPYARD_KEYSTONE_PASSWORD": "s3cret",
    "SHIPYARD_KEYSTONE_PROJECT": "service",
}
BASIC = {"SHIPYARD_IRONIC_AUTH": "basic", "SHIPYARD_IRONIC_USER": "admin", "SHIPYARD_IRONIC_PASSWORD": "right"}
CATALOG = {"SHIPYARD_KEYSTONE_INTERFACE": "internal", "SHIPYARD_KEYSTONE_REGION": "RegionOne"}

StartIronic = Callable[..., str]


@pytest.fixture
def keystone() -> Iterator[Peer]:
    """A Keystone that answers as it is told."""
    with running() as scripted:
        yield scripted


@pytest.fixture
def start() -> Iterator[StartIronic]:
    """What starts an Ironic that wants these credentials, and returns its address."""
    with ExitStack() as cleanup:
        yield lambda **wanted: cleanup.enter_context(ironic_simulator.running(parse_scenario(""), **wanted)).url


def given(token: str, *, ironic: str = "http://127.0.0.1:9") -> Answer:
    one = {"url": ironic, "interface": "internal", "region": "RegionOne", "region_id": "RegionOne"}
    body = {
        "issued_at": "2026-11-21T09:51:12.000000Z",
        "expires_at": "2026-11-21T10:51:12.000000Z",
        "catalog": [{"type": "baremetal", "name": "ironic", "endpoints": [one]}],
    }
    return Answer(201, {"token": body}, {"X-Subject-Token": token})


def provisioner(**told: str) -> Provisioner:
    settings = load({"SHIPYARD_PROVISIONER_KIND": "ironic", **told})
    missing = [name for name, value in provisioners.needed(settings).items() if not value]
    if missing:
        raise SettingsError([f"{name} is not set" for name in missing])
    return provisioners.provisioner(settings, lambda _: Inventory.of([Node(NodeName("n1"))]))


def test_only_a_user_with_the_right_password_is_let_in(start: StartIronic) -> None:
    right = {"SHIPYARD_IRONIC_URL": start(basic=("admin", "right")), **BASIC}
    provisioner(**right).check_health()
    for wrong in ({"SHIPYARD_IRONIC_PASSWORD": "wr0ng"}, {"SHIPYARD_IRONIC_USER": "root"}):
        with pytest.raises(Refused, match="answered 401: Incorrect username or password") as refused:
            provisioner(**right | wrong).check_health()
        assert "wr0ng" not in str(refused.value)
    for url in (right["SHIPYARD_IRONIC_URL"], start(token="right")):
        with pytest.raises(Refused, match="answered 401"):
            provisioner(SHIPYARD_IRONIC_URL=url).check_health()


def test_a_token_of_keystone_is_used_until_ironic_no_longer_takes_it(start: StartIronic, keystone: Peer) -> None:
    told = KEYSTONE | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url, "SHIPYARD_IRONIC_URL": start(token="right")}
    keystone.on(ROUTE, given("ended"), given("right"))
    port = provisioner(**told)
    assert keystone.requests == []
    port.check_health()
    assert list(port.conditions()) == []
    assert len(keystone.asked(ROUTE)) == 2

    keystone.on(ROUTE, given("other"))
    with pytest.raises(Refused, match="Ironic GET /v1/conductors: answered 401: The request you have made requires"):
        provisioner(**told).check_health()
    assert len(keystone.asked(ROUTE)) == 4


def test_ironic_is_found_in_the_catalog_when_it_is_first_needed_and_never_guessed(
    start: StartIronic, keystone: Peer
) -> None:
    keystone.on(ROUTE, given("right", ironic=f"{start(token='right')}/v1"))
    told = KEYSTONE | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url}
    port = provisioner(**told, **CATALOG)
    assert keystone.requests == []
    port.check_health()
    with pytest.raises(Refused, match="no public endpoint of a baremetal service"):
        provisioner(**told).check_health()


def test_trouble_with_keystone_is_told_as_such(keystone: Peer) -> None:
    keystone.on(ROUTE, Answer(401, {"error": {"code": 401, "message": "requires authentication", "title": "x"}}))
    told = KEYSTONE | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url, "SHIPYARD_IRONIC_URL": "http://127.0.0.1:9"}
    with pytest.raises(Refused) as raised:
        provisioner(**told).check_health()
    assert raised.value.system == "Keystone"
    assert "s3cret" not in str(raised.value)


URL = {"SHIPYARD_IRONIC_URL": "http://ironic:6385"}
AUTH_URL = {"SHIPYARD_KEYSTONE_AUTH_URL": "http://keystone:5000"}


CONTRADICTIONS: dict[str, tuple[dict[str, str], str]] = {
    "no address": ({}, "[ironic] url is not set"),
    "a user who is not sent": (
        URL | {"SHIPYARD_IRONIC_USER": "admin"},
        "[ironic] user is for auth = basic, and [ironic] auth is none",
    ),
    "a password and a Keystone": (
        URL | AUTH_URL | KEYSTONE | {"SHIPYARD_IRONIC_PASSWORD": "right"},
        "[ironic] password is for auth = basic, and [ironic] auth is keystone",
    ),
    "basic for nobody": (URL | BASIC | {"SHIPYARD_IRONIC_USER": ""}, "[ironic] user is not set"),
    "basic without password": (URL | BASIC | {"SHIPYARD_IRONIC_PASSWORD": ""}, "[ironic] password is not set"),
    "a user with a colon": (URL | BASIC | {"SHIPYARD_IRONIC_USER": "a:b"}, "[ironic] user holds a colon"),
    "no Keystone": (KEYSTONE, "[keystone] auth_url is not set"),
    "no project": (AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_PROJECT": ""}, "[keystone] project is not set"),
    "two scopes": (
        AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_SCOPE": "system"},
        "[keystone] project is for scope = project, and [keystone] scope is system",
    ),
    "no authorities of Keystone": (
        AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_CA_FILE": "/no/ca.pem"},
        "[keystone] ca_file: there is no file /no/ca.pem",
    ),
    "no authorities of Ironic": (
        URL | {"SHIPYARD_IRONIC_CA_FILE": "/no/ca.pem"},
        "[ironic] ca_file: there is no file /no/ca.pem",
    ),
    "too slow together": (
        AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_CONNECT_TIMEOUT_SECONDS": "6"},
        "[ironic] connect_timeout_seconds and that of [keystone] together must be at most half",
    ),
    "a word of Ironic's": (URL | {"SHIPYARD_IRONIC_AUTH": "http_basic"}, "not one of none, basic, keystone"),
}


@every_row(CONTRADICTIONS)
def test_settings_that_contradict_themselves_are_told_before_anybody_is_asked(told: dict[str, str], fault: str) -> None:
    with pytest.raises(SettingsError) as raised:
        provisioner(**told)
    assert any(fault in one for one in raised.value.faults), raised.value.faults
    assert "s3cret" not in str(raised.value)
