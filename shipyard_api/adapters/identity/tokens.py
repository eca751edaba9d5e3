"""Callers with tokens of our own, which are looked up at most once in a while."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.errors import Unauthenticated
from shipyard_api.ports.identity import Identity, Request, digest
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.tokens import TokenRecord

# A process that remembers so many good tokens, or so many wrong ones, forgets the one that it has known for longest.
MOST_KNOWN = 1024
# For how long a wrong token is taken to be wrong, at most. One that is made meanwhile is another: they are random.
WRONG_SECONDS = 2.0
# For how long a caller waits for others' look-ups to end, which take milliseconds.
LONGEST_WAIT = 10.0


class TokenIdentities:
    """Fills ``ports.identity.Identities``; may be shared by threads.

    ``look_up`` returns the token of a secret and raises Unauthenticated; what it said is remembered for
    ``cache_seconds``, that a secret is wrong for ``WRONG_SECONDS`` at most. ``at_once``: how many look-ups there may be
    at the same time.
    """

    challenge = 'Token realm="Shipyard"'

    def __init__(
        self,
        look_up: Callable[[str], TokenRecord],
        *,
        cache_seconds: float,
        at_once: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._cache_seconds = cache_seconds
        self._places = threading.BoundedSemaphore(at_once)
        self._now = monotonic
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[float, Identity]] = {}
        self._wrong: dict[bytes, float] = {}

    def of(self, request: Request) -> Identity:
        """Return who shows this token; raises Unauthenticated and StoreUnavailable."""
        secret = request.get("HTTP_X_AUTH_TOKEN")
        if not secret:
            raise Unauthenticated
        sought, now = digest(secret), self._now()
        good_until, identity = self._known.get(sought, (now, None))
        if identity is not None and now < good_until:
            return identity
        if now < self._wrong.get(sought, now):
            raise Unauthenticated
        try:
            token = self._looked_up(secret)
        except Unauthenticated:
            self._remember_wrong(sought, now)
            raise
        identity = Identity(token.id, token.name, frozenset(token.roles), user_id=token.id)
        self._remember(sought, identity, self._lifetime(token), now)
        return identity

    def _looked_up(self, secret: str) -> TokenRecord:
        if not self._places.acquire(timeout=LONGEST_WAIT):
            raise StoreUnavailable("it takes too long to look up tokens")
        try:
            return self._look_up(secret)
        finally:
            self._places.release()

    def _lifetime(self, token: TokenRecord) -> float:
        """Return for how many seconds from now the token may be taken to be good."""
        if token.expires_at is None:
            return self._cache_seconds
        return min(self._cache_seconds, (token.expires_at - datetime.now(UTC)).total_seconds())

    def _remember(self, sought: bytes, identity: Identity, lifetime: float, now: float) -> None:
        with self._lock:
            self._known.pop(sought, None)
            if lifetime > 0:
                _make_room(self._known)
                self._known[sought] = (now + lifetime, identity)

    def _remember_wrong(self, sought: bytes, now: float) -> None:
        with self._lock:
            self._wrong.pop(sought, None)
            _make_room(self._wrong)
            self._wrong[sought] = now + min(self._cache_seconds, WRONG_SECONDS)


def _make_room(remembered: dict[bytes, Any]) -> None:
    if len(remembered) >= MOST_KNOWN:
        del remembered[next(iter(remembered))]
