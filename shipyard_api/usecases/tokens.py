"""API tokens, sessions of the page and tickets for streams: random, shown once, stored as digests."""

import logging
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.identity import Identity, Request, digest
from shipyard_api.ports.state.tokens import TokenRecord
from shipyard_api.storage.unit_of_work import Store

LOG = logging.getLogger(__name__)

# A role is a single word in lists, logs and policy files.
_ROLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
_ROLE_LIMIT = 32
# Precision of the last use of a token.
_MINUTE = timedelta(minutes=1)
# The prefix lets scanners for leaked secrets recognize a token.
_PREFIX = "shipyard_"


class TokenFault(ValueError):
    """A token cannot be created or revoked as asked; the text is for the operator."""


class ApiTokens(Struct, frozen=True):
    """The use case."""

    store: Store

    def create(self, name: str, *roles: str, lifetime: timedelta | None = None) -> tuple[TokenRecord, str]:
        """Return a new token and its secret, which cannot be read again.

        The policy defines what a role allows; a role that no rule names allows nothing.
        """
        for role in roles:
            if not _ROLE.fullmatch(role):
                raise TokenFault(f"Invalid role: A role has 1 to 64 letters, digits and . _ @ -, unlike {role!r}")
        if not 0 < len(roles) <= _ROLE_LIMIT:
            raise TokenFault(f"Invalid role: A token has 1 to {_ROLE_LIMIT} roles")
        if not 0 < len(name) <= 128 or not name.isprintable() or name != name.strip():
            raise TokenFault(
                "Invalid name: The name of a token has 1 to 128 printable characters, and no blank at its ends"
            )
        # Short enough to be the password in a design address of at most 128 characters.
        secret = _PREFIX + secrets.token_urlsafe(24)
        expires_at = datetime.now(UTC) + lifetime if lifetime else None
        with self.store.begin() as tx:
            return tx.tokens.create(name, tuple(dict.fromkeys(roles)), digest(secret), expires_at), secret

    def authenticate(self, secret: str) -> TokenRecord:
        """Return the token of a secret; raises Unauthenticated if it is unknown, expired or revoked.

        The lookup is by digest, so its timing reveals nothing about the secret. It is a read, not a transaction:
        strangers can cause any number of lookups, and must not use up the connections of writers.
        """
        secret_digest = digest(secret)
        token = self.store.read(lambda tx: tx.tokens.by_digest(secret_digest))
        if token is None:
            raise Unauthenticated
        self._record_use(token)
        return token

    def all(self) -> Sequence[TokenRecord]:
        """Return every token, without secrets."""
        with self.store.begin() as tx:
            return tx.tokens.every()

    def revoke(self, token: str) -> None:
        """Revoke a token at once; raises TokenFault if no valid token has the id."""
        with self.store.begin() as tx:
            if not tx.tokens.revoke(token):
                raise TokenFault(f"Token not found: No valid token has the id {token}")

    def _record_use(self, token: TokenRecord) -> None:
        """Record the use, to the minute. A failure is logged and does not fail the request."""
        last = token.last_used_at
        if last and abs(datetime.now(UTC) - last) < _MINUTE:
            return
        try:
            with self.store.begin() as tx:
                tx.tokens.used(token.id)
        except Exception as error:  # noqa: BLE001  # a full disk or read-only database is not the caller's fault
            LOG.warning("token use not recorded", extra={"key": token.id, "trouble": str(error)})


# Logs hide every word with the prefix of API tokens, and so this one.
_SESSION_PREFIX = "shipyard_session_"


class Sessions(Struct, frozen=True):
    """The use case; it fills ``ports.identity.Identities``. A session is read anew for each request: a sign-out counts
    at once, in every process.
    """

    store: Store
    challenge: str = ""

    def open(self, identity: Identity, *, seconds: float) -> str:
        """Return the secret of a new session of this person, with the roles that the person has now."""
        secret = _SESSION_PREFIX + secrets.token_urlsafe(24)
        with self.store.begin() as tx:
            tx.tickets.create(digest(secret), identity, seconds=seconds)
        return secret

    def close(self, secret: str) -> None:
        """End a session."""
        if secret.startswith(_SESSION_PREFIX):
            with self.store.begin() as tx:
                tx.tickets.delete(digest(secret))

    def cached(self, _request: Request) -> Identity | None:
        """Return None: sessions are read."""
        return None

    def of(self, request: Request) -> Identity:
        """Return the person whose session is sent as X-Auth-Token; raises Unauthenticated if it has ended."""
        secret = str(request["HTTP_X_AUTH_TOKEN"])
        if secret.startswith(_SESSION_PREFIX):
            sought = digest(secret)
            if identity := self.store.read(lambda tx: tx.tickets.by_digest(sought)):
                return identity
        raise Unauthenticated


SECONDS = 60
"""How long a ticket is valid."""

# Logs hide every word with the prefix of API tokens, and so this one.
_TICKET_PREFIX = "shipyard_ticket_"
_TICKET = re.compile(rf"{_TICKET_PREFIX}[A-Za-z0-9_-]{{32}}")


class EventTickets(Struct, frozen=True):
    """The use case."""

    store: Store

    def issue(self, identity: Identity) -> str:
        """Return a new ticket of this caller."""
        ticket = _TICKET_PREFIX + secrets.token_urlsafe(24)
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
