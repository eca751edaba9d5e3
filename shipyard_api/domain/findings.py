"""One message about a document, and the levels it can have.

Checks never raise on the first fault: they return every finding, and whoever asked decides (contract: Status object).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum


class Level(Enum):
    """How much a finding weighs; the values are the words on the wire."""

    ERROR = "Error"
    WARNING = "Warning"
    INFO = "Info"


@dataclass(frozen=True, slots=True)
class DocumentRef:
    """Which document of the design a finding is about; ``layer`` is empty where it does not matter."""

    schema: str
    name: str
    layer: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One validation message.

    ``name`` is the constant word of the check (scripts compare it), ``message`` says what is wrong and what would be
    right, ``path`` is the place inside the document's ``data`` as a JSON pointer (empty for the document as a whole),
    ``source`` the peer that found it (empty: Shipyard itself).
    """

    name: str
    level: Level
    message: str
    documents: tuple[DocumentRef, ...] = ()
    path: str = ""
    diagnostic: str = ""
    source: str = ""

    def about(self, document: DocumentRef) -> "Finding":
        """Return the same finding, tied to a document."""
        return replace(self, documents=(*self.documents, document))


def error(name: str, message: str, *, path: str = "", diagnostic: str = "") -> Finding:
    """Return a finding that makes its document unacceptable."""
    return Finding(name, Level.ERROR, message, path=path, diagnostic=diagnostic)


def warning(name: str, message: str, *, path: str = "", diagnostic: str = "") -> Finding:
    """Return a finding that an operator should look at, but that blocks nothing."""
    return Finding(name, Level.WARNING, message, path=path, diagnostic=diagnostic)


def info(name: str, message: str, *, path: str = "", diagnostic: str = "") -> Finding:
    """Return a finding that is only good to know."""
    return Finding(name, Level.INFO, message, path=path, diagnostic=diagnostic)


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return those findings that block, in order."""
    return tuple(finding for finding in findings if finding.level is Level.ERROR)
