"""Encryption with Fernet: AES-128-CBC and HMAC-SHA256 with a key of 32 bytes."""

import base64
import re
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from shipyard_api.ports.encryption import DecryptionFailed

# Base64 decoders skip unknown characters, so a mistyped key would silently become another key.
_KEY = re.compile(r"[A-Za-z0-9_-]{43}=")


def new_key() -> str:
    """Return a new random key in the form in which keys are configured."""
    return Fernet.generate_key().decode()


class FernetEncryption:
    """Fills ``ports.encryption.Encryption``; ``keys`` newest first, each 32 bytes in URL-safe base64.

    Raises ValueError for an invalid key. The message has the key's position, never its text.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise ValueError("there is no key to encrypt with")
        positions: dict[bytes, int] = {}
        for position, key in enumerate(keys, start=1):
            if not _KEY.fullmatch(key):
                raise ValueError(f"key {position} is not 32 bytes in URL-safe base64 (44 characters)")
            earlier = positions.setdefault(base64.urlsafe_b64decode(key), position)
            if earlier != position:
                raise ValueError(f"key {position} is the same as key {earlier}")
        each = [Fernet(key) for key in keys]
        self._newest = each[0]
        self._all = MultiFernet(each)

    def encrypt(self, clear: bytes) -> bytes:
        """Return the encrypted form."""
        return self._newest.encrypt(clear)

    def decrypt(self, encrypted: bytes) -> bytes:
        """Return the clear bytes; raises DecryptionFailed."""
        try:
            return self._all.decrypt(encrypted)
        except InvalidToken:
            raise DecryptionFailed("none of the configured keys decrypts it") from None

    def is_newest(self, encrypted: bytes) -> bool:
        """Return whether the newest key encrypted this."""
        try:
            self._newest.decrypt(encrypted)
        except InvalidToken:
            return False
        return True
