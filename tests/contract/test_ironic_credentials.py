"""Ironic's adapter before a simulator that does not let everybody in, wired as the settings say."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.settings import SettingsError, load
from shipyard_api.wiring import provisioners
from shipyard_simulators.ironic import simulator as ironic_simulator
from shipyard_simulators.scenario import parse_scenario
from tests.peer import Answer, Peer, running

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


def test_a_user_with_the_right_password_is_let_in(start: StartIronic) -> None:
    provisioner(SHIPYARD_IRONIC_URL=start(basic=("admin", "right")), **BASIC).check_health()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"SHIPYARD_IRONIC_PASSWORD": "wr0ng"}, "answered 401: Incorrect username or password"),
        ({"SHIPYARD_IRONIC_USER": "root"}, "answered 401: Incorrect username or password"),
    ],
)
def test_a_user_with_a_wrong_password_is_refused(start: StartIronic, wrong: dict[str, str], said: str) -> None:
    port = provisioner(**{"SHIPYARD_IRONIC_URL": start(basic=("admin", "right")), **BASIC, **wrong})
    with pytest.raises(Refused, match=said) as refused:
        port.check_health()
    assert "wr0ng" not in str(refused.value)


@pytest.mark.parametrize("wanted", [{"basic": ("admin", "right")}, {"token": "right"}])
def test_an_ironic_that_wants_credentials_refuses_whoever_has_none(start: StartIronic, wanted: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="answered 401"):
        provisioner(SHIPYARD_IRONIC_URL=start(**wanted)).check_health()


def test_a_token_of_keystone_is_taken_and_used_for_everything(start: StartIronic, keystone: Peer) -> None:
    keystone.on(ROUTE, given("right"))
    told = KEYSTONE | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url, "SHIPYARD_IRONIC_URL": start(token="right")}
    port = provisioner(**told)
    assert keystone.requests == []
    port.check_health()
    assert list(port.conditions()) == []
    assert len(keystone.asked(ROUTE)) == 1


def test_a_token_that_ironic_no_longer_takes_is_renewed(start: StartIronic, keystone: Peer) -> None:
    keystone.on(ROUTE, given("ended"), given("right"))
    told = KEYSTONE | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url, "SHIPYARD_IRONIC_URL": start(token="right")}
    provisioner(**told).check_health()
    assert len(keystone.asked(ROUTE)) == 2


def test_tokens_that_ironic_never_takes_end_in_a_refusal(start: StartIronic, keystone: Peer) -> None:
    keystone.on(ROUTE, given("other"))
    told = KEYSTONE | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url, "SHIPYARD_IRONIC_URL": start(token="right")}
    with pytest.raises(Refused, match="Ironic GET /v1/conductors: answered 401: The request you have made requires"):
        provisioner(**told).check_health()
    assert len(keystone.asked(ROUTE)) == 2


def test_ironic_is_found_in_the_catalog_when_it_is_first_needed(start: StartIronic, keystone: Peer) -> None:
    keystone.on(ROUTE, given("right", ironic=f"{start(token='right')}/v1"))
    port = provisioner(**KEYSTONE, **CATALOG, SHIPYARD_KEYSTONE_AUTH_URL=keystone.url)
    assert keystone.requests == []
    port.check_health()


def test_a_catalog_without_ironic_is_refused_and_nothing_is_guessed(keystone: Peer) -> None:
    keystone.on(ROUTE, given("right"))
    port = provisioner(**KEYSTONE, SHIPYARD_KEYSTONE_AUTH_URL=keystone.url)
    with pytest.raises(Refused, match="no public endpoint of a baremetal service"):
        port.check_health()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(401, {"error": {"code": 401, "message": "requires authentication", "title": "Unauthorized"}}), Refused),
        (Answer(500, {"error": {"code": 500, "message": "An unexpected error", "title": "Internal"}}), Unavailable),
    ],
)
def test_trouble_with_keystone_is_told_as_such(keystone: Peer, answer: Answer, error: type[PeerError]) -> None:
    keystone.on(ROUTE, answer)
    told = KEYSTONE | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url, "SHIPYARD_IRONIC_URL": "http://127.0.0.1:9"}
    with pytest.raises(error) as raised:
        provisioner(**told).check_health()
    assert raised.value.system == "Keystone"
    assert "s3cret" not in str(raised.value)


URL = {"SHIPYARD_IRONIC_URL": "http://ironic:6385"}
AUTH_URL = {"SHIPYARD_KEYSTONE_AUTH_URL": "http://keystone:5000"}


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        pytest.param({}, "[ironic] url is not set", id="no address"),
        pytest.param(
            URL | {"SHIPYARD_IRONIC_USER": "admin"},
            "[ironic] user is for auth = basic, and [ironic] auth is none",
            id="a user who is not sent",
        ),
        pytest.param(
            URL | AUTH_URL | KEYSTONE | {"SHIPYARD_IRONIC_PASSWORD": "right"},
            "[ironic] password is for auth = basic, and [ironic] auth is keystone",
            id="a password and a Keystone",
        ),
        pytest.param(URL | BASIC | {"SHIPYARD_IRONIC_USER": ""}, "[ironic] user is not set", id="basic for nobody"),
        pytest.param(
            URL | BASIC | {"SHIPYARD_IRONIC_PASSWORD": ""}, "[ironic] password is not set", id="basic without password"
        ),
        pytest.param(
            URL | BASIC | {"SHIPYARD_IRONIC_USER": "a:b"}, "[ironic] user holds a colon", id="a user with a colon"
        ),
        pytest.param(KEYSTONE, "[keystone] auth_url is not set", id="no Keystone"),
        pytest.param(
            AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_PROJECT": ""}, "[keystone] project is not set", id="no project"
        ),
        pytest.param(
            AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_SCOPE": "system"},
            "[keystone] project is for scope = project, and [keystone] scope is system",
            id="two scopes",
        ),
        pytest.param(
            AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_CA_FILE": "/no/ca.pem"},
            "[keystone] ca_file: there is no file /no/ca.pem",
            id="no authorities of Keystone",
        ),
        pytest.param(
            URL | {"SHIPYARD_IRONIC_CA_FILE": "/no/ca.pem"},
            "[ironic] ca_file: there is no file /no/ca.pem",
            id="no authorities of Ironic",
        ),
        pytest.param(
            AUTH_URL | KEYSTONE | {"SHIPYARD_KEYSTONE_CONNECT_TIMEOUT_SECONDS": "6"},
            "[ironic] connect_timeout_seconds and that of [keystone] together must be at most half",
            id="too slow together",
        ),
        pytest.param(
            URL | {"SHIPYARD_IRONIC_AUTH": "http_basic"}, "not one of none, basic, keystone", id="a word of Ironic's"
        ),
    ],
)
def test_settings_that_contradict_themselves_are_told_before_anybody_is_asked(told: dict[str, str], fault: str) -> None:
    with pytest.raises(SettingsError) as raised:
        provisioner(**told)
    assert any(fault in one for one in raised.value.faults), raised.value.faults
    assert "s3cret" not in str(raised.value)
