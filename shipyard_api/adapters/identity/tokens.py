"""Callers with Shipyard's own API tokens, whose lookups are cached, or with a ticket at the address that takes them."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.ports.identity import Identities, Identity, Request, digest
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.tokens import TokenRecord

# The most valid tokens, and the most invalid ones, that one process caches; a full cache drops its oldest entry.
MOST_KNOWN = 1024
# The longest time to cache an invalid token. Tokens are random: a new one never equals a cached invalid one.
WRONG_SECONDS = 2.0
# The longest wait for others' lookups, which take milliseconds.
LONGEST_WAIT = 10.0


class TokenIdentities:
    """Fills ``ports.identity.Identities``; may be shared by threads.

    ``look_up`` returns the token of a secret, or raises Unauthenticated. Tokens are cached for ``cache_seconds``,
    invalid secrets for ``WRONG_SECONDS`` at most. ``at_once``: the most concurrent lookups.
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
        self._slots = threading.BoundedSemaphore(at_once)
        self._now = monotonic
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[float, Identity]] = {}
        self._wrong: dict[bytes, float] = {}

    def cached(self, request: Request) -> Identity | None:
        """Return the owner of a token that was looked up a short while ago."""
        secret = request.get("HTTP_X_AUTH_TOKEN")
        return self._cached(digest(secret), self._now()) if secret else None

    def of(self, request: Request) -> Identity:
        """Return the owner of the token; raises Unauthenticated and StoreUnavailable."""
        secret = request.get("HTTP_X_AUTH_TOKEN")
        if not secret:
            raise Unauthenticated
        sought, now = digest(secret), self._now()
        if (identity := self._cached(sought, now)) is not None:
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

    def _cached(self, sought: bytes, now: float) -> Identity | None:
        good_until, identity = self._known.get(sought, (now, None))
        return identity if now < good_until else None

    def _looked_up(self, secret: str) -> TokenRecord:
        if not self._slots.acquire(timeout=LONGEST_WAIT):
            raise StoreUnavailable("looking up tokens takes too long")
        try:
            return self._look_up(secret)
        finally:
            self._slots.release()

    def _lifetime(self, token: TokenRecord) -> float:
        """Return for how many seconds the token may be cached."""
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


class TicketIdentities:
    """Fills ``ports.identity.Identities``: tickets in the query of ``GET path``; all else is for ``others``.

    ``look_up`` returns the owner of a ticket, or raises Unauthenticated. A token, if there is one, counts instead.
    """

    def __init__(self, others: Identities, look_up: Callable[[str], Identity], path: str) -> None:
        self._others = others
        self._look_up = look_up
        self._path = path

    @property
    def challenge(self) -> str:
        """The header of the others."""
        return self._others.challenge

    def cached(self, request: Request) -> Identity | None:
        """Return the caller if no ticket is needed for it; tickets are looked up."""
        return None if self._ticket(request) else self._others.cached(request)

    def of(self, request: Request) -> Identity:
        """Return the caller."""
        ticket = self._ticket(request)
        return self._look_up(ticket) if ticket else self._others.of(request)

    def _ticket(self, request: Request) -> str:
        asked = (request.get("REQUEST_METHOD"), request.get("PATH_INFO"))
        if asked != ("GET", self._path) or request.get("HTTP_X_AUTH_TOKEN"):
            return ""
        query: str = request["QUERY_STRING"]
        return parse_qs(query).get("ticket", [""])[0]
