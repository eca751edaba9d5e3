"""An OpenID provider: its addresses and its keys, cached, and the claims of the tokens that it has signed."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import import_key

from shipyard_api.domain.error_kinds import Unauthenticated
from shipyard_api.http import HttpClient
from shipyard_api.ports.errors import Busy, PeerError, Unavailable

from .options import OidcOptions

SYSTEM = "OpenID provider"
# Signatures only: a shared secret would let each of its holders sign, and "none" everybody.
KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
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
        self._keys: tuple[Mapping[str, Any], ...] = ()
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
            header = jws.extract_compact(token.encode()).headers()
            algorithm, kind = header.get("alg"), str(header.get("typ", "JWT")).upper()
            if algorithm not in ALGORITHMS or kind not in _TYPES:
                raise Unauthenticated
            key = import_key(dict(self._key(header.get("kid"), algorithm)))
            claims: Mapping[str, Any] = jwt.decode(token, key, algorithms=[algorithm]).claims
            jwt.JWTClaimsRegistry(
                now=int(self._now()),
                leeway=int(self._options.skew_seconds),
                iss={"essential": True, "value": self._options.issuer},
                aud={"essential": True, "values": audiences},
                exp={"essential": True},
                sub={"essential": True},
                **{name: {"essential": True, "value": value} for name, value in further.items()},
            ).validate(claims)
        except (JoseError, ValueError, TypeError) as error:
            raise Unauthenticated from error
        return claims

    def _key(self, kid: Any, algorithm: str) -> Mapping[str, Any]:
        """Return the key with this id, of the type that the algorithm needs; without an id, the only such key."""
        if self._monotonic() - self._read_at > self._options.keys_seconds or not self._chosen(kid, algorithm):
            self._refresh(is_needed=not self._chosen(kid, algorithm))
        chosen = self._chosen(kid, algorithm)
        if len(chosen) != 1:
            raise Unauthenticated
        return chosen[0]

    def _chosen(self, kid: Any, algorithm: str) -> list[Mapping[str, Any]]:
        if self._monotonic() - self._read_at > self._options.keys_seconds + _LONGEST_OUTAGE:
            return []
        return [
            key
            for key in self._keys
            if key.get("kty") == KEY_TYPES[algorithm[:2]]
            and key.get("use", "sig") == "sig"
            and key.get("alg", algorithm) == algorithm
            and (kid is None or key.get("kid") == kid)
        ]

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
            self._keys = tuple(key for key in keys or () if isinstance(key, dict))
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
                verify=options.ca_file or True,
            )
        except ValueError as error:
            raise Unavailable(SYSTEM, "configuration", "it names no address of its keys") from error
        with closing(client):
            answer = client.get(address.removeprefix(client.base_url), public=True)
        if not answer.ok:
            raise Unavailable(SYSTEM, answer.operation, f"answered {answer.status}")
        return answer.object()
