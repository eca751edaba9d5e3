"""Findings: validation messages and their levels.

Checks do not raise on the first fault: they return every finding, and the caller decides (contract: Status object).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.json_types import JsonObject, member, objects

MOST_NAMED = 10
"""How many items a sentence names."""


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


_LEVELS = {
    "error": Level.ERROR,
    **dict.fromkeys(("warning", "warn"), Level.WARNING),
    **dict.fromkeys(("info", "debug"), Level.INFO),
}
_LONGEST = 2000  # characters of an answer that is shown as it is


def of_status(status: object, system: str) -> tuple[Finding, ...]:
    """Return the findings of a service about a design, from its scrubbed Status object (contract: shipyard-rest, 5.5).

    A failure without an error message gets an error from its summary. Without details it is no validation result, and
    the whole answer becomes one error.
    """
    messages = listed if isinstance(listed := member(status, "details", "messageList"), list) else []
    if not isinstance(member(status, "details"), Mapping):
        return (Finding(system, Level.ERROR, json.dumps(status)[:_LONGEST], source=system),)
    failed = str(member(status, "status")).lower() != "success"
    found = tuple(_finding(entry, system, failed=failed) for entry in messages if isinstance(entry, Mapping | str))
    if failed and not errors(found):
        summary = " ".join(str(text) for key in ("message", "reason") if (text := member(status, key)))
        found += (Finding(system, Level.ERROR, summary or "The design failed validation.", source=system),)
    return found


def _finding(entry: JsonObject | str, system: str, *, failed: bool) -> Finding:
    """Return a message as a finding; a plain text is an error if the validation failed."""
    message = {"message": entry, "error": failed} if isinstance(entry, str) else entry
    level = _LEVELS.get(str(message.get("level") or "info").lower(), Level.WARNING)
    name, text, diagnostic = (str(message.get(key) or "") for key in ("name", "message", "diagnostic"))
    named = objects(message.get("documents"))
    return Finding(
        name or system,
        Level.ERROR if message.get("error") else level,
        text or diagnostic or "no message",
        documents=tuple(DocumentRef(str(one.get("schema") or ""), str(one.get("name") or "")) for one in named),
        diagnostic=diagnostic,
        source=system,
    )
