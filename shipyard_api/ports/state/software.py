"""Releases, clusters, their nodes, and tasks as they went on nodes (seeds 001 and 002)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.task_graph.layers import Cluster
from shipyard_api.domain.task_graph.node_facts import setting_keys
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries
from shipyard_api.domain.task_graph.tasks import TaskId


class StoredNode(Struct, frozen=True):
    """A node of a cluster. ``id``: a number that it keeps. ``assigned``: tags that a user gave it, not a role.

    ``status``: in the newest action that worked on it; None if none did.
    """

    id: int
    name: NodeName
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    status: NodeStatus | None = None

    @property
    def in_cluster(self) -> ClusterNode:
        """The node as plans see it."""
        return ClusterNode(self.name, self.roles, self.tags, ready=self.status is NodeStatus.SUCCESS)


class SoftwareSite(Struct, frozen=True):
    """What a run of the software stage depends on, read at once.

    ``nodes``: all nodes of the cluster that are in the design, in the order of their ids. ``primaries``: as they are
    when a run starts now; ``Software.keep_primaries`` stores them. ``status`` and ``models``: of ``roles.facts_of``.
    """

    cluster: Cluster
    nodes: tuple[ClusterNode, ...]
    primaries: Primaries
    status: str
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def keys(self) -> Mapping[str, str]:
        """The value of ``{NAME}`` in parameters of tasks (contract: fuel-task-graph, 1.3; seed 001: VERSION)."""
        version = self.cluster.release.version
        values = {"CLUSTER_ID": str(self.cluster.id), "VERSION": version, "OPENSTACK_VERSION": version}
        return {**setting_keys(self.models), **values}

    @property
    def tasks(self) -> tuple[JsonObject, ...]:
        """The effective task documents, each with the roles whose metadata want it."""
        return self.cluster.layer.tasks_of_run()


class TaskRecord(Struct, frozen=True):
    """A task on a node in an action. ``marker``: under which the node knows it; the rest as in ``facts.software``."""

    action: ActionId
    node: NodeName
    task: TaskId
    status: TaskStatus
    marker: str
    began_at: datetime
    ended_at: datetime | None
    exit_status: int | None
    attempts: int
    seconds: float
    detail: str
    tail: str


class TaskMatrix(Struct, frozen=True):
    """All results of an action: ``tasks`` in the order in which they first began, and for each node, by name, a letter
    for each of them, as ``MATRIX_LETTERS`` has it; NOT_BEGUN where there is no result.
    """

    tasks: Sequence[TaskId]
    letters: Mapping[NodeName, str]


MATRIX_LETTERS = {
    TaskStatus.RUNNING: "r",
    TaskStatus.SUCCESS: "s",
    TaskStatus.FAILED: "f",
    TaskStatus.LEFT: "l",
}
NOT_BEGUN = "-"
