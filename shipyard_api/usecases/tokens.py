"""API tokens: 192 random bits that are shown once and stored only as a digest."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shipyard_api.domain.errors import Invalid, NotFound, Unauthenticated
from shipyard_api.ports.store import Store, TokenRecord

ROLES = ("admin", "viewer", "peer")
# A token shows what it is, so that scanners for leaked secrets can know it.
_PREFIX = "shipyard_"


@dataclass(frozen=True, slots=True)
class ApiTokens:
    """The use case."""

    store: Store

    def create(self, name: str, role: str, lifetime: timedelta | None = None) -> tuple[TokenRecord, str]:
        """Return a new token and its secret, which nobody can ever read again."""
        if role not in ROLES:
            raise Invalid("Invalid role", f"The role of a token is one of {', '.join(ROLES)}, not '{role}'")
        if not 0 < len(name) <= 128 or not name.isprintable():
            raise Invalid("Invalid name", "The name of a token has 1 to 128 printable characters")
        # Short enough to be the password in a design address of at most 128 characters.
        secret = _PREFIX + secrets.token_urlsafe(24)
        expires_at = datetime.now(UTC) + lifetime if lifetime else None
        with self.store.begin() as tx:
            return tx.tokens.create(name, role, _digest(secret), expires_at), secret

    def authenticate(self, secret: str) -> TokenRecord:
        """Return the token of a secret; raises Unauthenticated if it is unknown, expired or revoked.

        The look-up is by digest, so how long it takes tells nothing about the secret.
        """
        with self.store.begin() as tx:
            token = tx.tokens.by_digest(_digest(secret))
        if token is None:
            raise Unauthenticated
        return token

    def all(self) -> Sequence[TokenRecord]:
        """Return every token, without secrets."""
        with self.store.begin() as tx:
            return tx.tokens.all()

    def revoke(self, token: str) -> None:
        """Make a token worthless at once."""
        with self.store.begin() as tx:
            if not tx.tokens.revoke(token):
                raise NotFound("Token not found", f"No valid token has the id {token}")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
