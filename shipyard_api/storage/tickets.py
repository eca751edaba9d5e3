"""Tickets for event streams, and sessions of the page. Only the digest of a ticket is ever stored."""

from dataclasses import asdict

import sqlalchemy as sa

from shipyard_api.ports.identity import Identity
from shipyard_api.storage import event_tables as t

_tickets = t.event_tickets.c
_BY_DIGEST = sa.select(_tickets.identity).where(
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
        self._connection.execute(t.event_tickets.delete().where(_tickets.digest.in_(locked)))
        self._connection.execute(
            t.event_tickets.insert().values(
                digest=digest,
                identity={**asdict(identity), "roles": sorted(identity.roles)},
                expires_at=sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds),
            )
        )

    def delete(self, digest: bytes) -> None:
        """Delete the ticket with this digest, if there is one."""
        self._connection.execute(t.event_tickets.delete().where(_tickets.digest == digest))

    def by_digest(self, digest: bytes) -> Identity | None:
        """Return the caller to whom the valid ticket with this digest was issued."""
        stored = self._connection.execute(_BY_DIGEST, {"secret": digest}).scalar_one_or_none()
        return Identity(**{**stored, "roles": frozenset(stored["roles"])}) if stored else None
