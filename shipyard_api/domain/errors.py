"""Why a request is refused. Each error carries its data; a dialect of the API words it and knows its status code."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.actions import ActionName, Control
from shipyard_api.domain.documents import BufferMode, Revision, Version
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.holds import Hold


class ShipyardError(Exception):
    """Base of every error that a caller can receive; each one is a dataclass of what its answer names."""

    def __str__(self) -> str:
        return repr(self)


class Invalid(ShipyardError):
    """Base: the input breaks a rule."""


class NotFound(ShipyardError):
    """Base: there is no such thing."""


class Conflict(ShipyardError):
    """Base: the input is valid, but the current state forbids it; the same request may succeed later."""


class Precondition(ShipyardError):
    """Base: something that must come first has not been done."""


@dataclass(eq=False)
class Unauthenticated(ShipyardError):
    """The request carries no valid credentials; ``was_sent``: whether it carries any."""

    was_sent: bool = True


@dataclass(eq=False)
class Forbidden(ShipyardError):
    """The caller is known and lacks the permission; ``detail`` says more where there is more to say."""

    detail: str = ""


@dataclass(eq=False)
class AskLater(ShipyardError):
    """Base: refused for now; ``pause``: after how many seconds to ask again."""

    pause: float

    @property
    def seconds(self) -> int:
        """The pause as a whole number of at least 1."""
        return max(1, math.ceil(self.pause))


class TooManyRequests(AskLater):
    """The caller writes more often than allowed."""


@dataclass(eq=False)
class InvalidParameters(Invalid):
    """The parameters of an action have no meaning, or are refused by a strict request."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class ParametersBreakSchema(Invalid):
    """The parameters of an action do not fit its schema."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class InvalidTargets(Invalid):
    """The parameter `target_nodes` holds no names of nodes."""


@dataclass(eq=False)
class InvalidDesign(Invalid):
    """The committed documents do not make a design that the action can work from."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class UnknownNodes(Invalid):
    """The action names nodes that the design does not have."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class NothingCommitted(Precondition):
    """No documents are committed yet."""


@dataclass(eq=False)
class NoTargetRevision(Precondition):
    """There is no revision of the kind that the action is to deploy from."""

    target: str


@dataclass(eq=False)
class IntermediateCommits(Conflict):
    """Revisions were committed since the last site action, and no site action used them."""

    revisions: Sequence[Revision]


@dataclass(eq=False)
class NothingRelabels(Conflict):
    """The provisioner sets no labels of Kubernetes nodes, and no Kubernetes is configured that could be asked."""

    system: str


@dataclass(eq=False)
class NothingDrains(Conflict):
    """Servers would be destroyed without a drain, since no Kubernetes is configured; ``force`` accepts that."""

    nodes: Sequence[str]


@dataclass(eq=False)
class SiteActionRunning(Conflict):
    """Another site action runs. ``nodes``: those that both name; empty if either may work on any node."""

    action: str
    name: ActionName
    nodes: Sequence[str] = ()


@dataclass(eq=False)
class WorkUnderWay(Conflict):
    """Work of an earlier action still holds nodes; ``nodes`` is None for the whole site."""

    operation: str
    nodes: Sequence[str] | None
    job: str
    action: str
    why: str


@dataclass(eq=False)
class NodeOperationRunning(Conflict):
    """A single operation is at work on a node, and the action would disturb it."""

    action: str
    operation: str
    node: str


@dataclass(eq=False)
class NotRetried(Conflict):
    """The action is an operation on one node, which its own call repeats."""

    action: str


@dataclass(eq=False)
class NodesHeld(Conflict):
    """Nodes of the action are held."""

    holds: Sequence[Hold]


@dataclass(eq=False)
class HoldsNotOverridden(Conflict):
    """Nodes of the action are held, and the caller may not override holds."""

    holds: Sequence[Hold]


@dataclass(eq=False)
class HoldInThePast(Invalid):
    """The hold would have ended before it is placed."""

    until: datetime


@dataclass(eq=False)
class UnknownNode(NotFound):
    """Neither the committed design nor any action has this node."""

    node: str


@dataclass(eq=False)
class HoldNotFound(NotFound):
    """There is no hold with this id."""

    hold: str


@dataclass(eq=False)
class Overtaken(Conflict):
    """A newer site action has worked on nodes of the action to retry, or (no ``nodes``) deployed another revision."""

    action: str
    newer: str
    name: ActionName
    revision: int | None
    nodes: Sequence[str]
    removed: bool = False  # the nodes, for good: force does not override that


@dataclass(eq=False)
class KeyReused(Conflict):
    """The idempotency key was used before, for a different request."""

    action: str


@dataclass(eq=False)
class WrongState(Conflict):
    """The state of the action does not allow the command."""

    control: Control
    needed: str
    found: str


@dataclass(eq=False)
class NoLimits(Conflict):
    """The action has no limits that can change while it runs."""

    name: ActionName


@dataclass(eq=False)
class ActionOver(Conflict):
    """The action has ended, and nothing of it can change any more."""

    action: str


@dataclass(eq=False)
class ActionNotFound(NotFound):
    """There is no action with this id."""

    action: str


@dataclass(eq=False)
class StepNotFound(NotFound):
    """The action has no such step."""

    step: str


@dataclass(eq=False)
class StepsNotFound(NotFound):
    """The action has no steps yet."""

    action: str


@dataclass(eq=False)
class AttemptNotFound(NotFound):
    """The action has no such step, or the step no such attempt."""

    step: str
    attempt: int | None


@dataclass(eq=False)
class NodeNotFound(NotFound):
    """No action ever worked on this node."""

    node: str


@dataclass(eq=False)
class NodeNotInProvisioner(NotFound):
    """The provisioner does not know this node, so its deploy steps are unknown."""

    node: str
    system: str


@dataclass(eq=False)
class NodeNotInCluster(NotFound):
    """Kubernetes does not know the node."""

    node: str


@dataclass(eq=False)
class NoteNotFound(NotFound):
    """There is no note with this id."""

    note: str


@dataclass(eq=False)
class NoteWithoutDetails(NotFound):
    """The note links to nothing."""

    note: str


@dataclass(eq=False)
class ValidationNotFound(NotFound):
    """There is no validation with this id."""

    validation: str


# Documents.


@dataclass(eq=False)
class InvalidCollectionName(Invalid):
    """The name cannot be one of a collection."""


@dataclass(eq=False)
class InvalidDocuments(Invalid):
    """The documents of a load break a rule."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class NoEncryptionKey(Invalid):
    """The load holds secrets, and no key is configured to encrypt them with."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class DocumentsRefused(Invalid):
    """The document store refuses the documents; ``detail`` is its reason."""

    detail: str


@dataclass(eq=False)
class DeploymentVersionMissing(Invalid):
    """The load must hold a deployment version, and holds none."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class NothingLoaded(Invalid):
    """The load changed nothing."""

    collection: str


