"""Sessions of the page: 192 random bits in a cookie, stored only as a digest, valid until a time or the sign-out."""

import secrets
from dataclasses import dataclass

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.identity import Identity, Request, digest
from shipyard_api.storage.unit_of_work import Store

# Logs hide every word with the prefix of API tokens, and so this one.
_PREFIX = "shipyard_session_"


@dataclass(frozen=True, slots=True)
class Sessions:
    """The use case; it fills ``ports.identity.Identities``. A session is read anew for each request: a sign-out counts
    at once, in every process.
    """

    store: Store
    challenge: str = ""

    def open(self, identity: Identity, *, seconds: float) -> str:
        """Return the secret of a new session of this person, with the roles that the person has now."""
        secret = _PREFIX + secrets.token_urlsafe(24)
        with self.store.begin() as tx:
            tx.tickets.create(digest(secret), identity, seconds=seconds)
        return secret

    def close(self, secret: str) -> None:
        """End a session."""
        if secret.startswith(_PREFIX):
            with self.store.begin() as tx:
                tx.tickets.delete(digest(secret))

    def cached(self, _request: Request) -> Identity | None:
        """Return None: sessions are read."""
        return None

    def of(self, request: Request) -> Identity:
        """Return the person whose session is sent as X-Auth-Token; raises Unauthenticated if it has ended."""
        secret = str(request["HTTP_X_AUTH_TOKEN"])
        if secret.startswith(_PREFIX):
            sought = digest(secret)
            if identity := self.store.read(lambda tx: tx.tickets.by_digest(sought)):
                return identity
        raise Unauthenticated
