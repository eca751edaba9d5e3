"""The table of errors of Shipyard v1.0: for each class its status code and its sentences, which clients compare.

Every class of error has a row of its own; a test walks them all.
"""

from collections.abc import Callable, Sequence
from typing import Any

import falcon

from shipyard_api.api.airship import causes, drift_texts, forecast_texts, hold_texts, share_texts, task_texts
from shipyard_api.api.airship import errors as ours
from shipyard_api.api.airship.text_rows import (
    NAMED,
    Row,
    Text,
    conflict,
    first,
    invalid,
    joined,
    named,
    not_found,
    said,
)
from shipyard_api.api.airship.times import zulu
from shipyard_api.api.http import errors as http
from shipyard_api.domain import errors as domain
from shipyard_api.domain.actions import Control
from shipyard_api.domain.documents import COLLECTION_LIMIT, BufferMode
from shipyard_api.usecases.actions.names import listed
from shipyard_api.usecases.nodes.statuses import StatusKind

_UNSUITABLE = "Document(s) invalid syntax or otherwise unsuitable"
_UNABLE_TO_COMMIT = "Unable to commit configuration documents"
_ELSEWHERE = "Documents may not exist in more than one collection"
_INVALID_ADDRESS = "Invalid address"
_VERSION_COUNT = "Incorrect number of versions for comparison"


def text_of(failed: domain.ShipyardError) -> tuple[Row, Text]:
    """Return how an error is answered; raises KeyError for a class without a row."""
    row = ROWS[type(failed)]
    return row, row.text(failed)


def _overtaken(failed: domain.Overtaken) -> Text:
    done = f"worked on {named(failed.nodes)}" if failed.nodes else f"deployed revision {failed.revision}"
    way_out = "" if failed.removed else ", or use the parameter force=true to retry this one all the same"
    return Text(
        "A newer action has overtaken this one",
        f"{failed.name} {failed.newer} has {done} since action {failed.action}. Start a new action{way_out}.",
    )


def _under_way(failed: domain.WorkUnderWay) -> Text:
    what = "the site" if failed.nodes is None else named(failed.nodes)
    return Text(
        "Work of an earlier action goes on",
        f"{failed.operation} of {what} is still under way: job {failed.job} of action {failed.action} ({failed.why}). "
        "Wait until it has ended, or use the parameter force=true.",
    )


def _nothing_relabels(failed: domain.NothingRelabels) -> Text:
    return Text(
        "Nodes cannot be relabelled",
        f"{failed.system} sets no labels of Kubernetes nodes, and no Kubernetes is configured that could be asked "
        "([kubernetes] kubeconfig or url). Configure it. Nothing was changed.",
    )


def _nothing_drains(failed: domain.NothingDrains) -> Text:
    return Text(
        "Nothing can be drained",
        f"{_some(failed.nodes)} may be in use, and no Kubernetes is configured from which servers could be drained "
        "([kubernetes] kubeconfig or url). Configure it; or, to destroy servers as they are, use force. Nothing was "
        "changed.",
    )


def _some(nodes: Sequence[str]) -> str:
    return ", ".join(nodes[:NAMED]) + (", …" if len(nodes) > NAMED else "")


def _wrong_state(failed: domain.WrongState) -> Text:
    cause = causes.wrong_state(failed.control, failed.needed, failed.found)
    sentence = f"dag_run state must be {failed.needed}, but is {failed.found}"
    # The contract has neither.
    reason = cause if failed.control in (Control.RETRY, Control.ACKNOWLEDGE) else sentence
    return Text(f"Unable to {failed.control.value} action", reason, cause=cause)


def _no_version(title: str) -> Callable[[Any], Text]:
    return lambda of: Text(title, f"{of.version.value} version does not exist", cause=causes.NO_VERSION[of.version])


def _occupied(failed: domain.BufferOccupied) -> Text:
    message = (
        "Buffer is either not empty or the collection already exists in buffer. Setting a different buffermode may "
        "provide the desired functionality"
    )
    reason = f"Buffermode : {failed.mode.value}"
    return Text("Invalid collection specified for buffer", reason, cause=message)


