"""The Kubernetes cluster that deployed servers join (contract: shipyard-actions, 8.5)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from shipyard_api.domain.nodes import NodeName


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a node is ready at this moment, and in the cluster's words why it is not."""

    ready: bool
    why: str = ""


class Cluster(Protocol):
    """The cluster of one site. Raises one of ``ports.errors`` when it cannot answer."""

    @property
    def name(self) -> str:
        """The system's name, as operators know it (``Kubernetes``)."""

    def readiness(self, nodes: Collection[NodeName]) -> Mapping[NodeName, Readiness]:
        """Return how each of these nodes stands; one that the cluster does not have is not ready.

        Ready is what the condition of type ``Ready`` says, wherever it stands in the list (contract: shipyard-actions,
        chapter 13). Changes nothing; may be repeated.
        """
