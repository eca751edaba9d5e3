"""The cluster port over a Kubernetes API server."""

from collections.abc import Collection, Mapping

from shipyard_api.adapters.kubernetes import translate
from shipyard_api.adapters.kubernetes.answer import SYSTEM
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesNodes
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName


class KubernetesCluster:
    """The cluster behind one API server. ``nodes``: the port of its nodes, over the same connections."""

    name = SYSTEM

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client
        self.nodes = KubernetesNodes(client)

    def readiness(self, nodes: Collection[NodeName]) -> Mapping[NodeName, ObservedMember]:
        """Return the readiness of each of these nodes, from one listing of all nodes (no nodes: no request)."""
        return translate.readiness(self._client.nodes(), nodes, self._client.scrubber) if nodes else {}