def _incomplete(failed: http.BodyIncomplete) -> Text:
    return Text("Body incomplete", f"Content-Length says {failed.length} bytes, and {failed.arrived} arrived")


def _address(failed: http.InvalidAddress) -> Text:
    if failed.byte is None:
        return Text(_INVALID_ADDRESS, "An address cannot hold the character NUL (%00)")
    where = f"The {failed.part} is not UTF-8 at the byte %{failed.byte:02X}"
    return Text(_INVALID_ADDRESS, f"{where}; escape its characters as UTF-8")


def _schema(failed: http.SchemaViolated) -> Text:
    first = failed.findings[0]
    return Text(f"JSON validation failed: {first.message}", f"Failed validator: {first.diagnostic}", failed.findings)


def _unknown_version(failed: ours.UnknownVersion) -> Text:
    names = ", ".join(failed.allowed)
    return Text("Invalid version detected", f"{failed.written} is not a valid version, which include: {names}")


def _buffermode(failed: ours.InvalidBuffermode) -> Text:
    modes = ", ".join(mode.value for mode in BufferMode)
    return Text("Invalid buffermode", f"'{failed.written}' is none of: {modes}")


def _too_large(failed: http.BodyTooLarge) -> Text:
    return Text("Body too large", f"The body has {failed.length} bytes; at most {failed.limit} are accepted")


# Contract: shipyard-rest, 5.1 has AppError, and 5.2 to 5.5 have ApiError.
_APP, _FORMAT = "AppError", "InvalidFormatError"

_CALLERS: dict[type[domain.ShipyardError], Row] = {
    domain.Unauthenticated: Row(
        falcon.HTTP_401,
        lambda failed: Text(
            "Unauthenticated",
            "Credentials are not established",
            cause=causes.UNKNOWN_CREDENTIALS if failed.was_sent else causes.NO_CREDENTIALS,
        ),
    ),
    domain.Forbidden: Row(
        falcon.HTTP_403, lambda failed: Text("Forbidden", failed.detail or "Credentials do not permit access")
    ),
    domain.TooManyRequests: Row(
        falcon.HTTP_429,
        lambda failed: Text(
            "Too many requests",
            f"This caller has written as often as is allowed; ask again in {failed.seconds} s",
        ),
        retry=True,
    ),
}

_REQUESTS: dict[type[domain.ShipyardError], Row] = {
    http.BodyTooLarge: Row(falcon.HTTP_413, _too_large),
    http.BodyEncoded: Row(
        falcon.HTTP_415,
        lambda failed: Text(
            "Unsupported content encoding",
            f"The body has the encoding {causes.quoted(failed.coding)}; send it as it is",
        ),
    ),
    http.BodyIncomplete: invalid(_incomplete),
    http.InvalidAddress: invalid(_address),
    http.JsonRequired: invalid(
        lambda failed: Text("Json body is required", f"{failed.path}: Bad input, no body provided"), _FORMAT
    ),
    http.NotJson: invalid(
        lambda failed: Text("JSON could not be decoded", f"{failed.path}: Invalid JSON in body: {failed.detail}"),
        _FORMAT,
    ),
    http.NotAnObject: invalid(
        said("JSON validation failed: the body is not an object", "Failed validator: type : object"), _FORMAT
    ),
    http.SchemaViolated: invalid(_schema, _FORMAT),
    ours.InvalidVerbosity: invalid(
        said("Invalid verbosity parameter", "If specified, verbosity parameter should be a value from 0 to 5")
    ),
}

