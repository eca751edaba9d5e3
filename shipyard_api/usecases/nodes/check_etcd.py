"""Check before anything is stored whether etcd members of servers may leave their clusters (product, section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.actions.action import Case
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import EtcdForbids
from shipyard_api.domain.findings import errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.targets import in_batches
from shipyard_api.domain.teardown.etcd_documents import read_etcd_clusters
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, members_on
from shipyard_api.domain.teardown.guards import Addresses, cannot_leave, check_batches, check_together
from shipyard_api.ports.cluster_nodes import ClusterNodes
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.etcd import Etcd
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns


@dataclass(frozen=True, slots=True)
class CheckEtcd:
    """The use case; reads Kubernetes and etcd. ``nodes`` is None where no Kubernetes is configured.

    It refuses only what answering clusters forbid. A design that cannot be read and a silent peer are left to the check
    of the action, which repeats this one and waits for peers.
    """

    rendered: RenderedDesigns
    rules: DesignRules
    nodes: ClusterNodes | None
    etcd: Etcd

    def of_targets(self, case: Case) -> Conflict | None:
        """Return why an action may not take its servers down; None with ``force``."""
        parameters, revision = case.parameters, Revision(case.inputs.revision)
        if parameters.force:
            return None
        clusters, addresses = self._look(revision, parameters.targets)
        batches = in_batches(parameters.targets, parameters.max_parallel_nodes)
        findings = errors(check_batches(batches, (), clusters, addresses))
        if not findings and case.action.removes:
            findings = errors(check_together(batches, clusters, addresses))
        return EtcdForbids(findings) if findings else None

    def of_node(self, revision: Revision, node: NodeName) -> Sequence[str]:
        """Return a sentence for each cluster that the members of the node cannot leave."""
        clusters, addresses = self._look(revision, [node])
        forbidden = (cannot_leave(node, cluster, members_on(cluster, node, addresses[node])) for cluster in clusters)
        return [f"{refusal.message} {refusal.advice}." for refusal in forbidden if refusal]

    def _look(self, revision: Revision, nodes: Sequence[NodeName]) -> tuple[Sequence[EtcdCluster], Addresses]:
        """Return the clusters that answer, and the addresses of the nodes; no cluster where one cannot be asked for."""
        addresses: Mapping[NodeName, Sequence[str]] = dict.fromkeys(nodes, ())
        try:
            documents = [rendered.document for rendered in self.rendered.of(revision).documents]
            accesses, faults = read_etcd_clusters(documents, self.rules.check)
            if self.nodes is None or errors(faults) or not accesses:
                return (), addresses
            known = {node: self.nodes.node(node) for node in nodes}
            addresses = {node: known_node.addresses if known_node else () for node, known_node in known.items()}
            alone = nodes[0] if len(nodes) == 1 else None
            asked_last = addresses[alone] if alone else ()
            clusters = [self.etcd.look(access, node=alone, addresses=asked_last) for access in accesses]
        except (RenderingFailed, UnknownRevision, PeerError):
            return (), addresses
        return [cluster for cluster in clusters if cluster.members], addresses
