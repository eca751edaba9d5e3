"""Every failure in the form of Fuel's errors: an object with a message (contract: fuel-task-graph, 5)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import falcon

from shipyard_api.api.http import errors as http
from shipyard_api.api.http.dialect import App
from shipyard_api.api.http.problems import Problem
from shipyard_api.domain import errors as domain
from shipyard_api.domain.error_kinds import (
    FORBIDDEN,
    UNAUTHENTICATED,
    ErrorKind,
    Sentence,
    ShipyardError,
)
from shipyard_api.domain.task_graph.errors import SHOWN, in_lines, listed

LOG = logging.getLogger(__name__)

_SERVED = "releases, clusters, nodes, roles, tags, deployment_tasks and transactions"


WORDS: Mapping[ErrorKind[..., ShipyardError], Sentence] = {
    **http.WITHOUT_TITLES,
    domain.NothingCommitted: lambda: "No documents are committed, so the site has no nodes.",
    domain.InvalidParameters: in_lines,
    domain.ParametersBreakSchema: in_lines,
    domain.UnknownNodes: in_lines,
    domain.InvalidDesign: lambda findings: f"The committed design cannot be read: {in_lines(findings)}",
    domain.IntermediateCommits: lambda: (
        "Commits before the last one were never deployed: deploy or update the site first."
    ),
    domain.SiteActionRunning: lambda action, name, nodes: (
        f"{name} {action} is running{f' on {listed(nodes)}' if nodes else ''}. Wait until it has ended."
    ),
    domain.NodeOperationRunning: lambda action, operation, node: (
        f"{operation} of {node} is running as action {action}. Wait until it has ended."
    ),
    domain.WorkUnderWay: lambda operation, action, why, **_: (
        f"{operation} of action {action} is still under way ({why})."
    ),
    domain.NodesHeld: lambda holds: f"Nodes are held: {listed([hold.node for hold in holds])}",
    domain.HoldsNotOverridden: lambda holds: "You may not override the holds on these nodes.",
    UNAUTHENTICATED: lambda was_sent: "Authentication required",
    FORBIDDEN: lambda detail: "Access was denied",
    http.NotJson: lambda path, detail: f"Invalid json received: {detail}",
}
"""The sentences of this dialect in place of those of the tables."""


def install(app: App) -> None:
    """Let every error of ours, of the framework, and every bug end in this form."""
    app.add_error_handler(Exception, _bug)
    app.add_error_handler(falcon.HTTPError, _framework)
    app.add_error_handler(http.Fault, _fault)
    app.add_error_handler(ShipyardError, _ours)
    for kind in http.SYSTEMS:
        app.add_error_handler(kind, _system)


def problem(answer: Mapping[str, Any]) -> Problem | None:
    """Return the problem in an error of this dialect, which has no titles."""
    return Problem(None, answer["message"], {"errors": answer["errors"]})


async def _ours(req: falcon.Request, resp: falcon.Response, error: ShipyardError, _params: Any) -> None:
    # The design is not of this caller's making.
    code = falcon.HTTP_409 if error.kind is domain.InvalidDesign else http.status_of(error.kind.family)
    http.set_headers(req, resp, error)
    errors = [{"name": finding.name, "path": finding.path, "message": finding.message} for finding in error.findings]
    _answer(resp, code, error.text(WORDS).reason, errors)


async def _fault(_req: falcon.Request, resp: falcon.Response, error: http.Fault, _params: Any) -> None:
    _answer(resp, error.code, str(error))


async def _framework(req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
    resp.set_headers(error.headers or {})
    code = falcon.code_to_http_status(error.status)
    text = error.description or error.title or code
    asked = f"{req.method} {req.path[:SHOWN]}"
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
