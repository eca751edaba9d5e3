"""The Kubernetes cluster that deployed servers join (contract: shipyard-actions, 8.5)."""

from collections.abc import Collection, Mapping
from typing import Protocol

from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName


class Cluster(Protocol):
    """The cluster of one site. Raises one of ``ports.errors`` when it cannot answer."""

    @property
    def name(self) -> str:
        """The system's name, as operators know it (``Kubernetes``)."""

    def readiness(self, nodes: Collection[NodeName]) -> Mapping[NodeName, ObservedMember]:
        """Return the readiness of each of these nodes; a node that the cluster does not have is not ready.

        It is the status of the condition of type ``Ready``, wherever it is in the list (contract: shipyard-actions,
        chapter 13). Changes nothing; may be repeated.
        """
