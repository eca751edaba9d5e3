"""Nodes of the site, their roles, tags and facts (seeds 001 and 002, REST API; contract: fuel-task-graph, 5 and 12)."""

from collections.abc import Sequence
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.fuel import reading
from shipyard_api.api.fuel.graphs import READ, set_warnings
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.errors import Fault
from shipyard_api.api.http.limits import SMALL_WRITE
from shipyard_api.api.http.reading import single
from shipyard_api.api.http.threads import answer_in_thread, threaded, threaded_design
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.policy import SOFTWARE_PREFIX
from shipyard_api.domain.task_graph.layers import SITE, OwnerKind
from shipyard_api.ports.state.software import StoredNode
from shipyard_api.usecases.software.node_facts import NodeFacts, ShowNodeFacts
from shipyard_api.usecases.software.nodes import DesignedNode, SoftwareNodes
from shipyard_api.usecases.software.run_states import NodeRun

ASSIGN = f"{SOFTWARE_PREFIX}assign"
_STATUSES = {
    NodeStatus.NOT_STARTED: "discover",
    NodeStatus.PREPARED: "provisioned",
    NodeStatus.SUCCESS: "ready",
    NodeStatus.FAILURE: "error",
}


class Nodes:
    """The nodes of the committed design."""

    policy: ClassVar[Policy] = {"GET": READ}

    def __init__(self, nodes: SoftwareNodes) -> None:
        self._nodes = nodes

    @threaded_design
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with all nodes in the order of their ids; `cluster_id` limits them to a cluster."""
        if (single(req, "cluster_id") or str(SITE)) != str(SITE):
            resp.media = []
            return
        resp.media = _shown(self._nodes, self._nodes.all())


class OneNode:
    """A node, by id or name."""

    policy: ClassVar[Policy] = {"GET": READ}

    def __init__(self, nodes: SoftwareNodes) -> None:
        self._nodes = nodes

    @threaded_design
    def on_get(self, req: falcon.Request, resp: falcon.Response, node: str) -> None:
        """Answer with the node, its roles and its tags."""
        (resp.media,) = _shown(self._nodes, [self._nodes.one(node)])


class NodeTags:
    """The tags of a node."""

    policy: ClassVar[Policy] = {"POST": ASSIGN, "DELETE": ASSIGN}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, nodes: SoftwareNodes, limit: int) -> None:
        """``limit``: the largest body, in bytes."""
        self._nodes = nodes
        self.limit = limit

    @reading.threaded_body
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes, node: str) -> None:
        """Assign tags to the node: a list of names."""
        assigned, warnings = self._nodes.assign_tags(node, reading.names(reading.value(req, sent), "Tags"))
        (resp.media,) = _shown(self._nodes, assigned)
        set_warnings(resp, warnings)

    async def on_delete(self, req: falcon.asgi.Request, resp: falcon.Response, node: str) -> None:
        """Take tags from the node: a list of names, or the parameter `tags` with names and commas."""
        named = reading.separated(req, "tags")
        sent = await reading.body(req, self.limit) if named is None else b""

        def unassign() -> None:
            tags = named if named is not None else reading.names(reading.value(req, sent), "Tags")
            _, warnings = self._nodes.unassign_tags(node, tags)
            set_warnings(resp, warnings)
            resp.status = falcon.HTTP_204

        await answer_in_thread(resp, unassign)


class Assignment:
    """The roles of nodes. ``assigns`` False: they lose all roles and tags."""

    policy: ClassVar[Policy] = {"POST": ASSIGN}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, nodes: SoftwareNodes, limit: int, *, assigns: bool) -> None:
        """``limit``: the largest body, in bytes."""
        self._nodes = nodes
        self.limit = limit
        self._assigns = assigns

    @reading.threaded_body
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes, owner_id: str) -> None:
        """Give each node exactly the roles that the body names, or take all roles and tags from the nodes."""
        cluster = reading.owner(OwnerKind.CLUSTER, owner_id)
        wanted = _assignment(reading.value(req, sent), with_roles=self._assigns)
        if self._assigns:
            _, warnings = self._nodes.assign_roles(cluster.id, wanted)
        else:
            _, warnings = self._nodes.unassign(cluster.id, list(wanted))
        resp.media = {}
        set_warnings(resp, warnings)


class TagCheck:
    """The tag check before a deployment (seed 002; contract: fuel-task-graph, 6)."""

    policy: ClassVar[Policy] = {"GET": READ}

    def __init__(self, nodes: SoftwareNodes) -> None:
        self._nodes = nodes

    @threaded_design
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with the predefined tags that no node has, as warnings and information; it never blocks."""
        findings = self._nodes.check_tags(reading.owner(OwnerKind.CLUSTER, owner_id).id)
        resp.media = [
            {"name": finding.name, "level": finding.level.value, "message": finding.message} for finding in findings
        ]


