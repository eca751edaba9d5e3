"""What is remembered of our own tokens, for how long, and how many of them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.adapters.identity import tokens as adapter
from shipyard_api.adapters.identity.tokens import TokenIdentities
from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.tokens import TokenRecord
from tests.unit.tables import every_row
from tests.waiting import PATIENCE


class LookUps:
    """Tokens by their secret, and which of them were looked up."""

    def __init__(self, *secrets: str, expires_in: float | None = None) -> None:
        expires = None if expires_in is None else datetime.now(UTC) + timedelta(seconds=expires_in)
        self.tokens = {
            secret: TokenRecord(
                f"id-{secret}", f"name-{secret}", ("viewer", "peer"), datetime.now(UTC), expires, None, None
            )
            for secret in secrets
        }
        self.made: list[str] = []

    def __call__(self, secret: str) -> TokenRecord:
        self.made.append(secret)
        if secret not in self.tokens:
            raise Unauthenticated
        return self.tokens[secret]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def identities(look_ups: LookUps, clock: Clock, seconds: float = 2.0) -> TokenIdentities:
    return TokenIdentities(look_ups, cache_seconds=seconds, at_once=2, monotonic=clock)


def request(secret: str) -> dict[str, str]:
    return {"HTTP_X_AUTH_TOKEN": secret}


def test_an_identity_has_the_id_and_the_roles_of_its_token() -> None:
    found = identities(LookUps("a"), Clock()).of(request("a"))

    assert (found.key, found.user_id, found.user) == ("id-a", "id-a", "name-a")
    assert found.roles == {"viewer", "peer"}
    assert (found.project_id, found.is_admin_project) == ("", False)


@every_row([{}, {"HTTP_X_AUTH_TOKEN": ""}])
def test_without_a_token_nothing_is_looked_up(sent: dict[str, str]) -> None:
    look_ups = LookUps("")
    with pytest.raises(Unauthenticated):
        identities(look_ups, Clock()).of(sent)
    assert look_ups.made == []


def test_a_token_is_looked_up_once_in_the_time_and_again_after_it() -> None:
    look_ups, clock = LookUps("a"), Clock()
    known = identities(look_ups, clock)
    known.of(request("a"))
    clock.now += 1.999
    known.of(request("a"))
    assert look_ups.made == ["a"]
    clock.now += 0.001
    known.of(request("a"))
    assert look_ups.made == ["a", "a"]

    del look_ups.tokens["a"]  # it is revoked
    known.of(request("a"))
    clock.now += 2
    with pytest.raises(Unauthenticated):
        known.of(request("a"))

    look_ups = LookUps("a")
    known = identities(look_ups, Clock(), 0.0)
    for _ in range(2):
        known.of(request("a"))
    assert look_ups.made == ["a", "a"]


@every_row([2.0, 3600.0])
def test_a_secret_that_was_wrong_is_looked_up_again_after_two_seconds(cached_for: float) -> None:
    look_ups, clock = LookUps(), Clock()
    known = identities(look_ups, clock, cached_for)
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            known.of(request("a"))
    assert look_ups.made == ["a"]

    clock.now += 1.999
    with pytest.raises(Unauthenticated):
        known.of(request("a"))
    look_ups.tokens = LookUps("a").tokens
    clock.now += 0.001
    assert known.of(request("a")).key == "id-a"
    assert look_ups.made == ["a", "a"]


@every_row([(0.0, 2), (1.0, 2), (3600.0, 1)])
def test_a_wrong_secret_is_remembered_no_longer_than_a_good_one(seconds: float, looked_up: int) -> None:
    look_ups, clock = LookUps(), Clock()
    known = identities(look_ups, clock, seconds)
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            known.of(request("a"))
        clock.now += 1.5
    assert len(look_ups.made) == looked_up


def test_wrong_secrets_have_a_bound_and_push_out_none_that_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_KNOWN", 3)
    look_ups = LookUps("good")
    known = identities(look_ups, Clock())
    known.of(request("good"))
    for secret in "abcdefgh":
        with pytest.raises(Unauthenticated):
            known.of(request(secret))

    known.of(request("good"))
    assert look_ups.made == ["good", *"abcdefgh"]
    assert len(known._wrong) == 3


class Held:
    """Look-ups that last until a test lets them end."""

    def __init__(self) -> None:
        self.under_way: list[str] = []
        self.end = threading.Event()

    def __call__(self, secret: str) -> TokenRecord:
        if secret == "good":
            return LookUps("good").tokens["good"]
        self.under_way.append(secret)
        self.end.wait(PATIENCE)
        raise Unauthenticated


def test_only_so_many_look_ups_are_under_way_and_who_is_known_waits_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    known = TokenIdentities(held, cache_seconds=60, at_once=2)
    known.of(request("good"))
    with ThreadPoolExecutor(5) as threads:
        waiting = [threads.submit(known.of, request(secret)) for secret in "abcde"]
        while len(held.under_way) < 2:
            time.sleep(0.001)
        assert known.of(request("good")).key == "id-good"
        monkeypatch.setattr(adapter, "LONGEST_WAIT", 0.01)
        with pytest.raises(StoreUnavailable):
            known.of(request("f"))
        assert len(held.under_way) == 2
        held.end.set()
    assert {type(one.exception()) for one in waiting} == {Unauthenticated}
    assert sorted(held.under_way) == [*"abcde"]


def test_a_token_is_not_remembered_beyond_its_own_end() -> None:
    look_ups, clock = LookUps("a", expires_in=30), Clock()
    known = identities(look_ups, clock, 3600.0)
    for seconds in (0, 29, 2):
        clock.now += seconds
        known.of(request("a"))
    assert look_ups.made == ["a", "a"]
    look_ups = LookUps("a", expires_in=-5)  # it is past by our clock
    known = identities(look_ups, Clock())
    for _ in range(2):
        known.of(request("a"))
    assert look_ups.made == ["a", "a"]


def test_what_is_remembered_has_a_bound_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_KNOWN", 3)
    look_ups = LookUps(*"abcd")
    known = identities(look_ups, Clock())
    for secret in "abcdbcda":
        known.of(request(secret))
    assert look_ups.made == [*"abcd", "a"]
    assert len(known._known) == 3


def test_secrets_are_not_kept_and_bytes_that_are_no_text_just_wrong() -> None:
    known = identities(LookUps("hunter2"), Clock())
    known.of(request("hunter2"))
    with pytest.raises(Unauthenticated):
        known.of(request("\udcff"))
    assert "hunter2" not in repr(list(known._known))
    assert {len(key) for key in known._known} == {32}


def test_a_token_that_was_looked_up_is_known_without_waiting_until_it_is_forgotten() -> None:
    look_ups, clock = LookUps("a"), Clock()
    known = identities(look_ups, clock)
    assert known.cached(request("a")) is None
    found = known.of(request("a"))

    assert known.cached(request("a")) == found
    assert known.cached({}) is None
    clock.now += 2.0
    assert known.cached(request("a")) is None
    assert look_ups.made == ["a"]
