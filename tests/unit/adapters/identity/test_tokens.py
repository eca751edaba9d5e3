"""What is remembered of our own tokens, for how long, and how many of them."""

from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.adapters.identity import tokens as adapter
from shipyard_api.adapters.identity.tokens import TokenIdentities
from shipyard_api.domain.errors import Unauthenticated
from shipyard_api.ports.store import TokenRecord


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
    return TokenIdentities(look_ups, cache_seconds=seconds, monotonic=clock)


def request(secret: str) -> dict[str, str]:
    return {"HTTP_X_AUTH_TOKEN": secret}


def test_an_identity_has_the_id_and_the_roles_of_its_token() -> None:
    found = identities(LookUps("a"), Clock()).of(request("a"))

    assert (found.key, found.user_id, found.user) == ("id-a", "id-a", "name-a")
    assert found.roles == {"viewer", "peer"}
    assert (found.project_id, found.is_admin_project) == ("", False)


@pytest.mark.parametrize("sent", [{}, {"HTTP_X_AUTH_TOKEN": ""}])
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


def test_a_revoked_token_stops_working_within_the_time() -> None:
    look_ups, clock = LookUps("a"), Clock()
    known = identities(look_ups, clock)
    known.of(request("a"))
    del look_ups.tokens["a"]

    known.of(request("a"))
    clock.now += 2
    with pytest.raises(Unauthenticated):
        known.of(request("a"))


def test_with_no_time_nothing_is_remembered() -> None:
    look_ups = LookUps("a")
    known = identities(look_ups, Clock(), 0.0)
    known.of(request("a"))
    known.of(request("a"))
    assert look_ups.made == ["a", "a"]


def test_a_secret_that_was_wrong_is_looked_up_again_so_that_a_new_token_is_good_at_once() -> None:
    look_ups = LookUps()
    known = identities(look_ups, Clock())
    with pytest.raises(Unauthenticated):
        known.of(request("a"))
    look_ups.tokens = LookUps("a").tokens

    assert known.of(request("a")).key == "id-a"


def test_a_token_is_not_remembered_beyond_its_own_end() -> None:
    look_ups, clock = LookUps("a", expires_in=30), Clock()
    known = identities(look_ups, clock, 3600.0)
    known.of(request("a"))

    clock.now += 29
    known.of(request("a"))
    clock.now += 2
    known.of(request("a"))
    assert look_ups.made == ["a", "a"]


def test_a_token_whose_end_is_past_by_our_clock_is_not_remembered() -> None:
    look_ups = LookUps("a", expires_in=-5)
    known = identities(look_ups, Clock())
    known.of(request("a"))
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


def test_secrets_are_not_kept() -> None:
    known = identities(LookUps("hunter2"), Clock())
    known.of(request("hunter2"))
    assert "hunter2" not in repr(list(known._known))
    assert {len(key) for key in known._known} == {32}


def test_a_secret_of_bytes_that_are_no_text_is_just_wrong() -> None:
    with pytest.raises(Unauthenticated):
        identities(LookUps(), Clock()).of(request("\udcff"))
