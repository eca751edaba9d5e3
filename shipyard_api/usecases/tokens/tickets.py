"""Tickets for event streams: 192 random bits, valid for a minute, stored only as a digest."""

import re
import secrets
from dataclasses import dataclass

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.identity import Identity, digest
from shipyard_api.storage.unit_of_work import Store

SECONDS = 60
"""How long a ticket is valid."""

# Logs hide every word with the prefix of API tokens, and so this one.
_PREFIX = "shipyard_ticket_"
_TICKET = re.compile(rf"{_PREFIX}[A-Za-z0-9_-]{{32}}")


@dataclass(frozen=True, slots=True)
class EventTickets:
    """The use case."""

    store: Store

    def issue(self, identity: Identity) -> str:
        """Return a new ticket of this caller."""
        ticket = _PREFIX + secrets.token_urlsafe(24)
        with self.store.begin() as tx:
            tx.tickets.create(digest(ticket), identity, seconds=SECONDS)
        return ticket

    def authenticate(self, ticket: str) -> Identity:
        """Return the caller of a ticket; raises Unauthenticated if it is unknown or expired."""
        identity = None
        if _TICKET.fullmatch(ticket):
            sought = digest(ticket)
            identity = self.store.read(lambda tx: tx.tickets.by_digest(sought))
        if identity is None:
            raise Unauthenticated
        return identity