_ACTIONS: dict[type[domain.ShipyardError], Row] = {
    domain.InvalidParameters: invalid(joined("Invalid parameters", " ")),
    domain.ParametersBreakSchema: invalid(joined("Invalid parameters", "; ")),
    domain.InvalidTargets: invalid(
        said(
            "Invalid target_nodes parameter",
            "The target_nodes parameter for this action should be a list with one or more string values representing "
            "node names",
        )
    ),
    domain.InvalidDesign: invalid(
        lambda failed: Text("Document validation failed", "InvalidConfigurationDocuments", failed.findings)
    ),
    domain.UnknownNodes: invalid(joined("Unknown nodes", " ", NAMED)),
    domain.NothingCommitted: invalid(
        lambda _: Text(
            "No committed configdocs",
            "Unable to locate a committed revision in Deckhand",
            cause=causes.NOTHING_COMMITTED,
        )
    ),
    domain.NoTargetRevision: invalid(
        lambda failed: Text(
            "Target revision not found",
            f"There is no {failed.target} revision to deploy from. Choose another one with the parameter "
            "target-revision.",
        )
    ),
    domain.IntermediateCommits: conflict(
        said(
            "Intermediate commit detected",
            "The current committed revision of documents has other prior commits that have not been used as part of a "
            "site action, e.g. update_site. If you are aware and these other commits are intended, please rerun this "
            "action with the option `allow-intermediate-commits=True`",
        )
    ),
    domain.NothingRelabels: conflict(_nothing_relabels),
    domain.NothingDrains: conflict(_nothing_drains),
    domain.SiteActionRunning: conflict(task_texts.site_is_busy),
    domain.WorkUnderWay: conflict(_under_way),
    domain.NodeOperationRunning: conflict(
        lambda failed: Text(
            "A node operation is running",
            f"{failed.operation} of {failed.node} is running as action {failed.action}. Wait until it has ended, or "
            "stop that action.",
        )
    ),
    domain.NotRetried: conflict(
        lambda failed: Text(
            "Unable to retry action",
            f"Action {failed.action} is an operation on one node. Call the operation again to repeat it.",
        )
    ),
    domain.NodesHeld: conflict(hold_texts.held),
    domain.HoldsNotOverridden: Row(falcon.HTTP_403, hold_texts.not_overridden),
    domain.HoldInThePast: invalid(
        lambda failed: Text("Invalid hold", f"The hold would end in the past, at {zulu(failed.until)}")
    ),
    ours.InvalidUntil: invalid(
        lambda failed: Text(
            "Invalid hold",
            f"until is {causes.quoted(failed.written)!r}; write a time such as 2026-11-21T12:00:00Z or a duration such "
            "as P1D or PT4H",
        )
    ),
    domain.UnknownNode: not_found(
        "Node not found", lambda failed: f"Neither the committed design nor any action has a node {failed.node}"
    ),
    domain.HoldNotFound: not_found("Hold not found", lambda failed: f"There is no hold {failed.hold}"),
    domain.Overtaken: conflict(_overtaken),
    domain.NoLimits: conflict(
        lambda failed: Text("No limits to change", f"{failed.name} has no limits that can change while it runs")
    ),
    domain.ActionOver: conflict(lambda failed: Text("Unable to change action", f"Action {failed.action} has ended")),
    domain.KeyReused: Row(
        falcon.HTTP_422,
        lambda failed: Text(
            "Idempotency-Key used before",
            f"This key was sent with another request, which created action {failed.action}. Choose a new key for every "
            "new request.",
        ),
    ),
    domain.WrongState: conflict(_wrong_state),
    domain.ActionNotFound: not_found("Action not found", lambda failed: f"Unknown action {failed.action}"),
    domain.StepNotFound: not_found("Step not found", lambda failed: f"Unknown step {failed.step}"),
    domain.StepsNotFound: not_found("Steps Not Found!", lambda _: "Unable to retrieve Information on Steps"),
    domain.AttemptNotFound: not_found("Step Not Found!", lambda _: "Unable to retrieve Step"),
    domain.NodeNotFound: not_found("Node not found", lambda failed: f"No action has had a node {failed.node}"),
    domain.NodeNotInCluster: not_found(
        "Node not found", lambda failed: f"Kubernetes does not know the node {failed.node}"
    ),
    domain.NodeNotInProvisioner: not_found(
        "Node not found", lambda failed: f"{failed.system} does not know the node {failed.node}"
    ),
    domain.NoteNotFound: not_found("No note found", lambda failed: f"Note {failed.note} is not found"),
    domain.NoteWithoutDetails: not_found(
        "No further note details are available",
        lambda failed: f"Note {failed.note} has no additional information to return",
    ),
    domain.ValidationNotFound: not_found(
        "Validation not found", lambda failed: f"Unknown validation {failed.validation}"
    ),
    ours.UnsupportedAction: invalid(
        lambda failed: Text(
            "Unable to start action",
            f"Unsupported Action: {failed.name}",
            cause=causes.unknown_word("action", failed.name, list(listed())),
        )
    ),
    ours.InvalidKey: invalid(
        lambda failed: Text(
            "Invalid Idempotency-Key", f"The key has 1 to {failed.longest} printable characters of ASCII"
        )
    ),
    ours.InvalidPlan: invalid(
        said(
            "JSON validation failed: either the name of an action or a retry",
            'Name an action with {"name": ACTION}, perhaps with "parameters" and "version", or a retry with '
            '{"retry": ACTION_ID} and neither of them',
        ),
        _FORMAT,
    ),
    ours.ControlNotFound: Row(
        falcon.HTTP_404,
        lambda failed: Text(
            "Control not supported",
            f"Unknown control {failed.control}",
            cause=causes.unknown_word("control", failed.control, [one.value for one in Control]),
        ),
    ),
    ours.UnknownAction: not_found("Action not found", lambda failed: f"Unknown Action: {failed.action}"),
    ours.NoLogOfAction: not_found("Action Not Found!", lambda failed: f"Unknown Action {failed.action}"),
    ours.InvalidActionId: invalid(said("Invalid Action ID!", "An invalid action ID was specified")),
    ours.InvalidNoteId: invalid(
        lambda failed: Text("Notes ID values are 26 character ULID values", f"Invalid note_id: {failed.note} in URL"),
        _FORMAT,
    ),
    ours.InvalidWorkflowId: invalid(
        said("Invalid Workflow ID specified", "Workflow id must use {dag id}__{execution date} format")
    ),
    ours.WorkflowNotFound: not_found(
        "Workflow not found", lambda failed: f"A Workflow with id {failed.workflow} was not found"
    ),
    ours.InvalidStatusFilter: invalid(
        lambda failed: Text(
            "Not a valid status filter",
            f"filter {failed.word} is not supported",
            cause=causes.unknown_word("filter", failed.word, [one.value for one in StatusKind]),
        )
    ),
}

