"""A dialect for monitoring that speaks Redfish: the nodes of all actions as computer systems, read-only."""

import logging
from typing import Any, ClassVar

import falcon

from shipyard_api.api.http import errors as http
from shipyard_api.api.http.authentication import Guarded, Policy
from shipyard_api.api.http.dialect import App, Dialect, UseCases
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.usecases.nodes.list import ListNodes

LOG = logging.getLogger(__name__)
ROOT = "/redfish/v1"
MOST = 1000
HEALTH = {NodeStatus.SUCCESS: "OK", NodeStatus.FAILURE: "Critical"}


class Root:
    """``/redfish/v1``: where the collections are."""

    policy: ClassVar[Policy] = {"GET": None}

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the collections."""
        resp.media = {"@odata.id": ROOT, "RedfishVersion": "1.6.0", "Systems": {"@odata.id": f"{ROOT}/Systems"}}


class Systems:
    """``/redfish/v1/Systems``: the nodes, in order of name."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_nodes"}

    def __init__(self, nodes: ListNodes) -> None:
        self._nodes = nodes

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the first nodes."""
        nodes = self._nodes.page(status=(), prefix="", after="", limit=MOST)
        members = [{"@odata.id": f"{ROOT}/Systems/{record.node.name}"} for record in nodes]
        resp.media = {"@odata.id": f"{ROOT}/Systems", "Members": members, "Members@odata.count": len(members)}


class System:
    """``/redfish/v1/Systems/{name}``: one node."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_nodes"}

    def __init__(self, nodes: ListNodes) -> None:
        self._nodes = nodes

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Answer with the node in the latest action that worked on it."""
        node = self._nodes.one(name, before=None, limit=1).last.node
        health = HEALTH.get(node.status, "Warning")
        resp.media = {"@odata.id": f"{ROOT}/Systems/{name}", "Id": name, "Status": {"Health": health}}


def routes(use_cases: UseCases) -> dict[str, Guarded]:
    """Return every address with its resource."""
    nodes = use_cases.nodes.list
    return {ROOT: Root(), f"{ROOT}/Systems": Systems(nodes), f"{ROOT}/Systems/{{name}}": System(nodes)}


def install_errors(app: App) -> None:
    """Let every error of Shipyard's, of the framework, and every bug end in Redfish's form."""
    app.add_error_handler(Exception, _bug)
    app.add_error_handler(falcon.HTTPError, _framework)
    app.add_error_handler(ShipyardError, _ours)
    for kind in http.SYSTEMS:
        app.add_error_handler(kind, _system)


async def _ours(req: falcon.Request, resp: falcon.Response, error: ShipyardError, _params: Any) -> None:
    http.set_headers(req, resp, error)
    _answer(resp, http.status_of(error.kind.family), error.text(http.WITHOUT_TITLES).reason)


async def _framework(_req: falcon.Request, resp: falcon.Response, error: falcon.HTTPError, _params: Any) -> None:
    resp.set_headers(error.headers or {})
    code = falcon.code_to_http_status(error.status)
    _answer(resp, code, error.description or error.title or code)


async def _system(_req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    _answer(resp, *http.system_failure(resp, error))


async def _bug(_req: falcon.Request, resp: falcon.Response, error: Exception, _params: Any) -> None:
    LOG.exception("unhandled error", exc_info=error)
    _answer(resp, falcon.HTTP_500, f"Unhandled {type(error).__name__}; the log of the service has more.")


def _answer(resp: falcon.Response, code: str, text: str) -> None:
    resp.status = code
    resp.media = {"error": {"code": "Base.1.0.GeneralError", "message": text}}


DIALECT = Dialect(routes, install_errors, prefixes=(ROOT,), ignores_trailing_slash=True)
