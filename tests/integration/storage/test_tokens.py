"""API tokens in Postgres."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.identity import Identity
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.tokens import ApiTokens, Sessions, TokenFault

DIGEST, OTHER = bytes(range(32)), bytes(32)


def test_a_token_is_found_by_its_digest(store: Store) -> None:
    with store.begin() as tx:
        made = tx.tokens.create("ann", ["admin"], DIGEST, None)

    with store.begin() as tx:
        assert tx.tokens.by_digest(DIGEST) == made
        assert tx.tokens.by_digest(OTHER) is None
    assert (made.name, made.roles, made.expires_at, made.revoked_at) == ("ann", ("admin",), None, None)


@pytest.mark.parametrize(("seconds", "valid"), [(-1, False), (0, False), (60, True)])
def test_a_token_is_valid_until_it_expires(store: Store, seconds: int, valid: bool) -> None:
    with store.begin() as tx:
        tx.tokens.create("ann", ["admin"], DIGEST, datetime.now(UTC) + timedelta(seconds=seconds))

    with store.begin() as tx:
        assert (tx.tokens.by_digest(DIGEST) is not None) is valid


def test_a_token_is_revoked_once(store: Store) -> None:
    with store.begin() as tx:
        made = tx.tokens.create("ann", ["admin"], DIGEST, None)
        assert tx.tokens.revoke(made.id)
        assert not tx.tokens.revoke(made.id)
        assert not tx.tokens.revoke("01M7XV7VKPMDHXJVA7WMC7P6XP")

    with store.begin() as tx:
        assert tx.tokens.by_digest(DIGEST) is None
        (listed,) = tx.tokens.every()
    assert listed.revoked_at is not None


def test_tokens_are_listed_in_order_of_creation(store: Store) -> None:
    with store.begin() as tx:
        for number in range(5):
            tx.tokens.create(f"t{number}", ["viewer"], bytes([number]) * 32, None)
    with store.begin() as tx:
        assert sorted(one.name for one in tx.tokens.every()) == [f"t{number}" for number in range(5)]


def test_two_tokens_never_share_a_secret(store: Store) -> None:
    with store.begin() as tx:
        tx.tokens.create("a", ["admin"], DIGEST, None)
    with pytest.raises(sa.exc.IntegrityError, match="api_tokens_digest_unique"), store.begin() as tx:
        tx.tokens.create("b", ["admin"], DIGEST, None)


def test_a_token_has_several_roles_each_once_and_in_order(store: Store) -> None:
    made, secret = ApiTokens(store).create("ann", "peer", "site-watch", "peer", "viewer")

    assert made.roles == ("peer", "site-watch", "viewer")
    assert ApiTokens(store).authenticate(secret).roles == made.roles


def test_a_token_remembers_its_last_use_to_the_minute(store: Store, engine: sa.Engine) -> None:
    tokens = ApiTokens(store)
    made, secret = tokens.create("ann", "admin")
    assert tokens.all()[0].last_used_at is None

    tokens.authenticate(secret)
    first = tokens.all()[0].last_used_at
    assert first is not None
    assert made.created_at <= first

    tokens.authenticate(secret)
    assert tokens.all()[0].last_used_at == first
    later = used_before(engine, seconds=61)
    tokens.authenticate(secret)
    again = tokens.all()[0].last_used_at
    assert again is not None
    assert again > later


def test_a_use_within_the_minute_is_not_written_whoever_asks(store: Store, engine: sa.Engine) -> None:
    made, secret = ApiTokens(store).create("ann", "admin")
    ApiTokens(store).authenticate(secret)
    before = used_before(engine, seconds=30)

    with store.begin() as tx:
        tx.tokens.used(made.id)

    assert ApiTokens(store).all()[0].last_used_at == before


def test_what_keeps_the_use_from_being_written_down_is_not_the_callers_business(
    store: Store, engine: sa.Engine, caplog: pytest.LogCaptureFixture
) -> None:
    made, secret = ApiTokens(store).create("ann", "admin")
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE api_tokens ADD CONSTRAINT unused CHECK (last_used_at IS NULL)"))

    assert ApiTokens(store).authenticate(secret) == made
    assert "token use not recorded" in caplog.text
    assert ApiTokens(store).all()[0].last_used_at is None


def test_the_use_of_a_token_waits_for_nobody(store: Store, engine: sa.Engine) -> None:
    made, secret = ApiTokens(store).create("ann", "admin")
    with engine.begin() as connection:
        connection.execute(sa.text("SELECT 1 FROM api_tokens FOR UPDATE"))

        assert ApiTokens(store).authenticate(secret) == made


def used_before(engine: sa.Engine, *, seconds: int) -> datetime:
    """Put the last use of every token into the past, and return when it is then."""
    with engine.begin() as connection:
        statement = "UPDATE api_tokens SET last_used_at = now() - make_interval(secs => :past) RETURNING last_used_at"
        moved: datetime = connection.execute(sa.text(statement), {"past": seconds}).scalar_one()
        return moved


def test_the_secret_is_nowhere(store: Store, engine: sa.Engine) -> None:
    made, secret = ApiTokens(store).create("ann", "admin")

    with engine.connect() as connection:
        (row,) = connection.execute(sa.select(t.api_tokens))
    assert secret not in repr(row)
    assert secret.removeprefix("shipyard_") not in repr(row)
    assert bytes(row.digest) != secret.encode()
    assert ApiTokens(store).authenticate(secret) == made
    assert len(secret) == 41


NO_TOKENS = {
    "an empty role": ("ann", [""], "Invalid role"),
    "a role of two words": ("ann", ["a b"], "Invalid role"),
    "two roles in one": ("ann", ["admin,viewer"], "Invalid role"),
    "a role with a colon": ("ann", ["role:admin"], "Invalid role"),
    "a role with a line break": ("ann", ["admin\n"], "Invalid role"),
    "a long role": ("ann", ["a" * 65], "Invalid role"),
    "no name": ("", ["admin"], "Invalid name"),
    "a long name": ("a" * 129, ["admin"], "Invalid name"),
    "a line break": ("a\nb", ["admin"], "Invalid name"),
    "NUL": ("a\0", ["admin"], "Invalid name"),
    "a blank before it": (" ann", ["admin"], "no blank at its ends"),
    "a blank behind it": ("ann\u00a0", ["admin"], "Invalid name"),
    "no role": ("ann", [], "1 to 32 roles"),
    "too many roles": ("ann", [f"r{number}" for number in range(33)], "1 to 32 roles"),
}


def test_what_no_token_can_be(store: Store) -> None:
    tokens = ApiTokens(store)

    for row, (name, roles, title) in NO_TOKENS.items():
        with pytest.raises(TokenFault, match=title):
            tokens.create(name, *roles)
        assert tokens.all() == [], row


def test_any_other_secret_is_refused(store: Store) -> None:
    ApiTokens(store).create("ann", "admin")

    for secret in ("", "shipyard_", "\udcff", "\0", "' OR 1=1 --", "a" * 10_000):
        with pytest.raises(Unauthenticated):
            ApiTokens(store).authenticate(secret)


def test_revoking_what_is_not_there(store: Store) -> None:
    with pytest.raises(TokenFault):
        ApiTokens(store).revoke("nothing")


def test_a_session_is_that_of_its_person_in_every_process_until_it_is_closed(store: Store) -> None:
    ann = Identity("k", "ann", frozenset({"admin"}), user_id="u-1")
    secret = Sessions(store).open(ann, seconds=60)
    late = Sessions(store).open(ann, seconds=-1)
    assert Sessions(store).of({"HTTP_X_AUTH_TOKEN": secret}) == ann

    def refused(sent: str) -> None:
        with pytest.raises(Unauthenticated):
            Sessions(store).of({"HTTP_X_AUTH_TOKEN": sent})

    refused(late)
    refused(f"{secret}x")
    Sessions(store).close(secret)
    refused(secret)