_DOCUMENTS: dict[type[domain.ShipyardError], Row] = {
    domain.InvalidCollectionName: invalid(
        said(
            "Invalid collection name",
            f"The name of a collection has 1 to {COLLECTION_LIMIT} printable characters, and is not . or ..",
        ),
    ),
    domain.InvalidDocuments: invalid(joined(_UNSUITABLE, "; ", NAMED)),
    domain.NoEncryptionKey: invalid(first(_UNSUITABLE)),
    domain.DocumentsRefused: invalid(lambda failed: Text(_UNSUITABLE, failed.detail)),
    domain.DeploymentVersionMissing: invalid(
        lambda failed: Text(
            "Deployment version document missing from collection",
            "Collection rejected due to missing deployment data document",
            failed.findings,
        ),
    ),
    domain.NothingLoaded: invalid(
        lambda failed: Text(
            f"Collection {failed.collection} not added to Shipyard buffer", "Collection created no new revision"
        ),
    ),
    domain.NotRendered: invalid(joined("Deckhand indicated an error while rendering", "; ", NAMED)),
    domain.BufferOccupied: conflict(_occupied),
    domain.BufferEmpty: conflict(said(_UNABLE_TO_COMMIT, "There are no documents in the buffer to commit"), retry=True),
    domain.BufferChanged: conflict(
        lambda failed: Text(
            _UNABLE_TO_COMMIT,
            f"The buffer was changed while it was checked: revision {failed.checked} was checked, {failed.found} is in "
            "it. Nothing was committed. Commit again",
        ),
        retry=True,
    ),
    domain.Blocked: conflict(
        said(
            "Blocked by another process",
            "Another process is currently blocking this request with a lock for configdocs_update. Lock expires in "
            "not more than 60 seconds",
        ),
        retry=True,
    ),
    domain.DocumentInOtherCollection: conflict(lambda failed: Text(_ELSEWHERE, failed.detail)),
    domain.LayeringPolicyExists: conflict(lambda failed: Text("There can be only one layering policy", failed.detail)),
    domain.RevisionNotFound: not_found(
        "Revision not found", lambda failed: f"The requested revision={failed.revision} was not found."
    ),
    domain.VersionNotFound: Row(falcon.HTTP_404, _no_version("This revision does not exist")),
    domain.NothingToCompare: Row(falcon.HTTP_404, _no_version("Version does not exist"), _APP),
    domain.NothingToPlan: Row(falcon.HTTP_404, _no_version("This revision does not exist")),
    domain.NotInBuffer: not_found(
        "No documents to retrieve",
        lambda _: "The Shipyard buffer is empty or does not contain this collection",
    ),
    domain.CollectionNotFound: not_found(
        "No documents to retrieve",
        lambda failed: f"No collection {failed.collection} for revision {failed.version.value}",
    ),
    ours.LengthRequired: invalid(said("Content-Length is a required header", "Content Length is 0 or not specified")),
    ours.NoDocuments: invalid(
        said(_UNSUITABLE, "The body holds no document; use empty-collection=true to empty the collection")
    ),
    ours.UnreadableYaml: invalid(first(_UNSUITABLE)),
    ours.InvalidBuffermode: invalid(_buffermode),
    ours.InvalidVersion: invalid(
        said(
            "Invalid version query parameter specified",
            "version must be buffer, committed, last_site_action, successful_site_action",
        ),
    ),
    ours.InvalidDiffFormat: invalid(
        lambda failed: Text("Invalid format", f"'{failed.written}' is none of: json, unified"), _APP
    ),
    ours.WrongNumberOfVersions: invalid(
        said(_VERSION_COUNT, "User must pass in 2 valid versions for comparison"), _APP
    ),
    ours.VersionsGivenTwice: invalid(
        said(_VERSION_COUNT, "Give either 'versions' or 'base-version' and 'diff-version', not both"), _APP
    ),
    ours.UnknownVersion: invalid(_unknown_version, _APP),
    ours.SameVersion: invalid(
        said("Versions must be different for comparison", "Versions must be unique in order to perform comparison"),
        _APP,
    ),
    ours.NothingToExplain: not_found("Nothing to explain", lambda failed: failed.why),
    ours.RevisionNotNumeric: not_found("Revision not found", lambda _: "A revision is a whole number"),
    ours.LoadTooLarge: Row(falcon.HTTP_413, lambda failed: _too_large(failed.body)),
    ours.LoadIncomplete: invalid(lambda failed: _incomplete(failed.body)),
    # The contract's code, although the design is at fault and not the server.
    ours.BrokenDesign: Row(falcon.HTTP_500, joined("Deckhand indicated an error while rendering", "; ", NAMED)),
}

_PEERS: dict[type[domain.ShipyardError], Row] = {
    **task_texts.ROWS,
    **forecast_texts.ROWS,
    **share_texts.ROWS,
    ours.DetailsUnavailable: Row(
        falcon.HTTP_500,
        lambda failed: Text(
            "Unable to retrieve URL information for note",
            f"Note {failed.note} has additional information, but it cannot be accessed by Shipyard at this time",
        ),
    ),
}

ROWS: dict[type[domain.ShipyardError], Row] = _CALLERS | _REQUESTS | _ACTIONS | _DOCUMENTS | _PEERS | drift_texts.ROWS
