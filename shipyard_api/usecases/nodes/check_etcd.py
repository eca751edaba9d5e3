"""Check before anything is stored whether etcd members of servers may leave their clusters (product, section 6)."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from shipyard_api.actions.action import Case
from shipyard_api.actions.protection import ReadProtection
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import EtcdForbids
from shipyard_api.domain.findings import errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.targets import in_batches
from shipyard_api.domain.teardown.etcd_documents import Protection
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, members_on
from shipyard_api.domain.teardown.guards import Addresses, cannot_leave, check_batches, check_together
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.etcd import Etcd


class CheckEtcd(Struct, frozen=True):
    """The use case; reads Kubernetes and etcd. ``nodes`` is None where no Kubernetes is configured.

    It refuses only what answering clusters forbid. A design that cannot be read and a silent peer are left to the check
    of the action, which repeats this one and waits for peers.
    """

    protection: ReadProtection
    nodes: ClusterNodes | None
    etcd: Etcd

    def of_targets(self, case: Case) -> Conflict | None:
        """Return why an action may not take its servers down; None with ``force``."""
        parameters = case.parameters
        if parameters.force:
            return None
        clusters, addresses = self._look(lambda: self.protection.of(case.committed), parameters.targets)
        batches = in_batches(parameters.targets, parameters.max_parallel_nodes)
        findings = errors(check_batches(batches, (), clusters, addresses))
        if not findings and case.action.removes:
            findings = errors(check_together(batches, clusters, addresses))
        return EtcdForbids(findings) if findings else None

    def of_node(self, otherwise: Revision, node: NodeName) -> Sequence[str]:
        """Return a sentence for each cluster that the members of the node cannot leave; as ``ReadProtection``."""
        clusters, addresses = self._look(lambda: self.protection(otherwise), [node])
        forbidden = (cannot_leave(node, cluster, members_on(cluster, node, addresses[node])) for cluster in clusters)
        return [f"{refusal.message} {refusal.advice}." for refusal in forbidden if refusal]

    def _look(
        self, read: Callable[[], Protection], nodes: Sequence[NodeName]
    ) -> tuple[Sequence[EtcdCluster], Addresses]:
        """Return the clusters that answer, and the addresses of the nodes; no cluster where one cannot be asked for."""
        addresses: Mapping[NodeName, Sequence[str]] = dict.fromkeys(nodes, ())
        try:
            protection = read()
            if self.nodes is None or protection.faults or not protection.clusters:
                return (), addresses
            known = {node: self.nodes.node(node) for node in nodes}
            addresses = {node: known_node.addresses if known_node else () for node, known_node in known.items()}
            alone = nodes[0] if len(nodes) == 1 else None
            asked_last = addresses[alone] if alone else ()
            clusters = [self.etcd.look(access, node=alone, addresses=asked_last) for access in protection.clusters]
        except PeerError:
            return (), addresses
        return [cluster for cluster in clusters if cluster.members], addresses
