"""API tokens: 192 random bits that are shown once and stored only as a digest."""

import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shipyard_api.domain.errors import Unauthenticated
from shipyard_api.ports.identity import digest
from shipyard_api.ports.state.store import Store
from shipyard_api.ports.state.tokens import TokenRecord

LOG = logging.getLogger(__name__)

# Whatever rules a policy file has, a role is a word: it stands in lists, in logs and in that file's own language.
_ROLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
_MOST_ROLES = 32
# How exactly the last use of a token is known.
_MINUTE = timedelta(minutes=1)
# A token shows what it is, so that scanners for leaked secrets can know it.
_PREFIX = "shipyard_"


class TokenFault(ValueError):
    """A token cannot be created or revoked as asked; the text is for the operator."""


@dataclass(frozen=True, slots=True)
class ApiTokens:
    """The use case."""

    store: Store

    def create(self, name: str, *roles: str, lifetime: timedelta | None = None) -> tuple[TokenRecord, str]:
        """Return a new token and its secret, which nobody can ever read again.

        What a role is good for is the policy's to say; one that no rule names is good for nothing.
        """
        for role in roles:
            if not _ROLE.fullmatch(role):
                raise TokenFault(f"Invalid role: A role has 1 to 64 letters, digits and . _ @ -, unlike {role!r}")
        if not 0 < len(roles) <= _MOST_ROLES:
            raise TokenFault(f"Invalid role: A token has 1 to {_MOST_ROLES} roles")
        if not 0 < len(name) <= 128 or not name.isprintable():
            raise TokenFault("Invalid name: The name of a token has 1 to 128 printable characters")
        # Short enough to be the password in a design address of at most 128 characters.
        secret = _PREFIX + secrets.token_urlsafe(24)
        expires_at = datetime.now(UTC) + lifetime if lifetime else None
        with self.store.begin() as tx:
            return tx.tokens.create(name, tuple(dict.fromkeys(roles)), digest(secret), expires_at), secret

    def authenticate(self, secret: str) -> TokenRecord:
        """Return the token of a secret; raises Unauthenticated if it is unknown, expired or revoked.

        The look-up is by digest, so how long it takes tells nothing about the secret. It is no transaction: strangers
        cause as many as they like, and those who write have connections of their own.
        """
        sought = digest(secret)
        token = self.store.read(lambda tx: tx.tokens.by_digest(sought))
        if token is None:
            raise Unauthenticated
        self._note_use(token)
        return token

    def all(self) -> Sequence[TokenRecord]:
        """Return every token, without secrets."""
        with self.store.begin() as tx:
            return tx.tokens.every()

    def revoke(self, token: str) -> None:
        """Make a token worthless at once."""
        with self.store.begin() as tx:
            if not tx.tokens.revoke(token):
                raise TokenFault(f"Token not found: No valid token has the id {token}")

    def _note_use(self, token: TokenRecord) -> None:
        """Write down the use, to the minute. It is not worth a request: what goes wrong is logged and forgotten."""
        last = token.last_used_at
        if last and abs(datetime.now(UTC) - last) < _MINUTE:
            return
        try:
            with self.store.begin() as tx:
                tx.tokens.used(token.id)
        except Exception as error:  # noqa: BLE001  # a full disk, a database that only reads: none is the caller's fault
            LOG.warning("use of a token not written down", extra={"key": token.id, "trouble": str(error)})
