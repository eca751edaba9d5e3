"""Tickets: credentials for one event stream, for callers who cannot send headers."""

from typing import Protocol

from shipyard_api.ports.identity import Identity


class Tickets(Protocol):
    """Tickets, by the hash of their secret."""

    def create(self, digest: bytes, identity: Identity, *, seconds: float) -> None:
        """Store a ticket that is valid for so many seconds; expired ones are deleted."""

    def by_digest(self, digest: bytes) -> Identity | None:
        """Return the caller to whom the valid ticket with this digest was issued."""
