"""The deployment groups and nodes of an action; ours, beside the contract. Long lists come in pages."""

from typing import Any, ClassVar

import falcon

from shipyard_api.api.airship.parameters import nodes as names_of_nodes
from shipyard_api.api.entities.nodes import Node, NodeList
from shipyard_api.api.entities.types import zulu
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import single, text, whole_number, words
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.usecases.actions.describe import DescribeAction, ListedGroup, Page

MOST = 1000


class Groups:
    """``/actions/{action_id}/groups``: deployment groups in the order of the strategy."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, describe: DescribeAction) -> None:
        self._describe = describe

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with a page of groups; ``next`` is the marker of the page after it."""
        page = _page(req, [status.value for status in GroupStatus])
        after = whole_number(req, "marker", -1, least=0, most=2**31 - 1)
        groups = self._describe.groups(action_id, page, after)
        last = str(groups[-1].group.index) if len(groups) == page.limit else None
        resp.media = {"groups": [_listed(group) for group in groups], "next": last}


class Nodes:
    """``/actions/{action_id}/nodes``: nodes in order of name."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, describe: DescribeAction) -> None:
        self._describe = describe

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with a page of nodes; ``next`` is the marker of the page after it."""
        page = _page(req, [status.value for status in NodeStatus])
        after = name_of_node(req, "marker")
        nodes = self._describe.nodes(action_id, page, after, names_of_nodes(req, "node"))
        last = nodes[-1].name if len(nodes) == page.limit else None
        resp.media = NodeList([Node.of(node) for node in nodes], last)


def name_of_node(req: falcon.Request, name: str) -> str:
    """Return a parameter that is the name of a node, or its beginning; empty if it is absent."""
    written = single(req, name) or ""
    if len(written) > 1000:
        raise falcon.HTTPInvalidParam("The value is the name of a node.", name)
    return written


def _listed(listed: ListedGroup) -> dict[str, Any]:
    group = listed.group
    phases = [{**phase_entity(phase), "message": phase.message, "nodes": list(phase.nodes)} for phase in group.phases]
    return {**group_entity(group), "needs": listed.needs, "phases": phases}


def _page(req: falcon.Request, statuses: list[str]) -> Page:
    return Page(
        status=words(req, "status", statuses),
        group=text(req, "group"),
        limit=whole_number(req, "limit", 100, least=1, most=MOST),
    )


def group_entity(group: GroupRecord) -> dict[str, Any]:
    """Return a deployment group as it is shown, without its phases."""
    return {
        "name": group.name,
        "critical": group.critical,
        "status": group.status,
        "reason": group.reason,
        "detail": group.detail,
        "depends_on": list(group.depends_on),
        "nodes": {
            "total": sum(group.nodes.values()),
            **{status.value: number for status, number in group.nodes.items()},
        },
    }


def phase_entity(phase: PhaseRecord) -> dict[str, Any]:
    """Return a phase of a group, or a batch of one, as it is shown everywhere."""
    return {
        "phase": phase.phase,
        "batch": phase.batch,
        "status": phase.status,
        "job": phase.job,
        "submitted_at": zulu(phase.submitted_at),
        "running_at": zulu(phase.running_at),
        "ended_at": zulu(phase.ended_at),
    }
