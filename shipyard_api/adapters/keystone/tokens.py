"""A valid token, shared by all threads; renewed before it expires, and when a service rejects it."""

import threading
import time
from collections.abc import Callable

from shipyard_api.ports.errors import PeerError

from .client import Grant, KeystoneClient

LONGEST_MARGIN = 60.0  # seconds before expiry at which a token is renewed; less for a short-lived one
_SHARE = 0.25  # the share of its lifetime that a token goes unused, at most


class Tokens:
    """The tokens of one user, one at a time; ``token`` and ``renew`` match the arguments of the services' clients.

    Threads that need a token during a request for one wait, and share its outcome or error: a Keystone that does not
    answer costs them one timeout. A token's expiry is computed from the time of the request and the lifetime that
    Keystone reports, because our clock may differ from Keystone's.
    """

    def __init__(self, client: KeystoneClient, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._now = monotonic
        self._lock = threading.Lock()
        self._grant: Grant | None = None
        self._good_until = 0.0
        self._attempts = 0  # requests so far; _error is that of the last one
        self._error: PeerError | None = None
        self._given = threading.local()

    def token(self) -> str:
        """Return a token. Raises Refused, Busy or Unavailable if Keystone issues none."""
        token = self._current().token
        self._given.token = token
        return token

    def renew(self) -> None:
        """Discard the token that this thread got last, because a service rejected it: the next one is new.

        If another thread has renewed it already, this thread shares the new token.
        """
        with self._lock:
            if self._grant and self._grant.token == getattr(self._given, "token", None):
                self._grant = None

    def endpoint(self, service_type: str, *, interface: str, region: str = "") -> str:
        """Return a service's address from the token's catalog. Raises Refused if there is none."""
        return self._current().endpoint(service_type, interface=interface, region=region)

    def close(self) -> None:
        """Close the connections to Keystone."""
        self._client.close()

    def _current(self) -> Grant:
        attempts = self._attempts
        with self._lock:
            if self._grant and self._now() < self._good_until:
                return self._grant
            if self._error and self._attempts != attempts:
                raise self._error  # raised while this thread waited
            self._grant, self._error = None, None
            asked_at = self._now()
            try:
                self._grant = self._client.grant()
            except PeerError as error:
                self._error = error
                raise
            finally:
                self._attempts += 1
            lifetime = self._grant.lifetime
            self._good_until = asked_at + lifetime - min(LONGEST_MARGIN, _SHARE * lifetime)
            return self._grant
