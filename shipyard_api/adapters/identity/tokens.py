"""Callers with tokens of our own, which are looked up at most once in a while."""

import hashlib
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from shipyard_api.domain.errors import Unauthenticated
from shipyard_api.ports.identity import Identity, Request
from shipyard_api.ports.store import TokenRecord

# A process that knows so many callers at once forgets the one that it has known for longest.
MOST_KNOWN = 1024


class TokenIdentities:
    """Fills ``ports.identity.Identities``; may be shared by threads.

    ``look_up`` returns the token of a secret and raises Unauthenticated. Only what it returned is remembered, for
    ``cache_seconds``: a wrong secret costs a look-up each time, and a new token is good at once.
    """

    challenge = 'Token realm="Shipyard"'

    def __init__(
        self,
        look_up: Callable[[str], TokenRecord],
        *,
        cache_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._cache_seconds = cache_seconds
        self._now = monotonic
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[float, Identity]] = {}

    def of(self, request: Request) -> Identity:
        """Return who shows this token; raises Unauthenticated and StoreUnavailable."""
        secret = request.get("HTTP_X_AUTH_TOKEN")
        if not secret:
            raise Unauthenticated
        # Nothing here compares secrets. What is looked for, here and in the database, is a digest, whose bytes nobody
        # can choose: how long a comparison takes tells about digests that begin alike, and nothing about any secret.
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        now = self._now()
        good_until, identity = self._known.get(digest, (now, None))
        if identity is not None and now < good_until:
            return identity
        token = self._look_up(secret)
        identity = Identity(token.id, token.name, frozenset(token.roles), user_id=token.id)
        self._remember(digest, identity, self._lifetime(token), now)
        return identity

    def _lifetime(self, token: TokenRecord) -> float:
        """Return for how many seconds from now the token may be taken to be good."""
        if token.expires_at is None:
            return self._cache_seconds
        return min(self._cache_seconds, (token.expires_at - datetime.now(UTC)).total_seconds())

    def _remember(self, digest: bytes, identity: Identity, lifetime: float, now: float) -> None:
        with self._lock:
            self._known.pop(digest, None)
            if lifetime <= 0:
                return
            if len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[digest] = (now + lifetime, identity)
