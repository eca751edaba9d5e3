"""Pods of a node and the budgets that protect them, as values (Kubernetes API; contract: promenade, 4.1)."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import NewType

from msgspec import Struct, field

from shipyard_api.domain.teardown.labels import (
    DECOMMISSION_KEY,
    DECOMMISSION_VALUE,
    NodeFit,
    Operator,
    Requirement,
    all_hold,
)

PodUid = NewType("PodUid", str)
"""Identity of one pod; a new pod with the same name has another."""


class PodPhase(Enum):
    """Phase of a pod; the values are Kubernetes' words."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


_STOPPER = Requirement(DECOMMISSION_KEY, Operator.IN, (DECOMMISSION_VALUE,))

FINISHED = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})


class Controller(Struct, frozen=True):
    """The owner of a pod with ``controller: true``."""

    kind: str
    name: str


class Pod(Struct, frozen=True):
    """One pod on the node.

    ``mirror``: it has the annotation of a static pod. ``local_data``: it has an ``emptyDir`` volume. ``leaves_at``: its
    ``deletionTimestamp``, the moment when its grace period ends; None if nothing deletes it. ``volumes``: names of its
    volume claims. ``finalizers``: finalizers that delay the deletion.
    """

    namespace: str
    name: str
    uid: PodUid
    phase: PodPhase = PodPhase.RUNNING
    ready: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    controller: Controller | None = None
    mirror: bool = False
    local_data: bool = False
    leaves_at: datetime | None = None
    volumes: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Budget(Struct, frozen=True):
    """A PodDisruptionBudget. ``selector`` is None if it selects nothing.

    ``allowed``, ``desired``, ``current``, ``expected``: disruptions that it allows now, pods that must be healthy, that
    are healthy, and that there should be. ``current_status``: the status is of this version of the budget.
    ``spares_unready``: pods that are not ready may always be evicted (``unhealthyPodEvictionPolicy: AlwaysAllow``).
    """

    namespace: str
    name: str
    selector: tuple[Requirement, ...] | None
    allowed: int
    desired: int
    current: int
    expected: int
    current_status: bool = True
    spares_unready: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    def protects(self, pod: Pod) -> bool:
        """Return whether the budget selects the pod."""
        return pod.namespace == self.namespace and self.selector is not None and all_hold(self.selector, pod.labels)

    @property
    def never_allows(self) -> bool:
        """Whether it allows no disruption even when every pod is healthy: waiting will not help."""
        return self.current_status and self.expected <= self.desired

    def lets_go(self, pod: Pod) -> bool:
        """Return whether it lets a pod go without counting it: one that is not ready is no disruption.

        The API server does so where the budget is met without that pod.
        """
        return not pod.ready and (self.spares_unready or self.current >= self.desired > 0)


class DaemonSet(Struct, frozen=True):
    """A DaemonSet that exists, and the nodes that it wants."""

    namespace: str
    name: str
    wants: NodeFit

    @property
    def stops_kubelets(self) -> bool:
        """Whether it waits for the label that Shipyard sets to stop a kubelet: its pods are Shipyard's own."""
        return _STOPPER in self.wants.selector
