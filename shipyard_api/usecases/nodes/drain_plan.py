"""Plan the drain of a node without changing anything (product, section 6)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from shipyard_api.actions.protection import ReadProtection
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import Conflict, NotFound
from shipyard_api.domain.errors import NodeNotInCluster, NothingDrains
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain_plan import DrainPlan
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.etcd_health import Health, health
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId, members_on
from shipyard_api.domain.teardown.guards import check_teardown
from shipyard_api.domain.teardown.quorum import survivable_failures
from shipyard_api.ports.cluster import ClusterNodes, NodeLook
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.etcd import Etcd

MOST = 10
"""As many drains are planned at a time: each asks Kubernetes and every member of etcd."""


class EtcdPlan(Struct, frozen=True):
    """What a cluster loses with the node. ``members``: those on the node.

    ``survives`` and ``survives_after``: how many further members may fail, with the node's members and without them;
    below 0 there is no quorum. Both are None if no member list could be read.
    """

    cluster: str
    health: Health
    members: tuple[EtcdMember, ...]
    survives: int | None
    survives_after: int | None


class NodeDrainPlan(Struct, frozen=True):
    """What a drain of the node would do now. ``revision``: that of the design which names etcd and genesis; or None."""

    node: NodeName
    revision: Revision | None
    cordoned: bool
    drain: DrainPlan
    etcd: Sequence[EtcdPlan]
    findings: Sequence[Finding]


class PlanDrain(Struct, frozen=True):
    """The use case; reads Kubernetes and etcd. ``nodes`` is None where no Kubernetes is configured."""

    protection: ReadProtection
    nodes: ClusterNodes | None
    etcd: Etcd

    def __call__(self, name: str) -> NodeDrainPlan:
        """Return the plan with the etcd clusters of the newest committed design.

        Raises NothingDrains, NodeNotInCluster, and ports.errors if Kubernetes does not answer.
        """
        return self._plan(NodeName(name), self.protection.revision())

    def _plan(self, node: NodeName, used: Revision | None) -> NodeDrainPlan:
        if self.nodes is None:
            raise NothingDrains([node])
        look = self.nodes.look(node)
        if look is None:
            raise NodeNotInCluster(node)
        etcd, findings = self._etcd(look, used)
        return NodeDrainPlan(node, used, look.node.cordoned, look.drain_plan(look.kubelet), etcd, findings)

    def each(self, nodes: Sequence[NodeName], committed: Revision | None) -> Mapping[NodeName, NodeDrainPlan | str]:
        """Return the plan of each of the first nodes, or why it has none; without a revision, of their pods only."""
        plans: dict[NodeName, NodeDrainPlan | str] = {}
        for node in nodes[:MOST]:
            try:
                plans[node] = self._plan(node, committed)
            except Conflict:
                plans[node] = "no Kubernetes is configured"
            except NotFound:
                plans[node] = "Kubernetes does not know the node, so nothing would be drained"
            except PeerError as trouble:
                plans[node] = str(trouble)
        refused = dict.fromkeys(nodes[MOST:], f"only the first {MOST} nodes are planned: ask for this one alone")
        return {**plans, **refused}

    def _etcd(self, look: NodeLook, revision: Revision | None) -> tuple[Sequence[EtcdPlan], Sequence[Finding]]:
        protection = self.protection.of(revision)
        if protection.faults:
            return (), protection.faults
        name, addresses = look.node.name, look.node.addresses
        members = {cluster: members_on(cluster, name, addresses) for cluster in self._looks(protection.clusters, look)}
        plans = [_plan(cluster, leaving) for cluster, leaving in members.items()]
        return plans, check_teardown(name, protection.genesis, members)

    def _looks(self, accesses: Sequence[EtcdAccess], look: NodeLook) -> Sequence[EtcdCluster]:
        clusters = []
        for access in accesses:
            try:
                clusters.append(self.etcd.look(access, node=look.node.name, addresses=look.node.addresses))
            except PeerError:
                # What answers is no etcd: for the plan the same as no answer.
                clusters.append(EtcdCluster(access.name, minimum=access.minimum))
        return clusters


def _plan(cluster: EtcdCluster, leaving: frozenset[MemberId]) -> EtcdPlan:
    members = tuple(member for member in cluster.members if member.id in leaving)
    if not cluster.members:
        return EtcdPlan(cluster.name, Health.UNREACHABLE, members, None, None)
    now, after = survivable_failures(cluster), survivable_failures(cluster, leaving)
    return EtcdPlan(cluster.name, health(cluster), members, now, after)
