"""Types of setting values that several sections share. ``WANTED`` describes the values of a type in an error."""

import ssl
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import ClassVar, Self

from shipyard_api.http import checked_base


class SettingsError(Exception):
    """Invalid settings; ``faults`` names each one and where it is set."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


LARGEST_SECONDS = 1_000_000.0
"""The largest float setting: sockets and locks refuse timeouts that are much longer."""
LARGEST_NUMBER = 1_000_000_000


class PeerAuth(Enum):
    """How Shipyard authenticates to a peer of Airship: by a token from the settings, or by tokens of Keystone."""

    TOKEN = "token"  # noqa: S105  # a word, not a secret
    KEYSTONE = "keystone"


class Secret(str):
    """A text whose repr is hidden."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


class HeaderSecret(Secret):
    """A secret that is sent in a header."""

    __slots__ = ()
    WANTED: ClassVar[str] = "printable ASCII, as a header must be"

    def __new__(cls, written: str) -> Self:
        """Check a secret; raises ValueError."""
        if not (written.isascii() and (written.isprintable() or not written)):
            raise ValueError("a header cannot hold it")
        return super().__new__(cls, written)


class Address(str):
    """The base address of a peer; empty: there is none."""

    __slots__ = ()
    WANTED: ClassVar[str] = "an address that starts with http:// or https://, without user, query and fragment"

    def __new__(cls, written: str) -> Self:
        """Check an address; raises ValueError."""
        if written:
            checked_base(written)
        return super().__new__(cls, written)


class NodePage(str):
    """The address of a web page about a node, with ``{node}`` for its name; empty: there is none."""

    __slots__ = ()
    WANTED: ClassVar[str] = "an address that starts with http:// or https:// and has {node} for the name"

    def __new__(cls, written: str) -> Self:
        """Parse an address; raises ValueError."""
        if written and not (written.startswith(("http://", "https://")) and "{node}" in written):
            raise ValueError(f"{written} is no address with {{node}}")
        return super().__new__(cls, written)


class Contact(str):
    """The address of people as a URI; empty: there is none."""

    __slots__ = ()
    WANTED: ClassVar[str] = "an address that starts with mailto:, https:// or tel:"

    def __new__(cls, written: str) -> Self:
        """Parse an address; raises ValueError."""
        is_uri = written.startswith(("mailto:", "https://", "tel:")) and written.isascii() and written.isprintable()
        if written and (not is_uri or " " in written):
            raise ValueError(f"{written} is no contact")
        return super().__new__(cls, written)


class Count(int):
    """A whole number, 0 or above."""

    WANTED: ClassVar[str] = "a whole number, 0 or above"
    LARGEST: ClassVar[int] = LARGEST_NUMBER

    def __new__(cls, written: str | int) -> Self:
        """Parse a count; raises ValueError."""
        number = int(written)
        if not 0 <= number <= cls.LARGEST:
            raise ValueError(f"{number} is below 0 or above {cls.LARGEST}")
        return super().__new__(cls, number)


class Port(Count):
    """The number of a port; 0: none."""

    WANTED: ClassVar[str] = "the number of a port, 0 to 65535"
    LARGEST: ClassVar[int] = 65535


class Share(float):
    """A share of a whole, above 0 and at most 1."""

    WANTED: ClassVar[str] = "a number above 0 and at most 1"

    def __new__(cls, written: str | float) -> Self:
        """Parse a share; raises ValueError."""
        share = float(written)
        if not 0 < share <= 1:
            raise ValueError(f"{share} is not above 0 and at most 1")
        return super().__new__(cls, share)


class Seconds(float):
    """A duration in seconds, 0 or above. A plain float setting must be above 0."""

    WANTED: ClassVar[str] = "a number, 0 or above"

    def __new__(cls, written: str | float) -> Self:
        """Parse a duration; raises ValueError."""
        seconds = float(written)
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"{seconds} is not a duration")
        return super().__new__(cls, seconds)


def authority_faults(setting: str, file: str) -> Iterator[str]:
    """Yield why a file is no list of certificate authorities; nothing for an empty name."""
    if not file:
        return
    path = Path(file)
    if not path.is_file():
        yield f"{setting}: there is no file {file}"
        return
    try:
        ssl.create_default_context(cafile=str(path))
    except OSError:
        yield f"{setting}: {file} holds no certificates in the format PEM, or cannot be read"


def file_text(setting: str, file: str) -> str:
    """Return the text in a file that a setting names; an empty one without a name. Raises SettingsError."""
    if not file:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"{setting}: {error}"]) from error
