"""Types of setting values that several sections share."""

from enum import Enum
from typing import Self


class PeerAuth(Enum):
    """How Shipyard authenticates to a peer of Airship: by a token from the settings, or by tokens of Keystone."""

    TOKEN = "token"  # noqa: S105  # a word, not a secret
    KEYSTONE = "keystone"


class Secret(str):
    """A text whose repr is hidden."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class NodePage(str):
    """The address of a web page about a node, with ``{node}`` for its name; empty: there is none."""

    __slots__ = ()

    def __new__(cls, written: str) -> Self:
        """Parse an address; raises ValueError."""
        if written and not (written.startswith(("http://", "https://")) and "{node}" in written):
            raise ValueError(f"{written} is no address with {{node}}")
        return super().__new__(cls, written)


class Count(int):
    """A whole number, 0 or above."""

    def __new__(cls, written: str | int) -> Self:
        """Parse a count; raises ValueError."""
        number = int(written)
        if number < 0:
            raise ValueError(f"{number} is below 0")
        return super().__new__(cls, number)


class Share(float):
    """A share of a whole, above 0 and at most 1."""

    def __new__(cls, written: str | float) -> Self:
        """Parse a share; raises ValueError."""
        share = float(written)
        if not 0 < share <= 1:
            raise ValueError(f"{share} is not above 0 and at most 1")
        return super().__new__(cls, share)


class Seconds(float):
    """A duration in seconds, 0 or above. A plain float setting must be above 0."""

    def __new__(cls, written: str | float) -> Self:
        """Parse a duration; raises ValueError."""
        seconds = float(written)
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"{seconds} is not a duration")
        return super().__new__(cls, seconds)
