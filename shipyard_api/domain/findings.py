"""Findings: validation messages and their levels.

Checks do not raise on the first fault: they return every finding, and the caller decides (contract: Status object).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

MOST_NAMED = 10
"""How many nodes, or whatever it is about, a sentence names."""


class Level(Enum):
    """Severity of a finding; the values are the words on the wire."""

    ERROR = "Error"
    WARNING = "Warning"
    INFO = "Info"


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """Reference to a document of the design; ``layer`` is empty where it does not matter.

    ``path``: JSON pointer into the document to the place that a finding is about, if there is one.
    """

    schema: str
    name: str
    layer: str = ""
    path: str = field(default="", compare=False)


class Finding(Struct, frozen=True):
    """One validation message.

    ``name``: constant word of the check, for scripts. ``message``: the fault and its remedy. ``path``: JSON
    pointer into the first document's ``data``, or into the document if it begins with ``/metadata``; empty for the
    whole document. ``source``: the peer that reported it; empty for
    Shipyard itself.
    """

    name: str
    level: Level
    message: str
    documents: tuple[DocumentRef, ...] = ()
    path: str = ""
    diagnostic: str = ""
    source: str = ""

    def about(self, document: DocumentRef) -> "Finding":
        """Return the same finding with a further document."""
        return replace(self, documents=(*self.documents, document))


def in_short(texts: Iterable[object], most: int = MOST_NAMED, between: str = ", ", more: str = " and {} more") -> str:
    """Return the first ``most`` texts as part of a sentence, and after them how many ``more`` there are."""
    every = list(texts)
    return between.join(map(str, every[:most])) + (more.format(len(every) - most) if len(every) > most else "")


def messages_in_short(findings: Iterable[Finding], most: int = 1) -> str:
    """Return the first messages, and how many more there are; empty if there are none."""
    return in_short((finding.message for finding in findings), most, " ", " (and {} more)")


def error(name: str, message: str, *, path: str = "", diagnostic: str = "") -> Finding:
    """Return a finding that makes its document invalid."""
    return Finding(name, Level.ERROR, message, path=path, diagnostic=diagnostic)


def warning(name: str, message: str, *, path: str = "", diagnostic: str = "") -> Finding:
    """Return a finding that an operator should check, but that blocks nothing."""
    return Finding(name, Level.WARNING, message, path=path, diagnostic=diagnostic)


def info(name: str, message: str, *, path: str = "", diagnostic: str = "") -> Finding:
    """Return a finding for information."""
    return Finding(name, Level.INFO, message, path=path, diagnostic=diagnostic)


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of level error, in order."""
    return tuple(finding for finding in findings if finding.level is Level.ERROR)


def hidden_character(text: str, *, but: str = "") -> str | None:
    """Return the code of the first character that is not shown, or changes how others are shown; None without one.

    ``but``: such characters that are allowed, as line breaks of a long text.
    """
    return next(
        (f"U+{ord(character):04X}" for character in text if not character.isprintable() and character not in but), None
    )
