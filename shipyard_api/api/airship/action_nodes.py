"""The deployment groups and nodes of an action; ours, beside the contract. Long lists come in pages."""

from typing import ClassVar

import falcon

from shipyard_api.api.airship.parameters import nodes as names_of_nodes
from shipyard_api.api.entities.groups import DeploymentGroup
from shipyard_api.api.entities.nodes import Node, NodeList
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import single, text, whole_number, words
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.usecases.actions.describe import DescribeAction, Page

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
        resp.media = {"groups": [DeploymentGroup.of(listed, listed.group) for listed in groups], "next": last}


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


def _page(req: falcon.Request, statuses: list[str]) -> Page:
    return Page(
        status=words(req, "status", statuses),
        group=text(req, "group"),
        limit=whole_number(req, "limit", 100, least=1, most=MOST),
    )