@dataclass(eq=False)
class NotRendered(Invalid):
    """The requested documents cannot be rendered."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class BufferOccupied(Conflict):
    """The buffer holds documents that this buffer mode does not replace."""

    mode: BufferMode


@dataclass(eq=False)
class BufferEmpty(Conflict):
    """There is nothing to commit."""


@dataclass(eq=False)
class BufferChanged(Conflict):
    """Another load changed the buffer while it was validated."""

    checked: Revision
    found: Revision


@dataclass(eq=False)
class Blocked(Conflict):
    """Another request changes the configdocs."""


@dataclass(eq=False)
class DocumentInOtherCollection(Conflict):
    """A document of the load belongs to another collection."""

    detail: str


@dataclass(eq=False)
class LayeringPolicyExists(Conflict):
    """The load brings a second layering policy."""

    detail: str


@dataclass(eq=False)
class RevisionNotFound(NotFound):
    """There is no revision with this number."""

    revision: int


@dataclass(eq=False)
class VersionNotFound(NotFound):
    """There is no revision of this version."""

    version: Version


@dataclass(eq=False)
class NothingToCompare(NotFound):
    """There is no revision of a version to compare."""

    version: Version


@dataclass(eq=False)
class NothingToPlan(NotFound):
    """There is no revision to plan with: the buffer is empty."""

    version: Version


@dataclass(eq=False)
class NotInBuffer(NotFound):
    """The buffer is empty or does not touch the collection."""

    collection: str


@dataclass(eq=False)
class CollectionNotFound(NotFound):
    """The version has no documents, so no such collection."""

    collection: str
    version: Version
