"""Seals in Fernet's form: AES-128-CBC and HMAC-SHA256 under a key of 32 bytes."""

import base64
import re
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from shipyard_api.ports.secrets import BrokenSeal

# Decoders of base64 pass over what they do not know, so a key with a slip in it would become another key unnoticed.
_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")


def new_key() -> str:
    """Return a key that nobody has had before, in the form in which keys are configured."""
    return Fernet.generate_key().decode()


class FernetSeals:
    """Fills ``ports.secrets.Seals``; ``keys`` newest first, each 32 bytes in URL-safe base64.

    Raises ValueError for what cannot be a key, naming its place and never its text.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise ValueError("there is no key to seal with")
        places: dict[bytes, int] = {}
        for place, key in enumerate(keys, start=1):
            if not _KEY.fullmatch(key):
                raise ValueError(f"key {place} is not 32 bytes in URL-safe base64 (44 characters)")
            earlier = places.setdefault(base64.urlsafe_b64decode(key), place)
            if earlier != place:
                raise ValueError(f"key {place} is the same as key {earlier}")
        each = [Fernet(key) for key in keys]
        self._newest = each[0]
        self._all = MultiFernet(each)

    def seal(self, clear: bytes) -> bytes:
        """Return the sealed form."""
        return self._newest.encrypt(clear)

    def open(self, sealed: bytes) -> bytes:
        """Return what was sealed; raises BrokenSeal."""
        try:
            return self._all.decrypt(sealed)
        except InvalidToken:
            raise BrokenSeal("none of the configured keys opens it") from None

    def is_newest(self, sealed: bytes) -> bool:
        """Say whether it was sealed with the newest key."""
        try:
            self._newest.decrypt(sealed)
        except InvalidToken:
            return False
        return True
