"""Nodes over all actions, and the history of one. Shipyard v1.0 has no such resource."""

from collections.abc import Callable
from typing import ClassVar

import falcon

from shipyard_api.api.airship.action_nodes import MOST, name_of_node
from shipyard_api.api.airship.paging import marker
from shipyard_api.api.airship.parameters import nodes as names_of_nodes
from shipyard_api.api.entities.nodes import LastNode, LastNodeList, NodeDescription, NodePast, PastPhase
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import whole_number, words
from shipyard_api.api.http.threads import threaded_peer
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.state.nodes import NodeHistory
from shipyard_api.usecases.nodes.list import ListNodes

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
