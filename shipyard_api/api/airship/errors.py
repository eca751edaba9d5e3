"""How Shipyard v1.0 words errors and their causes, and the errors that only its requests can meet."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from shipyard_api.api.http.errors import Broken, InvalidFormat, Overloaded, quoted
from shipyard_api.domain import errors as domain
from shipyard_api.domain.actions import Control
from shipyard_api.domain.documents import BufferMode
from shipyard_api.domain.error_kinds import (
    NAMED,
    AskLater,
    ErrorKind,
    Invalid,
    NotFound,
    Sentence,
    ShipyardError,
    Text,
    joined,
    whole_seconds,
)
from shipyard_api.domain.errors import UNSUITABLE
from shipyard_api.ports.errors import PeerError
from shipyard_api.usecases.actions.request import listed
from shipyard_api.usecases.nodes.list import StatusKind

# As many characters of what a caller wrote are repeated and compared.
_QUOTED = 60
_LONGEST_PATH = 200


def unknown_word(kind: str, written: str, known: Collection[str]) -> str:
    """Return that a word is none of the known ones, with the nearest and the list."""
    near = get_close_matches(written[:_QUOTED].lower(), known, 1)
    guess = f" Did you mean '{near[0]}'?" if near else ""
    return f"There is no {kind} '{quoted(written)}'.{guess} It is one of: {', '.join(known)}"


def unknown_address(path: str, templates: Collection[str]) -> str:
    """Return that an address does not exist, with the nearest one. ``templates``: addresses with parts in braces."""
    path = path[:_LONGEST_PATH]
    parts = path.split("/")
    filled = {_filled(template, parts): template for template in templates}
    near = get_close_matches(path, filled, 1)
    guess = f" The nearest is {filled[near[0]]}." if near else ""
    return f"There is no address {path}.{guess} GET /openapi.json lists all of them"


def wrong_method(method: str, path: str, allowed: str) -> str:
    """Return which methods an address takes."""
    return f"{path[:_LONGEST_PATH]} does not take {method[:_QUOTED]}; it takes {allowed}"


def _filled(template: str, parts: list[str]) -> str:
    """Return the template with the path's own segments where it takes any."""
    segments = template.split("/")
    return "/".join(
        parts[place] if part.startswith("{") and place < len(parts) else part for place, part in enumerate(segments)
    )


_VERSION_COUNT = "Incorrect number of versions for comparison"


@dataclass(eq=False)
class StatusesUnavailable(Exception):
    """The provisioner does not return the statuses of its machines."""

    kind: StatusKind
    cause: PeerError


InvalidVerbosity = ErrorKind(
    Invalid,
    "InvalidVerbosity",
    "Invalid verbosity parameter",
    lambda: "If specified, verbosity parameter should be a value from 0 to 5",
)

# Actions.

UnsupportedAction = ErrorKind(
    Invalid,
    "UnsupportedAction",
    "Unable to start action",
    lambda name: Text(f"Unsupported Action: {name}", unknown_word("action", name, list(listed()))),
)
InvalidKey = ErrorKind(
    Invalid,
    "InvalidKey",
    "Invalid Idempotency-Key",
    lambda longest: f"The key has 1 to {longest} printable characters of ASCII",
)
InvalidUntil = ErrorKind(
    Invalid,
    "InvalidUntil",
    "Invalid hold",
    lambda written: (
        f"until is {quoted(written)!r}; write a time such as 2026-11-21T12:00:00Z or a duration such as P1D or PT4H"
    ),
)
InvalidPlan = ErrorKind(
    InvalidFormat,
    "InvalidPlan",
    "JSON validation failed: either the name of an action or a retry",
    lambda: (
        'Name an action with {"name": ACTION}, perhaps with "parameters" and "version", or a retry with '
        '{"retry": ACTION_ID} and neither of them'
    ),
)
ControlNotFound = ErrorKind(
    NotFound,
    "ControlNotFound",
    "Control not supported",
    lambda word: Text(f"Unknown control {word}", unknown_word("control", word, [known.value for known in Control])),
)
UnknownAction = ErrorKind(NotFound, "UnknownAction", "Action not found", lambda action: f"Unknown Action: {action}")
NoLogOfAction = ErrorKind(NotFound, "NoLogOfAction", "Action Not Found!", lambda action: f"Unknown Action {action}")
InvalidActionId = ErrorKind(
    Invalid, "InvalidActionId", "Invalid Action ID!", lambda: "An invalid action ID was specified"
)
InvalidNoteId = ErrorKind(
    InvalidFormat,
    "InvalidNoteId",
    "Notes ID values are 26 character ULID values",
    lambda note: f"Invalid note_id: {note} in URL",
)
DetailsUnavailable = ErrorKind(
    Broken,
    "DetailsUnavailable",
    "Unable to retrieve URL information for note",
    lambda note: f"Note {note} has additional information, but it cannot be accessed by Shipyard at this time",
)
InvalidWorkflowId = ErrorKind(
    Invalid,
    "InvalidWorkflowId",
    "Invalid Workflow ID specified",
    lambda: "Workflow id must use {dag id}__{execution date} format",
)
WorkflowNotFound = ErrorKind(
    NotFound, "WorkflowNotFound", "Workflow not found", lambda workflow: f"A Workflow with id {workflow} was not found"
)
InvalidStatusFilter = ErrorKind(
    Invalid,
    "InvalidStatusFilter",
    "Not a valid status filter",
    lambda word: Text(
        f"filter {word} is not supported", unknown_word("filter", word, [known.value for known in StatusKind])
    ),
)

