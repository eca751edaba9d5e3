"""API tokens, tickets for event streams and sessions of the page. Only the digest of a secret is ever stored."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from msgspec.structs import asdict
from ulid import ULID

from shipyard_api.ports.identity import Identity
from shipyard_api.ports.state.tokens import TokenRecord
from shipyard_api.storage import site_tables
from shipyard_api.storage import tables as t
from shipyard_api.storage.rows import record

_tokens = t.api_tokens.c
_BY_DIGEST = sa.select(t.api_tokens).where(
    _tokens.digest == sa.bindparam("secret"),
    _tokens.revoked_at.is_(None),
    sa.or_(_tokens.expires_at.is_(None), _tokens.expires_at > sa.func.now()),
)


class Tokens:
    """API tokens, by the hash of their secret."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def create(self, name: str, roles: Sequence[str], digest: bytes, expires_at: datetime | None) -> TokenRecord:
        """Store a token."""
        row = self._connection.execute(
            t.api_tokens.insert()
            .values(id=str(ULID()), name=name, roles=list(roles), digest=digest, expires_at=expires_at)
            .returning(t.api_tokens)
        ).one()
        return record(TokenRecord, row)

    def by_digest(self, digest: bytes) -> TokenRecord | None:
        """Return the token with this digest that is neither expired nor revoked."""
        row = self._connection.execute(_BY_DIGEST, {"secret": digest}).one_or_none()
        return record(TokenRecord, row) if row else None

    def every(self) -> Sequence[TokenRecord]:
        """Return every token, in order of creation."""
        rows = self._connection.execute(sa.select(t.api_tokens).order_by(t.api_tokens.c.id))
        return [record(TokenRecord, row) for row in rows]

    def revoke(self, token: str) -> bool:
        """Revoke a token by its id; return whether it existed and was valid."""
        done = self._connection.execute(
            t.api_tokens.update()
            .where(t.api_tokens.c.id == token, t.api_tokens.c.revoked_at.is_(None))
            .values(revoked_at=sa.func.now())
        )
        return done.rowcount == 1

    def used(self, token: str) -> None:
        """Record that a token was used now, unless it was in the last minute. Never waits for a lock."""
        long_ago = sa.func.now() - sa.text("interval '1 minute'")
        not_recorded = (
            sa.select(_tokens.id)
            .where(_tokens.id == token, sa.or_(_tokens.last_used_at.is_(None), _tokens.last_used_at < long_ago))
            # A locked row is being updated with the same time, or revoked.
            .with_for_update(skip_locked=True)
        )
        self._connection.execute(
            t.api_tokens.update().where(_tokens.id == not_recorded.scalar_subquery()).values(last_used_at=sa.func.now())
        )


_tickets = site_tables.event_tickets.c
_TICKET_BY_DIGEST = sa.select(_tickets.identity).where(
    _tickets.digest == sa.bindparam("secret"), _tickets.expires_at > sa.func.now()
)


class Tickets:
    """Tickets, by the hash of their secret; valid by the clock of the database."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def create(self, digest: bytes, identity: Identity, *, seconds: float) -> None:
        """Store a ticket that is valid for ``seconds``, and delete expired ones."""
        # Another transaction is deleting a locked row.
        expired = sa.select(_tickets.digest).where(_tickets.expires_at < sa.func.now())
        locked = expired.with_for_update(skip_locked=True)
        self._connection.execute(site_tables.event_tickets.delete().where(_tickets.digest.in_(locked)))
        self._connection.execute(
            site_tables.event_tickets.insert().values(
                digest=digest,
                identity={**asdict(identity), "roles": sorted(identity.roles)},
                expires_at=sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds),
            )
        )

    def delete(self, digest: bytes) -> None:
        """Delete the ticket with this digest, if there is one."""
        self._connection.execute(site_tables.event_tickets.delete().where(_tickets.digest == digest))

    def by_digest(self, digest: bytes) -> Identity | None:
        """Return the caller to whom the valid ticket with this digest was issued."""
        stored = self._connection.execute(_TICKET_BY_DIGEST, {"secret": digest}).scalar_one_or_none()
        return Identity(**{**stored, "roles": frozenset(stored["roles"])}) if stored else None
