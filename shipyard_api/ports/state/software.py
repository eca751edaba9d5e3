"""Releases, clusters and their nodes: what the software stage runs and where (seeds 001 and 002)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.task_graph.layers import Cluster, ClusterId, Release, ReleaseId
from shipyard_api.domain.task_graph.node_facts import setting_keys
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries


@dataclass(frozen=True, slots=True)
class StoredNode:
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


@dataclass(frozen=True, slots=True)
class SoftwareSite:
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
        own = {"CLUSTER_ID": str(self.cluster.id), "VERSION": version, "OPENSTACK_VERSION": version}
        return {**setting_keys(self.models), **own}

    @property
    def tasks(self) -> tuple[JsonObject, ...]:
        """The effective task documents, as written."""
        return self.cluster.layer.tasks


class Software(Protocol):
    """Releases, clusters, and assignments of roles and tags. Release 1 and cluster 1 always exist."""

    def releases(self) -> Sequence[Release]:
        """Return all releases in the order of their ids."""

    def release(self, release: ReleaseId) -> Release | None:
        """Return a release."""

    def add_release(self, name: str, version: str, operating_system: str) -> Release:
        """Store a new release that declares nothing. Raises ReleaseTaken."""

    def save_release(self, release: Release) -> None:
        """Store what has become of a release, after ``lock``. Raises ReleaseTaken."""

    def clusters(self) -> Sequence[Cluster]:
        """Return all clusters in the order of their ids."""

    def cluster(self, cluster: ClusterId) -> Cluster | None:
        """Return a cluster."""

    def save_cluster(self, cluster: Cluster) -> None:
        """Store what has become of a cluster, after ``lock``; its release must exist."""

    def lock(self) -> None:
        """Keep every other writer of releases, clusters and assignments waiting until the transaction ends."""

    def nodes(self, cluster: ClusterId) -> Sequence[StoredNode]:
        """Return every node that the cluster ever had, in the order of their ids."""

    def add_nodes(self, cluster: ClusterId, names: Iterable[NodeName]) -> None:
        """Give ids to nodes that have none, in order."""

    def save_node(self, node: StoredNode) -> None:
        """Store the roles and tags of a node. It is no longer the primary of what it does not have."""

    def primaries(self, cluster: ClusterId) -> Primaries:
        """Return the stored primaries."""

    def keep_primaries(self, cluster: ClusterId, primaries: Primaries) -> None:
        """Store the primaries of a run that starts."""

    def status(self) -> str:
        """Return the status of the site between its actions: ``new``, ``operational`` or ``error``."""

    def site(self, cluster: ClusterId, design: Iterable[NodeName]) -> SoftwareSite:
        """Return what a run depends on. ``design``: the nodes of the revision that the run is for.

        Nodes of the design without an id come last, in the order given, without roles and tags. The cluster exists.
        """
