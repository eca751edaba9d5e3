"""A token that is always good: shared by all threads, renewed before it expires, and when somebody turns it down."""

import threading
import time
from collections.abc import Callable

from shipyard_api.ports.errors import PeerError

from .client import Grant, KeystoneClient

LONGEST_MARGIN = 60.0  # seconds before its end at which a token is no longer used; less for one that is short-lived
_SHARE = 0.25  # of its lifetime, at most, that a token goes unused


class Tokens:
    """The tokens of one user, one at a time; ``token`` and ``renew`` fit what the clients of services ask for.

    Threads that need a token while another one asks for it wait, and share what comes of it, good or bad: a Keystone
    that does not answer costs them its time limit once. The end of a token is reckoned from when it was asked for, in
    the seconds that Keystone says it lasts: our clock may differ from Keystone's.
    """

    def __init__(self, client: KeystoneClient, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._now = monotonic
        self._lock = threading.Lock()
        self._grant: Grant | None = None
        self._good_until = 0.0
        self._attempts = 0  # how often Keystone was asked, and the trouble that came of the last time
        self._trouble: PeerError | None = None
        self._given = threading.local()

    def token(self) -> str:
        """Return a token. Raises Refused, Busy or Unavailable where Keystone gives none."""
        token = self._current().token
        self._given.token = token
        return token

    def renew(self) -> None:
        """Give up the token that this thread was given last, as a service turned it down: the next one is new.

        Another thread may have done so already; then the token that it got is good for this one too.
        """
        with self._lock:
            if self._grant and self._grant.token == getattr(self._given, "token", None):
                self._grant = None

    def endpoint(self, service_type: str, *, interface: str, region: str = "") -> str:
        """Return a service's address out of the catalog that came with the token. Raises Refused if there is none."""
        return self._current().endpoint(service_type, interface=interface, region=region)

    def close(self) -> None:
        """Close the connections to Keystone."""
        self._client.close()

    def _current(self) -> Grant:
        attempts = self._attempts
        with self._lock:
            if self._grant and self._now() < self._good_until:
                return self._grant
            if self._trouble and self._attempts != attempts:
                raise self._trouble  # it came while this thread waited
            self._grant, self._trouble = None, None
            asked_at = self._now()
            try:
                self._grant = self._client.grant()
            except PeerError as error:
                self._trouble = error
                raise
            finally:
                self._attempts += 1
            lifetime = self._grant.lifetime
            self._good_until = asked_at + lifetime - min(LONGEST_MARGIN, _SHARE * lifetime)
            return self._grant