# Documents.

LengthRequired = ErrorKind(
    Invalid, "LengthRequired", "Content-Length is a required header", lambda: "Content Length is 0 or not specified"
)
NoDocuments = ErrorKind(
    Invalid,
    "NoDocuments",
    UNSUITABLE,
    lambda: "The body holds no document; use empty-collection=true to empty the collection",
)
UnreadableYaml = ErrorKind(Invalid, "UnreadableYaml", UNSUITABLE, joined("", 1))
InvalidBuffermode = ErrorKind(
    Invalid,
    "InvalidBuffermode",
    "Invalid buffermode",
    lambda written: f"'{written}' is none of: {', '.join(mode.value for mode in BufferMode)}",
)
InvalidVersion = ErrorKind(
    Invalid,
    "InvalidVersion",
    "Invalid version query parameter specified",
    lambda: "version must be buffer, committed, last_site_action, successful_site_action",
)
InvalidDiffFormat = ErrorKind(
    Invalid, "InvalidDiffFormat", "Invalid format", lambda written: f"'{written}' is none of: json, unified"
)
WrongNumberOfVersions = ErrorKind(
    Invalid, "WrongNumberOfVersions", _VERSION_COUNT, lambda: "User must pass in 2 valid versions for comparison"
)
VersionsGivenTwice = ErrorKind(
    Invalid,
    "VersionsGivenTwice",
    _VERSION_COUNT,
    lambda: "Give either 'versions' or 'base-version' and 'diff-version', not both",
)
UnknownVersion = ErrorKind(
    Invalid,
    "UnknownVersion",
    "Invalid version detected",
    lambda written, allowed: f"{written} is not a valid version, which include: {', '.join(allowed)}",
)
SameVersion = ErrorKind(
    Invalid,
    "SameVersion",
    "Versions must be different for comparison",
    lambda: "Versions must be unique in order to perform comparison",
)
RevisionNotNumeric = ErrorKind(
    NotFound, "RevisionNotNumeric", "Revision not found", lambda: "A revision is a whole number"
)
NothingToExplain = ErrorKind(NotFound, "NothingToExplain", "Nothing to explain", lambda why: why)
# The contract's family, although the design is at fault and not the server.
BrokenDesign = ErrorKind(Broken, "BrokenDesign", "Deckhand indicated an error while rendering", joined("; ", NAMED))

# Plans and forecasts.

TooMuchWork = ErrorKind(
    AskLater,
    "TooMuchWork",
    "Too many plans and forecasts",
    lambda pause: (
        "This caller waits for several answers, or has used its share of processor time; ask again in "
        f"{whole_seconds(pause)} s"
    ),
    retry=True,
)
ServiceBusy = ErrorKind(
    Overloaded,
    "ServiceBusy",
    "Too many plans and forecasts",
    lambda pause: f"All callers together have used the processor time for them; ask again in {whole_seconds(pause)} s",
    retry=True,
)


WORDS: Mapping[ErrorKind[..., ShipyardError], Sentence] = {
    domain.NothingCommitted: lambda: Text("Unable to locate a committed revision in Deckhand", domain.NOT_COMMITTED),
    domain.NotRendered: lambda findings: Text(joined("; ", NAMED)(findings), title=BrokenDesign.title),
}
"""The sentences of this dialect in place of those of the tables."""

# Contract: shipyard-rest, 5.1 has AppError, and 5.2 to 5.5 have ApiError.
_APP_ERRORS = frozenset[ErrorKind[..., ShipyardError]](
    {
        domain.NothingToCompare,
        InvalidDiffFormat,
        WrongNumberOfVersions,
        VersionsGivenTwice,
        UnknownVersion,
        SameVersion,
    }
)


def text_of(failed: ShipyardError) -> Text:
    """Return how an error is worded."""
    return failed.text(WORDS)


def error_type_of(kind: ErrorKind[..., ShipyardError]) -> str:
    """Return the ``errorType`` of an error."""
    if kind in _APP_ERRORS:
        return "AppError"
    return "InvalidFormatError" if issubclass(kind.family, InvalidFormat) else "ApiError"
