"""Encryption at rest."""

from typing import Protocol


class DecryptionFailed(Exception):
    """None of the keys decrypts the data: its key is missing, or the data was changed."""


class Encryption(Protocol):
    """Authenticated encryption with several keys: the newest encrypts, all of them decrypt."""

    def encrypt(self, clear: bytes) -> bytes:
        """Return the encrypted form; encrypting the same bytes twice returns two different forms."""

    def decrypt(self, encrypted: bytes) -> bytes:
        """Return the clear bytes; raises DecryptionFailed."""

    def is_newest(self, encrypted: bytes) -> bool:
        """Return whether the newest key encrypted this."""
