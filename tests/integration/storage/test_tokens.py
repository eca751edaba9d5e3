"""API tokens in Postgres."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from shipyard_api.domain.errors import Invalid, NotFound, Unauthenticated
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import SqlStore
from shipyard_api.usecases.tokens import ApiTokens

DIGEST, OTHER = bytes(range(32)), bytes(32)


def test_a_token_is_found_by_its_digest(store: SqlStore) -> None:
    with store.begin() as tx:
        made = tx.tokens.create("ann", "admin", DIGEST, None)

    with store.begin() as tx:
        assert tx.tokens.by_digest(DIGEST) == made
        assert tx.tokens.by_digest(OTHER) is None
    assert (made.name, made.role, made.expires_at, made.revoked_at) == ("ann", "admin", None, None)


@pytest.mark.parametrize(("seconds", "valid"), [(-1, False), (0, False), (60, True)])
def test_a_token_is_valid_until_it_expires(store: SqlStore, seconds: int, valid: bool) -> None:
    with store.begin() as tx:
        tx.tokens.create("ann", "admin", DIGEST, datetime.now(UTC) + timedelta(seconds=seconds))

    with store.begin() as tx:
        assert (tx.tokens.by_digest(DIGEST) is not None) is valid


def test_a_token_is_revoked_once(store: SqlStore) -> None:
    with store.begin() as tx:
        made = tx.tokens.create("ann", "admin", DIGEST, None)
        assert tx.tokens.revoke(made.id)
        assert not tx.tokens.revoke(made.id)
        assert not tx.tokens.revoke("01M7XV7VKPMDHXJVA7WMC7P6XP")

    with store.begin() as tx:
        assert tx.tokens.by_digest(DIGEST) is None
        (listed,) = tx.tokens.all()
    assert listed.revoked_at is not None


def test_tokens_are_listed_in_order_of_creation(store: SqlStore) -> None:
    with store.begin() as tx:
        for number in range(5):
            tx.tokens.create(f"t{number}", "viewer", bytes([number]) * 32, None)
    with store.begin() as tx:
        assert sorted(one.name for one in tx.tokens.all()) == [f"t{number}" for number in range(5)]


def test_two_tokens_never_share_a_secret(store: SqlStore) -> None:
    with store.begin() as tx:
        tx.tokens.create("a", "admin", DIGEST, None)
    with pytest.raises(sa.exc.IntegrityError, match="api_tokens_digest_unique"), store.begin() as tx:
        tx.tokens.create("b", "admin", DIGEST, None)


def test_the_database_knows_the_roles(store: SqlStore) -> None:
    with pytest.raises(sa.exc.IntegrityError, match="api_tokens_role_known"), store.begin() as tx:
        tx.tokens.create("a", "root", DIGEST, None)


def test_the_secret_is_nowhere(store: SqlStore, engine: sa.Engine) -> None:
    made, secret = ApiTokens(store).create("ann", "admin")

    with engine.connect() as connection:
        (row,) = connection.execute(sa.select(t.api_tokens))
    assert secret not in repr(row)
    assert secret.removeprefix("shipyard_") not in repr(row)
    assert bytes(row.digest) != secret.encode()
    assert ApiTokens(store).authenticate(secret) == made
    assert len(secret) == 41


@pytest.mark.parametrize(
    ("name", "role", "title"),
    [
        pytest.param("ann", "root", "Invalid role", id="unknown role"),
        pytest.param("", "admin", "Invalid name", id="no name"),
        pytest.param("a" * 129, "admin", "Invalid name", id="a long name"),
        pytest.param("a\nb", "admin", "Invalid name", id="a line break"),
        pytest.param("a\0", "admin", "Invalid name", id="NUL"),
    ],
)
def test_what_no_token_can_be(store: SqlStore, name: str, role: str, title: str) -> None:
    tokens = ApiTokens(store)

    with pytest.raises(Invalid) as caught:
        tokens.create(name, role)

    assert caught.value.title == title
    assert tokens.all() == []


@pytest.mark.parametrize("secret", ["", "shipyard_", "\udcff", "\0", "' OR 1=1 --", "a" * 10_000])
def test_any_other_secret_is_refused(store: SqlStore, secret: str) -> None:
    ApiTokens(store).create("ann", "admin")

    with pytest.raises(Unauthenticated):
        ApiTokens(store).authenticate(secret)


def test_revoking_what_is_not_there(store: SqlStore) -> None:
    with pytest.raises(NotFound):
        ApiTokens(store).revoke("nothing")