def _assignment(entries: Any, *, with_roles: bool) -> dict[str, list[str]]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Fault("The body is not a list of nodes with an id each.")
    wanted = {}
    for entry in entries:
        node = entry.get("id")
        if isinstance(node, bool) or not isinstance(node, int | str):
            raise Fault("The id of a node is its number or its name.")
        wanted[str(node)] = reading.names(entry.get("roles"), "Roles") if with_roles else []
    return wanted


def _shown(nodes: SoftwareNodes, nodes_shown: Sequence[StoredNode]) -> list[dict[str, Any]]:
    runs, designed = nodes.runs(nodes_shown), nodes.designed()
    return [_node(node, runs.get(node.name), designed.get(node.name)) for node in nodes_shown]


def _node(node: StoredNode, run: NodeRun | None, designed: DesignedNode | None) -> dict[str, Any]:
    """Return a node; a deployment that failed counts before the tasks that ran since.

    ``design`` is ours: Fuel has no such field. It is null for a node that a commit has just removed.
    """
    status, progress, message = _STATUSES[node.status or NodeStatus.NOT_STARTED], 0, ""
    if run is not None and node.status is not NodeStatus.FAILURE:
        status, progress, message = run.status.value, run.progress, run.message
    return {
        "id": node.id,
        "name": node.name,
        "hostname": node.name,
        "fqdn": node.name,
        "status": status,
        "error_type": "deploy" if status == "error" else None,
        "error_msg": message,
        "cluster": SITE,
        "roles": list(node.roles),
        "pending_roles": [],
        "tags": list(node.tags),
        "pending_addition": False,
        "pending_deletion": False,
        "online": None,
        "progress": 100 if status == "ready" else progress,
        "os_platform": None,
        "platform_name": None,
        "kernel_params": None,
        "ip": None,
        "mac": None,
        "group_id": None,
        "labels": {},
        "meta": {},
        "design": None
        if designed is None
        else {
            "rack": designed.rack,
            "tags": list(designed.tags),
            "labels": dict(designed.labels),
            "addresses": dict(designed.addresses),
        },
    }


class DeploymentDefaults:
    """The records of nodes, in the order in which they run."""

    policy: ClassVar[Policy] = {"GET": READ}

    def __init__(self, show: ShowNodeFacts) -> None:
        self._show = show

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, owner_id: str) -> None:
        """Answer with a record for each node in each group; `nodes` chooses some nodes."""
        cluster = reading.owner(OwnerKind.CLUSTER, owner_id)
        resp.media = [_record(node_facts) for node_facts in self._show(cluster.id, reading.separated(req, "nodes"))]


def _record(facts: NodeFacts) -> dict[str, Any]:
    tasks = [
        {
            "id": task.document["id"],
            "type": task.document["type"],
            "priority": task.priority,
            "uids": [str(facts.id)],
            "parameters": task.document.get("parameters", {}),
        }
        for task in facts.tasks
    ]
    return {
        "uid": str(facts.id),
        "name": facts.node,
        "role": facts.role,
        "priority": facts.priority,
        "tasks": tasks,
    }
