"""The cluster port over a Kubernetes API server."""

from collections.abc import Collection, Mapping

from shipyard_api.adapters.kubernetes import translate
from shipyard_api.adapters.kubernetes.client import SYSTEM, KubernetesClient
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.cluster import NodeReadiness


class KubernetesCluster:
    """The cluster behind one API server."""

    name = SYSTEM

    def __init__(self, client: KubernetesClient) -> None:
        self._client = client

    def readiness(self, nodes: Collection[NodeName]) -> Mapping[NodeName, NodeReadiness]:
        """Return the readiness of each of these nodes, from one listing of all nodes (no nodes: no request)."""
        return translate.readiness(self._client.nodes(), nodes, self._client.scrubber) if nodes else {}
