"""A Kubernetes cluster: servers join it, and a teardown reads and changes its nodes (seed 004)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Protocol

from msgspec import Struct

from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain_plan import DrainPlan, plan_drain
from shipyard_api.domain.teardown.kubelet import Kubelet, Ready, state_of
from shipyard_api.domain.teardown.pods import Budget, DaemonSet, Pod, PodUid


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


class ClusterNode(Struct, frozen=True):
    """One Node object. ``renewed_at``: when its kubelet last renewed the lease, by the kubelet's clock; None: no lease.

    ``version``: its ``resourceVersion``, which a conditional change names. ``addresses``: host names included.
    """

    name: NodeName
    uid: str
    version: str
    cordoned: bool
    labels: Mapping[str, str]
    addresses: tuple[str, ...] = ()
    ready: Ready = Ready.UNKNOWN
    renewed_at: datetime | None = None


class NodeLook(Struct, frozen=True):
    """The node with all that a drain needs. ``budgets`` and ``daemon_sets`` are those of the whole cluster.

    ``server_time``: the API server's clock at that moment; ``deletionTimestamp``s and budgets follow that clock.
    """

    node: ClusterNode
    pods: tuple[Pod, ...]
    budgets: tuple[Budget, ...]
    daemon_sets: tuple[DaemonSet, ...]
    server_time: datetime

    @property
    def kubelet(self) -> Kubelet:
        """The kubelet's state by its clock and the API server's; one look cannot see whether the lease changes."""
        return state_of(self.node.ready, self.node.renewed_at, self.server_time)

    def drain_plan(self, kubelet: Kubelet) -> DrainPlan:
        """Return what a drain does to each pod."""
        return plan_drain(self.pods, self.budgets, self.daemon_sets, now=self.server_time, kubelet=kubelet)


class EvictionOutcome(Enum):
    """The API server's answer to one eviction (contract: promenade, 4.1, step 5).

    ``accepted``: the pod is on its way. ``gone``: the pod is gone or replaced under its name. ``blocked``: a budget
    forbids it now. ``ending_with_namespace``: its namespace is being deleted. ``never``: several budgets select it.
    """

    ACCEPTED = "accepted"
    GONE = "gone"
    BLOCKED = "blocked"
    ENDING_WITH_NAMESPACE = "ending-with-namespace"
    NEVER = "never"


class Eviction(Struct, frozen=True):
    """One answer. ``message`` is the API server's, where it refused. ``retry_after``: its seconds, 0 without any."""

    outcome: EvictionOutcome
    message: str = ""
    retry_after: float = 0.0


class NodeDeletion(Enum):
    """The outcome of a deletion: accepted, nothing left to delete, or another node has the name now."""

    ACCEPTED = "accepted"
    GONE = "gone"
    ANOTHER_NODE = "another-node"


class KubeletStopper(Struct, frozen=True):
    """The DaemonSet that stops kubelets, found by its node selector; ``phase``: of its pod on the node, or empty."""

    namespace: str
    name: str
    phase: str = ""


class ClusterNodes(Protocol):
    """The nodes of one cluster."""

    @property
    def name(self) -> str:
        """The system's name, as operators know it (``Kubernetes``)."""

    def node(self, name: NodeName) -> ClusterNode | None:
        """Return the node with its lease, None if the cluster does not have it."""

    def look(self, name: NodeName) -> NodeLook | None:
        """Return the node with its pods and what protects them, None if the cluster does not have it."""

    def cordon(self, node: ClusterNode, *, label: str = "") -> None:
        """Let no new pod be scheduled on the node; ``label``: set with it, in one change."""

    def uncordon(self, node: ClusterNode, *, label: str) -> None:
        """Let pods be scheduled on the node again, and remove the label."""

    def evict(self, pods: Sequence[Pod], *, grace: int) -> Mapping[PodUid, Eviction]:
        """Request the eviction of each pod, by its uid, some at a time; ``grace``: whole seconds, instead of its own.

        A pod without an answer within the call's time is missing from the result. Raises only if no pod has one, and
        for a missing right.
        """

    def delete_pods(self, pods: Sequence[Pod], *, grace: int) -> None:
        """Delete the pods, by their uids, past their budgets; those that are gone are passed over."""

    def remove_labels(self, node: ClusterNode, keys: Collection[str]) -> bool:
        """Remove labels if the node is still what was read; False: it has changed, read it again."""

    def set_labels(self, node: ClusterNode, labels: Mapping[str, str]) -> bool:
        """Set labels, and leave all others, if the node is still what was read; False: it has changed, read it again.

        Raises Refused for a key or value that is no label.
        """

    def kubelet_stopper(self, name: NodeName) -> KubeletStopper | None:
        """Return the DaemonSet that waits for the label ``promenade-decomission``, None if there is none."""

    def delete_node(self, node: ClusterNode) -> NodeDeletion:
        """Delete this very node, by its uid."""
