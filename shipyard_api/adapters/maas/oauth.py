"""Authentication to MAAS: an API key, and its header for one request (OAuth 1.0, PLAINTEXT; contract maas, 2)."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote

from shipyard_api.http import Headers


@dataclass(frozen=True)  # without slots: what is constant in its headers is quoted once
class ApiKey:
    """The three parts of an API key; only the first is ever shown."""

    consumer: str
    token: str = field(repr=False)
    secret: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "ApiKey":
        """Parse a key as MAAS shows it. Raises ValueError, without the text, for an invalid key."""
        parts = text.strip().split(":")
        if len(parts) != 3 or not all(part and part.isascii() and part.isprintable() for part in parts):
            raise ValueError("a MAAS API key has three parts joined by colons: consumer key, token key, token secret")
        return cls(*parts)

    def header(self, *, nonce: str, timestamp: int) -> str:
        """Return the value of the Authorization header for one attempt of one request. ``nonce``: hexadecimal."""
        return f'{self._constant}, oauth_timestamp="{timestamp}", oauth_nonce="{nonce}"'

    @cached_property
    def _constant(self) -> str:
        """What all requests share, quoted once."""
        fields = {
            "oauth_version": "1.0",
            "oauth_signature_method": "PLAINTEXT",
            "oauth_consumer_key": self.consumer,
            "oauth_token": self.token,
            # The consumer's secret is empty in MAAS, so the signature begins with the separator.
            "oauth_signature": f"&{self.secret}",
        }
        return 'OAuth realm="OAuth", ' + ", ".join(
            f'{name}="{quote(value, safe="")}"' for name, value in fields.items()
        )


def signer(key: ApiKey, now: Callable[[], float] = time.time) -> Callable[[], Headers]:
    """Return a function that signs: its headers are new at every call, because MAAS refuses a nonce it has seen."""

    def sign() -> Headers:
        return {"Authorization": key.header(nonce=secrets.token_hex(16), timestamp=int(now()))}

    return sign
