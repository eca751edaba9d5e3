"""API tokens: 192 random bits that are shown once and stored only as a digest."""

import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.identity import digest
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


@dataclass(frozen=True, slots=True)
class ApiTokens:
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
