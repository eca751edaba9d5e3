"""Drydock, Deckhand and Promenade that want tokens of a Keystone, wired as the settings say."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shipyard_api.adapters.drydock import DrydockOptions
from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.provisioner import Marker, Operation, Work
from shipyard_api.wiring import parts, peer_tokens, promenades, provisioners
from shipyard_api.wiring.settings import Settings, SettingsError, load
from tests.peer import Answer, Peer, running

ISSUE = "POST /v3/auth/tokens"
VALID = {"kind": "Status", "status": "Success", "details": {"errorCount": 0, "messageList": []}}
GIVEN = {
    "DATABASE_URL": "postgresql://127.0.0.1:9/none",
    "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
    "SHIPYARD_KEYSTONE_USER": "shipyard",
    "SHIPYARD_KEYSTONE_PASSWORD": "s3cret",
    "SHIPYARD_KEYSTONE_PROJECT": "service",
}


def given(token: str) -> Answer:
    body = {"issued_at": "2026-11-21T09:51:12.000000Z", "expires_at": "2026-11-21T10:51:12.000000Z", "catalog": []}
    return Answer(201, {"token": body}, {"X-Subject-Token": token})


@pytest.fixture
def keystone() -> Iterator[Peer]:
    """A Keystone whose first token is rejected by its peers."""
    with running() as scripted:
        scripted.on(ISSUE, given("ended"), given("right"))
        yield scripted


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running() as scripted:
        yield scripted


def drydock(settings: Settings) -> None:
    provisioners.provisioner(settings, lambda _: Inventory()).check_health()


def drydock_links(settings: Settings) -> None:
    links = provisioners.links(settings)
    assert links is not None
    assert links.fetch(f"{settings.of('drydock', DrydockOptions).url}/tasks/1") == "{}"


def deckhand(settings: Settings) -> None:
    assert parts.build(settings).designs.revisions(tags=(), after=0, limit=1) == []  # type: ignore[arg-type]


def promenade(settings: Settings) -> None:
    validate = promenades.validation(settings)
    assert validate is not None
    assert validate(1) == ()


EMPTY = Answer(200, {"results": []})
PEERS: dict[str, tuple[Callable[[Settings], None], str, Answer, dict[str, str]]] = {
    "drydock": (drydock, "GET /health", Answer(204, b""), {}),
    "drydock's pages": (drydock_links, "GET /tasks/1", Answer(200, {}), {}),
    "deckhand": (
        deckhand,
        "GET /revisions",
        EMPTY,
        {"SHIPYARD_DESIGNS_STORE": "deckhand", "SHIPYARD_SECRETS_KEYS": new_key()},
    ),
    "promenade": (promenade, "POST /validatedesign", Answer(200, VALID), {}),
}


@pytest.mark.parametrize(("ask", "route", "answer", "more"), PEERS.values(), ids=PEERS.keys())
def test_a_token_of_keystone_is_sent_and_renewed_when_the_peer_rejects_it(
    keystone: Peer, peer: Peer, ask: Callable[[Settings], None], route: str, answer: Answer, more: dict[str, Any]
) -> None:
    section = ask.__name__.partition("_")[0].upper()
    told = {f"SHIPYARD_{section}_URL": peer.url, f"SHIPYARD_{section}_AUTH": "keystone"}
    peer.on(route, Answer(401, {}), answer)

    ask(
        load(
            {"SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9", "SHIPYARD_KEYSTONE_AUTH_URL": keystone.url}
            | GIVEN
            | told
            | more
        )
    )

    assert [one.headers["x-auth-token"] for one in peer.requests] == ["ended", "right"]
    assert len(keystone.asked(ISSUE)) == 2


def test_a_task_is_posted_only_if_settling_leaves_time_for_a_token(keystone: Peer) -> None:
    told = {"SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9", "SHIPYARD_DRYDOCK_CONNECT_TIMEOUT_SECONDS": "3"}
    told |= GIVEN | {"SHIPYARD_KEYSTONE_AUTH_URL": keystone.url}
    provisioners.provisioner(load(told), lambda _: Inventory())  # a fixed token takes no time
    with pytest.raises(SettingsError, match=r"leaves less than 1 s of half of \[engine\] settle_seconds"):
        provisioners.provisioner(load(told | {"SHIPYARD_DRYDOCK_AUTH": "keystone"}), lambda _: Inventory())


def test_a_fixed_token_never_comes_too_late(peer: Peer) -> None:
    told = {"SHIPYARD_DRYDOCK_URL": peer.url, "SHIPYARD_DRYDOCK_CONNECT_TIMEOUT_SECONDS": "3"}
    peer.on("POST /tasks", Answer(201, {"task_id": "job-1"}))
    provisioner = provisioners.provisioner(load(told | GIVEN), lambda _: Inventory())
    assert provisioner.submit(Marker("m"), Work(Operation.VERIFY_SITE, "http://127.0.0.1:9/1")) == "job-1"


def test_only_peers_in_use_need_a_keystone() -> None:
    unused = load({"SHIPYARD_DECKHAND_AUTH": "keystone", "SHIPYARD_PROMENADE_AUTH": "keystone"})
    assert (peer_tokens.needed(unused), list(peer_tokens.faults(unused))) == ({}, [])


def test_everything_that_a_keystone_lacks_is_said_at_once() -> None:
    told = {
        "DATABASE_URL": GIVEN["DATABASE_URL"],
        "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9",
        "SHIPYARD_DRYDOCK_DESIGN_URL": GIVEN["SHIPYARD_DRYDOCK_DESIGN_URL"],
        "SHIPYARD_DRYDOCK_AUTH": "keystone",
        "SHIPYARD_DRYDOCK_TOKEN": "fixed",
    }
    with pytest.raises(SettingsError) as caught:
        parts.build(load(told))
    assert caught.value.faults == [
        *(f"[keystone] {name} is not set" for name in ("auth_url", "user", "password", "project")),
        "[drydock] token is for auth = token, and [drydock] auth is keystone",
    ]
