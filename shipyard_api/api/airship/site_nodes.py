"""Nodes over all actions, and the history of one. Shipyard v1.0 has no such resource."""

from collections.abc import Callable, Collection
from typing import Any, ClassVar

import falcon

from shipyard_api.api.airship.action_nodes import MOST, name_of_node, node_entity, phase_entity
from shipyard_api.api.airship.paging import marker
from shipyard_api.api.airship.parameters import nodes as names_of_nodes
from shipyard_api.api.entities.holds import Hold
from shipyard_api.api.entities.types import zulu
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import whole_number, words
from shipyard_api.api.http.threads import threaded_peer
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.teardown.left_cordons import LeftCordon
from shipyard_api.ports.state.nodes import LastNodeRecord, NodeChange, NodeHistory, TeardownRecord
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
        designed = self._nodes.designed() if nodes else None
        resp.media = {"nodes": [_latest(node, designed) for node in nodes], "next": last}


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
        shown_node = self._nodes.one(node_name, before=marker(req), limit=limit)
        last = shown_node.history[-1].action if len(shown_node.history) == limit else None
        resp.media = {
            **_latest(shown_node.last, self._nodes.designed()),
            "look_at": self._nodes.page_of(node_name),
            "history": [_history(entry, self._nodes.job_address) for entry in shown_node.history],
            "teardowns": [_teardown(teardown) for teardown in shown_node.teardowns],
            "next": last,
        }


def _latest(record: LastNodeRecord, designed: Collection[NodeName] | None) -> dict[str, Any]:
    holds = [Hold.of(hold) for hold in record.holds]
    in_design = None if designed is None else record.node.name in designed
    return {
        **node_entity(record.node),
        "action_id": record.action,
        "holds": holds,
        "pending": [
            {"action_id": work.action, "action": work.name, "phase": work.phase.value} for work in record.pending
        ],
        "in_design": in_design,
        "cordon": _cordon(record.cordon),
        "roles": list(record.roles),
        "tags": list(record.tags),
        "impact": record.impact and {"class": record.impact.impact.value, "aspects": list(record.impact.aspects)},
    }


def _cordon(cordon: LeftCordon | None) -> dict[str, Any] | None:
    if cordon is None:
        return None
    return {
        "action_id": cordon.action,
        "action": cordon.name,
        "since": zulu(cordon.since),
        "commands": list(cordon.commands),
    }


def _history(history: NodeHistory, job_address: Callable[[str], str | None]) -> dict[str, Any]:
    entity = node_entity(history.node)
    del entity["name"]
    return {
        "action_id": history.action,
        "action": history.name,
        "dag_status": history.state.value,
        "created_at": zulu(history.created_at),
        **entity,
        "changes": [_change(change) for change in history.changes],
        "phases": [
            {
                **phase_entity(phase),
                "group": phase.group,
                "message": phase.message,
                "look_at": job_address(phase.job) if phase.job else None,
            }
            for phase in history.phases
        ],
    }


def _teardown(teardown: TeardownRecord) -> dict[str, Any]:
    return {
        "action_id": teardown.action,
        "action": teardown.name,
        "operation": teardown.operation.value,
        "outcome": teardown.outcome.value,
        "message": teardown.message,
        "at": zulu(teardown.at),
    }


def _change(change: NodeChange) -> dict[str, Any]:
    return {
        "at": zulu(change.at),
        "status": change.status.value,
        "phase": change.phase,
        "group": change.group,
        "reason": change.reason,
        "detail": change.detail,
        "late": change.late,
    }
