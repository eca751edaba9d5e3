"""Authentication: users with their API keys, and the OAuth header of each request."""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from shipyard_simulators.maas.errors import MaasError

WINDOW = 300
_NONCES_KEPT = 24 * 3600
_NEEDED = (
    "oauth_consumer_key",
    "oauth_token",
    "oauth_signature",
    "oauth_signature_method",
    "oauth_timestamp",
    "oauth_nonce",
)
_PAIR = re.compile(r'\s*([A-Za-z_]+)="([^"]*)"\s*')


@dataclass(frozen=True, slots=True)
class ApiUser:
    """A user and its API key."""

    name: str
    key: str
    administrator: bool = True


class Accounts:
    """All users. Without any, every well-formed key belongs to an administrator."""

    def __init__(self, accounts: Sequence[ApiUser]) -> None:
        self._accounts = tuple(accounts)
        self._nonces: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    @property
    def first(self) -> str:
        """The default owner of machines."""
        return self._accounts[0].name if self._accounts else OPEN_TO_ALL

    def admit(self, header: str | None, now: float) -> ApiUser:
        """Return the user who signed the request with this header. Raises MaasError."""
        if not header or not header.startswith("OAuth "):
            raise MaasError(401, "Authorization Required")
        values = dict(_pair(part) for part in header.removeprefix("OAuth ").split(","))
        missing = [name for name in _NEEDED if not values.get(name)]
        if missing:
            raise _refused(f"Missing OAuth parameters: {', '.join(missing)}.")
        if values.get("oauth_version", "1.0") != "1.0":
            raise MaasError(400, f"OAuth version {values['oauth_version']} not supported.")
        if values["oauth_signature_method"] != "PLAINTEXT":
            raise MaasError(400, f"Signature method {values['oauth_signature_method']} not supported.")
        stamp = values["oauth_timestamp"]
        if not stamp.isascii() or not stamp.isdigit():
            raise MaasError(400, f"invalid literal for int() with base 10: '{stamp}'")
        account = self._account(values)
        if int(stamp) < now - WINDOW:
            raise _refused(
                f"Expired timestamp: given {stamp} and now {int(now)} has a greater difference than {WINDOW}."
            )
        self._use((values["oauth_token"], values["oauth_nonce"]), now)
        return account

    def _account(self, values: dict[str, str]) -> ApiUser:
        consumer, token, signature = (values[f"oauth_{name}"] for name in ("consumer_key", "token", "signature"))
        secret = signature.removeprefix("&")
        if not self._accounts and signature.startswith("&") and secret:
            return ApiUser(OPEN_TO_ALL, f"{consumer}:{token}:{secret}")
        for account in self._accounts:
            known_consumer, known_token, known_secret = account.key.split(":")
            if (consumer, token) == (known_consumer, known_token):
                if signature != f"&{known_secret}":
                    raise _refused("Invalid signature.")
                return account
        raise _refused("Invalid API key.")

    def _use(self, nonce: tuple[str, str], now: float) -> None:
        with self._lock:
            if nonce in self._nonces:
                raise _refused(f"Nonce already used: {nonce[1]}.")
            self._nonces[nonce] = now
            if len(self._nonces) % 10_000 == 0:
                self._nonces = {each: used for each, used in self._nonces.items() if used > now - _NONCES_KEPT}


OPEN_TO_ALL = "shipyard"
"""The user of every key if no users are configured."""


def key_faults(key: str) -> list[str]:
    """Return the faults of an API key."""
    parts = key.split(":")
    return [] if len(parts) == 3 and all(parts) else ["an API key is three parts joined by colons"]


def _pair(part: str) -> tuple[str, str]:
    found = _PAIR.fullmatch(part)
    if not found:
        raise _refused(f"{part.strip()!r} is no OAuth parameter.")
    return found[1], unquote(found[2])


def _refused(why: str) -> MaasError:
    return MaasError(401, f"Authorization Error: {why}")
