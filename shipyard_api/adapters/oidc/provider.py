"""An OpenID provider: its addresses and its keys, cached, and the claims of the tokens that it has signed."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet, import_key

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.http import HttpClient
from shipyard_api.ports.errors import Busy, PeerError, Unavailable

from . import OidcOptions

SYSTEM = "OpenID provider"
# Signatures only: a shared secret would let each of its holders sign, and "none" everybody.
ALGORITHMS = frozenset((
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
))  # fmt: skip
# RFC 9068 and RFC 7519; anything else, such as a logout token, was signed for another purpose.
_TYPES = ("JWT", "AT+JWT", "APPLICATION/AT+JWT")
# Seconds between two reads of the keys for unknown ones, which strangers can name at will; and after a failure.
_PAUSE = 5.0
# How long keys are used while the provider cannot be asked.
_LONGEST_OUTAGE = 3600.0


class Provider:
    """May be shared by threads. Nothing is asked before it is needed."""

    def __init__(
        self,
        options: OidcOptions,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self._now = now
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._keys = KeySet([])
        self._read_at = self._asked_at = -float("inf")
        self._metadata: Mapping[str, Any] = {}

    def metadata(self) -> Mapping[str, Any]:
        """Return the provider's configuration (OpenID Connect Discovery 1.0). Raises PeerError."""
        if not self._metadata:
            found = self._get(self._options.issuer.rstrip("/") + "/.well-known/openid-configuration")
            if found.get("issuer") != self._options.issuer:
                raise Unavailable(SYSTEM, "configuration", f"its issuer is {found.get('issuer')}")
            self._metadata = found
        return self._metadata

    def known(self) -> Mapping[str, Any]:
        """Return the configuration as far as it was read."""
        return self._metadata

    def claims(self, token: str, audiences: list[str], **further: str) -> Mapping[str, Any]:
        """Return the claims of a token that the provider has signed for one of the audiences.

        ``further``: claims that must have this value. Raises Unauthenticated; PeerError if the keys cannot be read.
        """
        try:
            found = self._decoded(token)
            if str(found.header.get("typ", "JWT")).upper() not in _TYPES:
                raise Unauthenticated
            jwt.JWTClaimsRegistry(
                now=int(self._now()),
                leeway=int(self._options.skew_seconds),
                iss={"essential": True, "value": self._options.issuer},
                aud={"essential": True, "values": audiences},
                exp={"essential": True},
                sub={"essential": True},
                **{name: {"essential": True, "value": value} for name, value in further.items()},
            ).validate(found.claims)
        except (JoseError, ValueError, TypeError) as error:
            raise Unauthenticated from error
        return dict(found.claims)

    def _decoded(self, token: str) -> jwt.Token:
        """Return a token with a good signature, of the key with its id; without an id, of the only key."""
        age = self._monotonic() - self._read_at
        try:
            known = self._keys if age <= self._options.keys_seconds + _LONGEST_OUTAGE else KeySet([])
            found = jwt.decode(token, known, ALGORITHMS)
            if age <= self._options.keys_seconds:
                return found
            self._refresh(is_needed=False)
        except InvalidKeyIdError:
            self._refresh(is_needed=True)
        return jwt.decode(token, self._keys, ALGORITHMS)

    def _refresh(self, *, is_needed: bool) -> None:
        """Read the keys. One thread asks; those who need a new key meanwhile get Busy, and others use the old ones."""
        if not self._lock.acquire(blocking=False):
            if is_needed:
                raise Busy(SYSTEM, "keys", "its keys are being read", retry_after=1.0)
            return
        try:
            if self._monotonic() - self._asked_at < _PAUSE:
                if is_needed and self._read_at < self._asked_at:
                    raise Unavailable(SYSTEM, "keys", "its keys could not be read a moment ago")
                return
            self._asked_at = self._monotonic()
            keys = self._get(str(self.metadata().get("jwks_uri"))).get("keys")
            self._keys = KeySet(list(_usable(keys or ())))
            self._read_at = self._monotonic()
        except PeerError:
            if is_needed:
                raise
        finally:
            self._lock.release()

    def _get(self, address: str) -> Mapping[str, Any]:
        options, parts = self._options, urlsplit(address)
        try:
            client = HttpClient(
                f"{parts.scheme}://{parts.netloc}",
                system=SYSTEM,
                connect_timeout=options.answer_seconds,
                read_timeout=options.answer_seconds,
                total_timeout=options.answer_seconds,
                read_attempts=1,
                ca_file=options.ca_file,
            )
        except ValueError as error:
            raise Unavailable(SYSTEM, "configuration", "it names no address of its keys") from error
        with closing(client):
            answer = client.get(address.removeprefix(client.base_url), public=True)
        if not answer.ok:
            raise Unavailable(SYSTEM, answer.operation, f"answered {answer.status}")
        return answer.object()


def _usable(keys: Iterable[Any]) -> Iterator[Any]:
    """Yield the keys that are understood; the others do not matter (RFC 7517, section 5)."""
    for key in keys:
        with suppress(JoseError, LookupError, TypeError, ValueError):
            yield import_key(key)
