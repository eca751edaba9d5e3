"""The errors of requests about actions, nodes and documents: a row for each, with its sentence.

The sentences are those of Shipyard v1.0 (contract: shipyard-rest), which clients compare.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from shipyard_api.domain.actions import Control
from shipyard_api.domain.documents import COLLECTION_LIMIT, Version
from shipyard_api.domain.error_kinds import (
    NAMED,
    AskLater,
    Conflict,
    ErrorKind,
    Invalid,
    NotFound,
    NotOverridden,
    Precondition,
    Reused,
    Text,
    joined,
    named,
    some,
    whole_seconds,
)
from shipyard_api.domain.findings import Finding, error, in_short
from shipyard_api.domain.holds import Hold, by_node

UNSUITABLE = "Document(s) invalid syntax or otherwise unsuitable"
"""The title of all that can be wrong with documents that are loaded."""
NOT_COMMITTED = "Nothing is committed yet. Load documents, then commit them: shipyard commit configdocs"
"""Why there is no committed revision, and what to do."""

_NO_VERSION = {
    Version.BUFFER: "The buffer is empty. Load documents, or ask for version=committed",
    Version.COMMITTED: NOT_COMMITTED,
    Version.LAST_SITE_ACTION: "No site action has ended yet",
    Version.SUCCESSFUL_SITE_ACTION: "No site action has succeeded yet",
}
_UNABLE_TO_COMMIT = "Unable to commit configuration documents"
_WITHOUT_KUBERNETES = "no Kubernetes is configured"
_DONE = {
    Control.PAUSE: "paused",
    Control.UNPAUSE: "unpaused",
    Control.STOP: "stopped",
    Control.RETRY: "retried",
    Control.ACKNOWLEDGE: "acknowledged",
}
# Controls that the contract does not have, so that it has no sentence for them either.
_OF_FAILURES = (Control.RETRY, Control.ACKNOWLEDGE)


def _running(action: str, name: str, nodes: Sequence[str] = ()) -> str:
    """Return why an action is refused beside another one; runs of tasks exclude each other on shared nodes only."""
    ending = "; only one site action can run at a time. Wait until it has ended, then ask again."
    if nodes:
        ending = f" on {named(nodes)}. Wait until it has ended, or leave these nodes out."
    return f"{name} {action} is running{ending}"


def _under_way(operation: str, nodes: Sequence[str] | None, job: str, action: str, why: str) -> str:
    what = "the site" if nodes is None else named(nodes)
    return (
        f"{operation} of {what} is still under way: job {job} of action {action} ({why}). Wait until it has ended, or "
        "use the parameter force=true."
    )


def _overtaken(
    action: str, newer: str, name: str, revision: int | None, nodes: Sequence[str], *, removed: bool = False
) -> str:
    """Return which newer action did what; ``removed``: took the nodes down for good, which force does not override."""
    done = f"worked on {named(nodes)}" if nodes else f"deployed revision {revision}"
    way_out = "" if removed else ", or use the parameter force=true to retry this one all the same"
    return f"{name} {newer} has {done} since action {action}. Start a new action{way_out}."


def _wrong_state(control: Control, needed: str, actual: str) -> Text:
    also = " or has nodes that did not succeed" if control in _OF_FAILURES else ""
    cause = f"Only an action that is {needed}{also} can be {_DONE[control]}; this one is {actual}"
    reason = cause if control in _OF_FAILURES else f"dag_run state must be {needed}, but is {actual}"
    return Text(reason, cause, title=f"Unable to {control.value} action")


def _held(holds: Sequence[Hold]) -> Text:
    nodes = by_node(holds)
    which = in_short((f"node {node} is {why}" for node, why in nodes.items()), NAMED, "; ", "; and {} more")
    way_out = "Release the holds, or use the parameter force=true if the policy allows you to override them."
    return Text(f"{which}. {way_out}", findings=_each(holds))


def _not_overridden(holds: Sequence[Hold]) -> Text:
    which = named(list(by_node(holds)))
    reason = f"The credentials do not permit to override holds with force=true, and {which} is held"
    return Text(reason, findings=_each(holds))


def _each(holds: Sequence[Hold]) -> Sequence[Finding]:
    return [error("NodeHeld", f"Hold {hold.id}: node {hold.node} is {hold}.") for hold in holds]


def _unknown_groups(groups: Sequence[str]) -> str:
    names = some([f"'{group[:128]}'" for group in groups])
    return f"criteria: the deployment strategy has no group {names}. Correct the names."


def _past(until: datetime) -> str:
    return f"The hold would end in the past, at {until.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _no_version(version: Version) -> Text:
    return Text(f"{version.value} version does not exist", _NO_VERSION[version])


TooManyRequests = ErrorKind(
    AskLater,
    "TooManyRequests",
    "Too many requests",
    lambda pause: f"This caller has written as often as is allowed; ask again in {whole_seconds(pause)} s",
    retry=True,
)

# What an action is asked to do.

InvalidParameters = ErrorKind(Invalid, "InvalidParameters", "Invalid parameters", joined(" "))
ParametersBreakSchema = ErrorKind(Invalid, "ParametersBreakSchema", "Invalid parameters", joined("; "))
InvalidTargets = ErrorKind(
    Invalid,
    "InvalidTargets",
    "Invalid target_nodes parameter",
    lambda: (
        "The target_nodes parameter for this action should be a list with one or more string values representing node "
        "names"
    ),
)
InvalidDesign = ErrorKind(
    Invalid, "InvalidDesign", "Document validation failed", lambda findings: "InvalidConfigurationDocuments"
)
UnknownNodes = ErrorKind(Invalid, "UnknownNodes", "Unknown nodes", joined(" ", NAMED))
NothingCommitted = ErrorKind(Precondition, "NothingCommitted", "No committed configdocs", lambda: NOT_COMMITTED)
NoTargetRevision = ErrorKind(
    Precondition,
    "NoTargetRevision",
    "Target revision not found",
    lambda target: (
        f"There is no {target} revision to deploy from. Choose another one with the parameter target-revision."
    ),
)
NothingToForecast = ErrorKind(
    Conflict,
    "NothingToForecast",
    "Nothing to forecast",
    lambda name: f"The action {name} deploys no nodes, so there is nothing to forecast.",
)
UnknownForecastGroups = ErrorKind(NotFound, "UnknownForecastGroups", "Deployment group not found", _unknown_groups)
ForecastTooLarge = ErrorKind(
    Conflict,
    "ForecastTooLarge",
    "Site too large to forecast",
    lambda members, most: (
        f"The groups have {members} nodes in total, counting each in all of its groups; a forecast takes at most "
        f"{most}."
    ),
)
NoSiteAction = ErrorKind(
    NotFound,
    "NoSiteAction",
    "No site action",
    lambda since: f"There is no {since} to compare the site with: deploy the site first.",
)

# What else is in the way of an action.

IntermediateCommits = ErrorKind(
    Conflict,
    "IntermediateCommits",
    "Intermediate commit detected",
    lambda: (
        "The current committed revision of documents has other prior commits that have not been used as part of a site "
        "action, e.g. update_site. If you are aware and these other commits are intended, please rerun this action "
        "with the option `allow-intermediate-commits=True`"
    ),
)
NothingRelabels = ErrorKind(
    Conflict,
    "NothingRelabels",
    "Nodes cannot be relabelled",
    lambda system: (
        f"{system} sets no labels of Kubernetes nodes, and {_WITHOUT_KUBERNETES} that could be asked ([kubernetes] "
        "kubeconfig or url). Configure it. Nothing was changed."
    ),
)
NodesNotDeployed = ErrorKind(Conflict, "NodesNotDeployed", "Nodes are not deployed", joined(" ", NAMED))
NodesDown = ErrorKind(Conflict, "NodesDown", "Nodes are down", joined(" ", NAMED))
NothingDrains = ErrorKind(
    Conflict,
    "NothingDrains",
    "Nothing can be drained",
    lambda nodes: (
        f"{some(nodes)} may be in use, and {_WITHOUT_KUBERNETES} from which servers could be drained ([kubernetes] "
        "kubeconfig or url). Configure it; or, to destroy servers as they are, use force. Nothing was changed."
    ),
)
EtcdForbids = ErrorKind(Conflict, "EtcdForbids", "Etcd forbids the teardown", joined(" ", NAMED))
NoWindowOpens = ErrorKind(
    Conflict,
    "NoWindowOpens",
    "No maintenance window opens",
    lambda findings: (
        f"{findings[0].message} Commit a rollout policy whose windows come and are long enough, and create an action "
        "anew: a retry keeps the windows of its own. Nothing was changed."
    ),
)
FirstStepFails = ErrorKind(
    Conflict,
    "FirstStepFails",
    "One of the first steps would fail",
    lambda step, reason, findings: f"Step {step} would fail: {reason.rstrip('.')}.",
)
TooMuchTouched = ErrorKind(
    Conflict,
    "TooMuchTouched",
    "Too much of the site would be touched",
    lambda name, share: f"{name} would touch {share}. Name fewer nodes, or use the parameter force=true.",
)
TooManyReinstalls = ErrorKind(
    Conflict,
    "TooManyReinstalls",
    "Too many servers would be installed again",
    lambda action, nodes, most: (
        f"{action} would install {len(nodes)} servers again, and max-reinstalls allows {most}: {named(nodes)}."
        " Raise it, or change the design. Nothing was changed."
    ),
)
SiteActionRunning = ErrorKind(Conflict, "SiteActionRunning", "Another site action is running", _running)
WorkUnderWay = ErrorKind(Conflict, "WorkUnderWay", "Work of an earlier action goes on", _under_way)
NodeOperationRunning = ErrorKind(
    Conflict,
    "NodeOperationRunning",
    "A node operation is running",
    lambda action, operation, node: (
        f"{operation} of {node} is running as action {action}. Wait until it has ended, or stop that action."
    ),
)
NodesHeld = ErrorKind(Conflict, "NodesHeld", "Nodes are held", _held)
HoldsNotOverridden = ErrorKind(NotOverridden, "HoldsNotOverridden", "Forbidden", _not_overridden)
Overtaken = ErrorKind(Conflict, "Overtaken", "A newer action has overtaken this one", _overtaken)
NotRetried = ErrorKind(
    Conflict,
    "NotRetried",
    "Unable to retry action",
    lambda action: f"Action {action} is an operation on one node. Call the operation again to repeat it.",
)
KeyReused = ErrorKind(
    Reused,
    "KeyReused",
    "Idempotency-Key used before",
    lambda action: (
        f"This key was sent with another request, which created action {action}. Choose a new key for every new "
        "request."
    ),
)

# An action, its steps and its journal.

ActionNotFound = ErrorKind(NotFound, "ActionNotFound", "Action not found", lambda action: f"Unknown action {action}")
StepNotFound = ErrorKind(NotFound, "StepNotFound", "Step not found", lambda step: f"Unknown step {step}")
StepsNotFound = ErrorKind(
    NotFound, "StepsNotFound", "Steps Not Found!", lambda: "Unable to retrieve Information on Steps"
)
AttemptNotFound = ErrorKind(NotFound, "AttemptNotFound", "Step Not Found!", lambda: "Unable to retrieve Step")
WrongState = ErrorKind(Conflict, "WrongState", "Unable to control action", _wrong_state)
NoLimits = ErrorKind(
    Conflict, "NoLimits", "No limits to change", lambda name: f"{name} has no limits that can change while it runs"
)
ActionOver = ErrorKind(Conflict, "ActionOver", "Unable to change action", lambda action: f"Action {action} has ended")
NoteNotFound = ErrorKind(NotFound, "NoteNotFound", "No note found", lambda note: f"Note {note} is not found")
NoteWithoutDetails = ErrorKind(
    NotFound,
    "NoteWithoutDetails",
    "No further note details are available",
    lambda note: f"Note {note} has no additional information to return",
)
ValidationNotFound = ErrorKind(
    NotFound, "ValidationNotFound", "Validation not found", lambda validation: f"Unknown validation {validation}"
)
TaskResultNotFound = ErrorKind(
    NotFound,
    "TaskResultNotFound",
    "Task not found",
    lambda action, task, node: f"Task {task} has not begun on node {node} in action {action}",
)
OutputNotKept = ErrorKind(
    NotFound,
    "OutputNotKept",
    "Output not kept",
    lambda action, task, node: (
        f"Node {node} no longer has the output of task {task} of action {action}. The end of it is in the list of the "
        "action's tasks."
    ),
)
NodesOutOfReach = ErrorKind(
    Conflict,
    "NodesOutOfReach",
    "Nodes out of reach",
    lambda: "Shipyard reads outputs over SSH, which is not configured: set [ssh] key_file.",
)

# Nodes and their holds.

UnknownNode = ErrorKind(
    NotFound,
    "UnknownNode",
    "Node not found",
    lambda node: f"Neither the committed design nor any action has a node {node}",
)
NodeNotFound = ErrorKind(NotFound, "NodeNotFound", "Node not found", lambda node: f"No action has had a node {node}")
NodeNotInProvisioner = ErrorKind(
    NotFound,
    "NodeNotInProvisioner",
    "Node not found",
    lambda node, system: f"{system} does not know the node {node}",
)
NodeNotInCluster = ErrorKind(
    NotFound, "NodeNotInCluster", "Node not found", lambda node: f"Kubernetes does not know the node {node}"
)
HoldInThePast = ErrorKind(Invalid, "HoldInThePast", "Invalid hold", _past)
HoldNotFound = ErrorKind(NotFound, "HoldNotFound", "Hold not found", lambda hold: f"There is no hold {hold}")

# Documents that are loaded and committed.

InvalidCollectionName = ErrorKind(
    Invalid,
    "InvalidCollectionName",
    "Invalid collection name",
    lambda: f"The name of a collection has 1 to {COLLECTION_LIMIT} printable characters, and is not . or ..",
)
InvalidDocuments = ErrorKind(Invalid, "InvalidDocuments", UNSUITABLE, joined("; ", NAMED))
NoEncryptionKey = ErrorKind(Invalid, "NoEncryptionKey", UNSUITABLE, joined("", 1))
DocumentsRefused = ErrorKind(Invalid, "DocumentsRefused", UNSUITABLE, lambda detail: detail)
DeploymentVersionMissing = ErrorKind(
    Invalid,
    "DeploymentVersionMissing",
    "Deployment version document missing from collection",
    lambda findings: "Collection rejected due to missing deployment data document",
)
NothingLoaded = ErrorKind(
    Invalid,
    "NothingLoaded",
    "Collection not added to Shipyard buffer",
    lambda collection: Text(
        "Collection created no new revision", title=f"Collection {collection} not added to Shipyard buffer"
    ),
)
BufferOccupied = ErrorKind(
    Conflict,
    "BufferOccupied",
    "Invalid collection specified for buffer",
    lambda mode: Text(
        f"Buffermode : {mode.value}",
        "Buffer is either not empty or the collection already exists in buffer. Setting a different buffermode "
        "may provide the desired functionality",
    ),
)
DocumentInOtherCollection = ErrorKind(
    Conflict,
    "DocumentInOtherCollection",
    "Documents may not exist in more than one collection",
    lambda detail: detail,
)
LayeringPolicyExists = ErrorKind(
    Conflict, "LayeringPolicyExists", "There can be only one layering policy", lambda detail: detail
)
BufferEmpty = ErrorKind(
    Conflict,
    "BufferEmpty",
    _UNABLE_TO_COMMIT,
    lambda: "There are no documents in the buffer to commit",
    retry=True,
)
BufferChanged = ErrorKind(
    Conflict,
    "BufferChanged",
    _UNABLE_TO_COMMIT,
    lambda checked, actual: (
        f"The buffer was changed while it was checked: revision {checked} was checked, {actual} is in it. Nothing was "
        "committed. Commit again"
    ),
    retry=True,
)
Blocked = ErrorKind(
    Conflict,
    "Blocked",
    "Blocked by another process",
    lambda: (
        "Another process is currently blocking this request with a lock for configdocs_update. Lock expires in not "
        "more than 60 seconds"
    ),
    retry=True,
)

# Documents that are read.

NotRendered = ErrorKind(Invalid, "NotRendered", "The documents cannot be rendered", joined("; ", NAMED))
RevisionNotFound = ErrorKind(
    NotFound,
    "RevisionNotFound",
    "Revision not found",
    lambda revision: f"The requested revision={revision} was not found.",
)
VersionNotFound = ErrorKind(NotFound, "VersionNotFound", "This revision does not exist", _no_version)
NothingToCompare = ErrorKind(NotFound, "NothingToCompare", "Version does not exist", _no_version)
NotInBuffer = ErrorKind(
    NotFound,
    "NotInBuffer",
    "No documents to retrieve",
    lambda: "The Shipyard buffer is empty or does not contain this collection",
)
CollectionNotFound = ErrorKind(
    NotFound,
    "CollectionNotFound",
    "No documents to retrieve",
    lambda collection, version: f"No collection {collection} for revision {version.value}",
)
