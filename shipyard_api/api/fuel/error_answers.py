"""Every failure in the form of Fuel's errors: an object with a message (contract: fuel-task-graph, 5)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import falcon

from shipyard_api.api.http import errors as http
from shipyard_api.api.http.dialect import App
from shipyard_api.domain import errors as domain
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.task_graph import errors as own
from shipyard_api.domain.task_graph.tasks import Domain

LOG = logging.getLogger(__name__)

_SHOWN = 60
_SERVED = "releases, clusters, nodes, roles, tags, deployment_tasks and transactions"


@dataclass(frozen=True, slots=True)
class Row:
    """How a class of errors is answered."""

    code: str
    text: Callable[[Any], str]


def _said(text: str) -> Callable[[Any], str]:
    return lambda _error: text


def _word(domain: Domain) -> str:
    return {Domain.ROLES: "Role", Domain.TAGS: "Tag"}[domain]


def _messages(error: Any) -> str:
    findings: Sequence[Finding] = error.findings
    # Findings of a schema begin with their place.
    return "\n".join(
        f"{one.path}: {one.message}" if one.path and not one.message.startswith(f"{one.path}:") else one.message
        for one in findings
    )


def _running(failed: domain.SiteActionRunning) -> str:
    where = f" on {_listed(failed.nodes)}" if failed.nodes else ""
    return f"{failed.name} {failed.action} is running{where}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name[:_SHOWN] for name in names[:_SHOWN])


ROWS: Mapping[type[ShipyardError], Row] = {
    own.InvalidTaskGraph: Row(falcon.HTTP_400, _messages),
    own.InvalidTaskQuery: Row(falcon.HTTP_400, lambda one: " ".join(finding.message for finding in one.findings)),
    own.InvalidDeclaration: Row(falcon.HTTP_400, lambda one: one.detail),
    own.UnknownLabels: Row(
        falcon.HTTP_400, lambda one: f"{_word(one.domain)}s {_listed(one.names)} do not exist in the cluster."
    ),
    own.OwnerNotFound: Row(falcon.HTTP_404, lambda one: f"{one.owner.kind.word.capitalize()} not found"),
    own.LabelNotFound: Row(
        falcon.HTTP_404, lambda one: f"{_word(one.domain)} '{one.name[:_SHOWN]}' is not found for the {one.owner}"
    ),
    own.NodesNotInSite: Row(falcon.HTTP_404, lambda one: f"NodeCollection not found: {_listed(one.nodes)}"),
    own.LabelExists: Row(
        falcon.HTTP_409, lambda one: f"{_word(one.domain)} with name '{one.name}' already exists for {one.owner}"
    ),
    own.LabelReadOnly: Row(
        falcon.HTTP_409,
        lambda one: (
            f"Read-only tag '{one.name}' cannot be changed or deleted: the metadata of its release declares it."
        ),
    ),
    own.LabelInUse: Row(
        falcon.HTTP_409, lambda one: f"{_word(one.domain)} '{one.name}' is assigned to nodes {_listed(one.nodes)}"
    ),
    own.ReleaseExists: Row(
        falcon.HTTP_409, lambda one: f"Release with name '{one.name}' and version '{one.version}' already exists"
    ),
    own.RunNotFound: Row(falcon.HTTP_404, _said("Transaction not found")),
    domain.NothingCommitted: Row(falcon.HTTP_400, _said("No documents are committed, so the site has no nodes.")),
    domain.InvalidParameters: Row(falcon.HTTP_400, _messages),
    domain.ParametersBreakSchema: Row(falcon.HTTP_400, _messages),
    domain.UnknownNodes: Row(falcon.HTTP_400, _messages),
    domain.IntermediateCommits: Row(
        falcon.HTTP_409, _said("Commits before the last one were never deployed: deploy or update the site first.")
    ),
    domain.SiteActionRunning: Row(falcon.HTTP_409, lambda one: f"{_running(one)}. Wait until it has ended."),
    domain.NodeOperationRunning: Row(
        falcon.HTTP_409,
        lambda one: f"{one.operation} of {one.node} is running as action {one.action}. Wait until it has ended.",
    ),
    domain.WorkUnderWay: Row(
        falcon.HTTP_409, lambda one: f"{one.operation} of action {one.action} is still under way ({one.why})."
    ),
    domain.NodesHeld: Row(falcon.HTTP_409, lambda one: f"Nodes are held: {_listed([x.node for x in one.holds])}"),
    domain.HoldsNotOverridden: Row(falcon.HTTP_403, _said("You may not override the holds on these nodes.")),
    domain.InvalidDesign: Row(falcon.HTTP_409, lambda one: f"The committed design cannot be read: {_messages(one)}"),
    domain.Unauthenticated: Row(falcon.HTTP_401, _said("Authentication required")),
    domain.Forbidden: Row(falcon.HTTP_403, _said("Access was denied")),
    domain.TooManyRequests: Row(
        falcon.HTTP_429, lambda one: f"Too many requests that change something. Wait {one.seconds} s."
    ),
    http.BodyTooLarge: Row(
        falcon.HTTP_413, lambda one: f"The body has {one.length} bytes, and at most {one.limit} are read."
    ),
    http.BodyEncoded: Row(
        falcon.HTTP_415, lambda one: f"The body is encoded with {one.coding[:_SHOWN]}; send it as it is."
    ),
    http.BodyIncomplete: Row(
        falcon.HTTP_400, lambda one: f"The connection ended after {one.arrived} of {one.length} bytes of the body."
    ),
    http.InvalidAddress: Row(falcon.HTTP_400, lambda one: f"The {one.part} of the address is not UTF-8 text."),
    http.NotJson: Row(falcon.HTTP_400, lambda one: f"Invalid json received: {one.detail}"),
}
"""The errors that this dialect can meet, with their texts."""


def install(app: App) -> None:
    """Let every error of ours, of the framework, and every bug end in this form."""
    app.add_error_handler(Exception, _bug)
    app.add_error_handler(falcon.HTTPError, _framework)
    app.add_error_handler(http.Fault, _fault)
    app.add_error_handler(ShipyardError, _ours)
    for kind in http.SYSTEMS:
        app.add_error_handler(kind, _system)


async def _ours(req: falcon.Request, resp: falcon.Response, error: ShipyardError, _params: Any) -> None:
    row = ROWS[type(error)]
    http.set_headers(req, resp, error)
    findings = getattr(error, "findings", ())
    errors = [{"name": one.name, "path": one.path, "message": one.message} for one in findings]
    _answer(resp, row.code, row.text(error), errors)


async def _fault(_req: falcon.Request, resp: falcon.Response, error: http.Fault, _params: Any) -> None:
    _answer(resp, error.code, str(error))


async def _framework(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
    resp.set_headers(error.headers or {})
    code = falcon.code_to_http_status(error.status)
    text = error.description or error.title or code
    asked = f"{req.method} {req.path[:_SHOWN]}"
    if isinstance(error, falcon.HTTPRouteNotFound):
        text = f"{asked} is not served. Of Fuel's API, Shipyard has {_SERVED}."
    if isinstance(error, falcon.HTTPMethodNotAllowed):
        text = f"{asked} is not served: this address takes {resp.get_header('Allow', '').removesuffix(', OPTIONS')}."
    _answer(resp, code, text)


async def _system(_req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    _answer(resp, *http.system_failure(resp, error))


async def _bug(_req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    LOG.exception("unhandled error", exc_info=error)
    _answer(resp, falcon.HTTP_500, f"Unhandled {type(error).__name__}; the log of the service has more.")


def _answer(resp: falcon.Response, code: str, text: str, errors: Sequence[Mapping[str, str]] = ()) -> None:
    resp.status = code
    resp.content_type = falcon.MEDIA_JSON
    resp.media = {"message": text, "errors": list(errors)}
