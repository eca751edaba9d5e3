"""Task graphs of releases and clusters (seed 001, REST API impact; contract: fuel-task-graph, 5.1 and 5.3)."""

import json
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.fuel import reading
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.reading import single
from shipyard_api.api.http.threads import answer_in_thread, parsed, threaded
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.policy import SOFTWARE_PREFIX
from shipyard_api.domain.task_graph.dot import Drawing
from shipyard_api.domain.task_graph.layers import OwnerKind
from shipyard_api.domain.task_graph.selection import Selection
from shipyard_api.usecases.software.graphs import ManageGraphs, Part

READ, WRITE = f"{SOFTWARE_PREFIX}get", f"{SOFTWARE_PREFIX}update_graph"


WARNINGS = "X-Shipyard-Warnings"
"""The header with the warnings about the graph, a JSON list of texts: the body is what Fuel's clients read."""
_LONGEST = 4000  # characters; proxies take some thousands


class DeploymentTasks:
    """All tasks of a release, or the effective tasks of a cluster."""

    policy: ClassVar[Policy] = {"GET": READ, "PUT": WRITE, "POST": WRITE, "DELETE": WRITE}

    def __init__(self, graphs: ManageGraphs, kind: OwnerKind, limit: int) -> None:
        """``limit``: the largest body, in bytes."""
        self._graphs = graphs
        self._kind = kind
        self._limit = limit

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with the tasks, or with those between `start` and `end`."""
        _check_type(req)
        chosen = Selection(reading.either(req, "start", "start_task"), reading.either(req, "end", "end_task"))
        # Fuel's `include` keeps what an answer drops from the selection: groups and stages. Here it drops nothing.
        resp.media = list(self._graphs.tasks(reading.owner(self._kind, owner_id), selection=chosen))

    async def on_put(self, req: falcon.asgi.Request, resp: falcon.Response, owner_id: str) -> None:
        """Replace all tasks of the release, or all own tasks of the cluster; the warnings are in a header."""
        _check_type(req)
        owner = reading.owner(self._kind, owner_id)
        sent = await reading.body(req, self._limit)
        data = await parsed(partial(reading.value, req), sent)

        def replace() -> None:
            tasks, warnings = self._graphs.replace_tasks(owner, data)
            resp.media = list(tasks)
            set_warnings(resp, warnings)

        await answer_in_thread(resp, replace)

    async def on_post(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Refuse: PUT replaces all tasks."""
        raise Fault("Create not supported for this entity", falcon.HTTP_405)

    async def on_delete(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Refuse: PUT replaces all tasks."""
        raise Fault("Delete not supported for this entity", falcon.HTTP_405)


class PartOfTasks:
    """One layer of the tasks of a cluster."""

    policy: ClassVar[Policy] = {"GET": READ}

    def __init__(self, graphs: ManageGraphs) -> None:
        self._graphs = graphs

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str, part: str) -> None:
        """Answer with the tasks of the cluster's own, of its `release`, or of `plugins`, which has none."""
        _check_type(req)
        if part not in {candidate.value for candidate in Part if candidate is not Part.ALL}:
            raise Fault("A cluster has the tasks own, release and plugins.", falcon.HTTP_404)
        resp.media = list(self._graphs.tasks(reading.owner(OwnerKind.CLUSTER, owner_id), Part(part)))


class GraphInDot:
    """The graph of a cluster as DOT."""

    policy: ClassVar[Policy] = {"GET": READ}

    def __init__(self, graphs: ManageGraphs) -> None:
        self._graphs = graphs

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with the graph for Graphviz."""
        _check_type(req)
        drawing = Drawing(
            reading.separated(req, "tasks"), single(req, "parents_for"), reading.separated(req, "remove") or ()
        )
        resp.text = self._graphs.dot(reading.owner(OwnerKind.CLUSTER, owner_id).id, drawing)
        resp.content_type = "text/vnd.graphviz"


def set_warnings(resp: falcon.Response, warnings: Sequence[Finding]) -> None:
    """Tell the warnings, if there are any."""
    if warnings:
        resp.set_header(WARNINGS, _header([finding.message for finding in warnings]))


def _header(messages: Sequence[str]) -> str:
    """Return as many messages as a header takes, and how many there are besides."""
    kept = list(messages)
    while len(text := json.dumps(kept if len(kept) == len(messages) else [*kept, _more(messages, kept)])) > _LONGEST:
        kept.pop()
    return text


def _more(messages: Sequence[str], kept: Sequence[str]) -> str:
    return f"{len(messages) - len(kept)} more: shipyard software plan shows all."


def _check_type(req: falcon.Request) -> None:
    """Refuse further graphs: a release and a cluster have one."""
    if (single(req, "graph_type") or "default") != "default":
        raise Fault("There is one graph, of the type default.", falcon.HTTP_404)
