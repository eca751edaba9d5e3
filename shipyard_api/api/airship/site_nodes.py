"""Nodes of the site: over all actions, the history of one, how the provisioner sees them now, and their adoption."""

from collections.abc import Callable, Collection
from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship.action_nodes import MOST, name_of_node
from shipyard_api.api.airship.errors import InvalidStatusFilter, StatusesUnavailable
from shipyard_api.api.airship.parameters import marker
from shipyard_api.api.airship.parameters import nodes as names_of_nodes
from shipyard_api.api.entities.nodes import LastNode, LastNodeList, NodeDescription, NodePast, PastPhase
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.limits import SMALL_WRITE
from shipyard_api.api.http.reading import parse_checked, threaded_json, whole_number, words
from shipyard_api.api.http.threads import threaded, threaded_peer
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.state.nodes import NodeHistory
from shipyard_api.usecases.nodes import list as site_statuses
from shipyard_api.usecases.nodes.adopt import AdoptNodes
from shipyard_api.usecases.nodes.list import ListNodes, StatusKind

# Each action adds its status changes and phases to the response.
MOST_ACTIONS = 100


class SiteNodes:
    """``/nodes``: every node that an action ever had, in order of name."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_nodes"}

    def __init__(self, nodes: ListNodes) -> None:
        self._nodes = nodes

    @threaded_peer
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with a page of nodes, each as its latest action has it; ``next`` is the marker of the page after."""
        status = words(req, "status", [known_status.value for known_status in NodeStatus])
        prefix, after = name_of_node(req, "name"), name_of_node(req, "marker")
        limit = whole_number(req, "limit", 100, least=1, most=MOST)
        nodes = self._nodes.page(
            status=status, prefix=prefix, names=names_of_nodes(req, "node"), after=after, limit=limit
        )
        last = nodes[-1].node.name if len(nodes) == limit else None
        resp.media = LastNodeList([LastNode.of(record, record.node) for record in nodes], last)


class SiteNode:
    """``/nodes/{node_name}``: one node."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_nodes"}

    def __init__(self, nodes: ListNodes) -> None:
        self._nodes = nodes

    @threaded_peer
    def on_get(self, req: falcon.Request, resp: falcon.Response, node_name: str) -> None:
        """Answer with the node and what each action did with it, newest first, in pages of actions.

        ``teardowns``: the latest lines about operations that took the node out of its cluster.
        """
        limit = whole_number(req, "limit", 20, least=1, most=MOST_ACTIONS)
        shown = self._nodes.one(node_name, before=marker(req), limit=limit)
        resp.media = NodeDescription.of(
            shown,
            shown.last,
            shown.last.node,
            look_at=self._nodes.page_of(node_name),
            history=[_past(past, self._nodes.job_address) for past in shown.history],
            next=shown.history[-1].action if len(shown.history) == limit else None,
        )


def _past(past: NodeHistory, job_address: Callable[[str], str | None]) -> NodePast:
    phases = [PastPhase.of(phase, look_at=job_address(phase.job) if phase.job else None) for phase in past.phases]
    return NodePast.of(past, past.node, phases=phases)


class Adoptions:
    """``/adoptions``: servers that have what a revision gives them."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:adopt_nodes"}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, adopt: AdoptNodes, schemas: Schemas, limit: int) -> None:
        self._adopt = adopt
        self._schemas = schemas
        self.limit = limit

    @threaded_json
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        """Record that nodes have what a revision gives them, and answer with them."""
        body = parse_checked(req.path, sent, self._schemas, "adoption_v1")
        revision = Revision(body["revision"])
        nodes = self._adopt([NodeName(node) for node in body["nodes"]], revision, req.context.caller)
        resp.media = {"nodes": list(nodes), "revision": revision}


# For each filter: its list in the answer, and the key of the status in an entry.
_SHOWN = {
    StatusKind.PROVISIONING: ("nodes_provision_status", "status"),
    StatusKind.POWER: ("machines_powerstate", "power_state"),
}


class SiteStatuses:
    """``/site_statuses``: every machine that the provisioner knows."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_site_statuses"}

    def __init__(self, statuses: site_statuses.SiteStatuses) -> None:
        self._statuses = statuses

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the provisioner's status and the power state of every machine, or with one of the two."""
        kinds = _filters(req)
        try:
            by_kind = self._statuses(kinds)
        except PeerError as error:
            raise StatusesUnavailable(next(kind for kind in _SHOWN if kind in kinds), error) from error
        resp.media = {
            name: [{"hostname": host, key: word} for host, word in by_kind[kind]]
            for kind, (name, key) in _SHOWN.items()
            if kind in by_kind
        }


def _filters(req: falcon.Request) -> Collection[StatusKind]:
    """Return the requested filters, both by default; this is the one parameter that commas split."""
    written = [word for value in req.get_param_as_list("filters") or () for word in value.split(",") if word]
    known = {kind.value: kind for kind in StatusKind}
    for word in written:
        if word not in known:
            raise InvalidStatusFilter(word)
    return [known[word] for word in written] or list(StatusKind)
