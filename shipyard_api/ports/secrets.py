"""Keeping secrets so that only the holder of a key can read them."""

from typing import Protocol


class BrokenSeal(Exception):
    """None of the keys opens it: the key is gone, or somebody changed what was sealed."""


class Seals(Protocol):
    """Authenticated encryption under several keys, of which the newest seals and all open."""

    def seal(self, clear: bytes) -> bytes:
        """Return the sealed form; sealing the same twice gives two different ones."""

    def open(self, sealed: bytes) -> bytes:
        """Return what was sealed; raises BrokenSeal."""

    def is_newest(self, sealed: bytes) -> bool:
        """Say whether it was sealed with the newest key."""
