"""API tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """An API token, without its secret, which is not stored."""

    id: str
    name: str
    roles: Sequence[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class Tokens(Protocol):
    """API tokens, by the hash of their secret."""

    def create(self, name: str, roles: Sequence[str], digest: bytes, expires_at: datetime | None) -> TokenRecord:
        """Store a token."""

    def by_digest(self, digest: bytes) -> TokenRecord | None:
        """Return the token with this digest that is neither expired nor revoked."""

    def every(self) -> Sequence[TokenRecord]:
        """Return every token, in order of creation."""

    def revoke(self, token: str) -> bool:
        """Revoke a token by its id; return whether it existed and was valid."""

    def used(self, token: str) -> None:
        """Record that a token was used now, unless it was in the last minute. Never waits for a lock."""
