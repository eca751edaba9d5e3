"""Errors that only requests of Shipyard v1.0 can meet."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.api.http.errors import BodyIncomplete, BodyTooLarge, InvalidFormat
from shipyard_api.domain.errors import AskLater, Invalid, NotFound, ShipyardError
from shipyard_api.domain.findings import Finding
from shipyard_api.ports.errors import PeerError
from shipyard_api.usecases.nodes.statuses import StatusKind


@dataclass(eq=False)
class UnsupportedAction(Invalid):
    """There is no action with this name."""

    name: str


@dataclass(eq=False)
class InvalidKey(Invalid):
    """The header `Idempotency-Key` does not hold a key."""

    longest: int


@dataclass(eq=False)
class InvalidVerbosity(Invalid):
    """The parameter `verbosity` is not a digit from 0 to 5."""


@dataclass(eq=False)
class InvalidUntil(Invalid):
    """The end of a hold is neither a moment nor a duration."""

    written: str


@dataclass(eq=False)
class InvalidPlan(InvalidFormat):
    """The body names neither or both of an action and a retry."""


@dataclass(eq=False)
class ControlNotFound(NotFound):
    """There is no such control."""

    control: str


@dataclass(eq=False)
class UnknownAction(NotFound):
    """There is no action with this id, in the words of `/actions/{action_id}`."""

    action: str


@dataclass(eq=False)
class NoLogOfAction(NotFound):
    """There is no action with this id, in the words of step logs."""

    action: str


@dataclass(eq=False)
class InvalidActionId(Invalid):
    """The id in the address of a step log is not one of an action."""


@dataclass(eq=False)
class InvalidNoteId(InvalidFormat):
    """The id in the address is not one of a note."""

    note: str


@dataclass(eq=False)
class InvalidWorkflowId(Invalid):
    """The id in the address is not one of a workflow."""


@dataclass(eq=False)
class WorkflowNotFound(NotFound):
    """There is no workflow with this id."""

    workflow: str


@dataclass(eq=False)
class InvalidStatusFilter(Invalid):
    """The parameter `filters` names an unknown filter."""

    word: str


# Documents.


@dataclass(eq=False)
class LengthRequired(Invalid):
    """A load needs a body."""


@dataclass(eq=False)
class NoDocuments(Invalid):
    """The body of a load holds no document."""


@dataclass(eq=False)
class UnreadableYaml(Invalid):
    """The body of a load is not YAML that can be read."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class LoadTooLarge(ShipyardError):
    """The body of a load is larger than this server reads."""

    body: BodyTooLarge


@dataclass(eq=False)
class LoadIncomplete(Invalid):
    """The connection ended before the whole body of a load arrived."""

    body: BodyIncomplete


@dataclass(eq=False)
class InvalidBuffermode(Invalid):
    """The parameter `buffermode` is none of the modes."""

    written: str


@dataclass(eq=False)
class InvalidVersion(Invalid):
    """The parameter `version` is none of the versions."""


@dataclass(eq=False)
class InvalidDiffFormat(Invalid):
    """The parameter `format` is none of the formats of a comparison."""

    written: str


@dataclass(eq=False)
class WrongNumberOfVersions(Invalid):
    """A comparison needs exactly two versions."""


@dataclass(eq=False)
class VersionsGivenTwice(Invalid):
    """A comparison got its versions in two forms at once."""


@dataclass(eq=False)
class UnknownVersion(Invalid):
    """A version to compare is none of those that can be compared."""

    written: str
    allowed: Sequence[str]


@dataclass(eq=False)
class SameVersion(Invalid):
    """A comparison got the same version twice."""


@dataclass(eq=False)
class RevisionNotNumeric(NotFound):
    """The revision in the address is not a number."""


@dataclass(eq=False)
class NothingToExplain(NotFound):
    """The parameters choose no document of the design, or several, or it has nothing at the path to explain."""

    why: str


@dataclass(eq=False)
class BrokenDesign(ShipyardError):
    """The documents of a version cannot be rendered; `messageList` says why."""

    findings: Sequence[Finding]


# Plans and forecasts.


class TooMuchWork(AskLater):
    """The caller has used its share of processor time, or waits for several answers."""


class ServiceBusy(AskLater):
    """All callers together have used the processor time for plans and forecasts."""


# Peers.


@dataclass(eq=False)
class DetailsUnavailable(ShipyardError):
    """A note links to details that its system does not return."""

    note: str


@dataclass(eq=False)
class StatusesUnavailable(Exception):
    """The provisioner does not return the statuses of its machines."""

    kind: StatusKind
    cause: PeerError
