"""What a drain does next (contract: promenade, 4.1): evict, wait, delete past a budget if that is wished, or end."""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum

from msgspec import Struct

from shipyard_api.domain.actions import ActionId, ActionName, is_listed
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.remedies import bring_back, uncordon
from shipyard_api.domain.teardown.drain_plan import BLOCKED, DrainPlan, PlannedPod, PodClass


class OnBlocked(Enum):
    """What a drain does about pods that a budget keeps; the values are the words of the parameter ``on-blocked``.

    ``wait``: try again until the deadline. ``fail``: fail as soon as a budget will not give way by itself; nothing
    more is evicted. ``delete``: delete them past their budget, but only after every other pod has gone.
    """

    WAIT = "wait"
    FAIL = "fail"
    DELETE = "delete"


class FailureKind(Enum):
    """Why a drain failed."""

    BLOCKED = "blocked"
    TIMED_OUT = "timed-out"


class Drained(Struct, frozen=True):
    """Only pods are left that may stay. ``unreachable``: pods whose end no kubelet confirms; each is a warning."""

    unreachable: tuple[PlannedPod, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each unreachable pod; it names the volumes that may still be attached."""
        return tuple(
            f"{planned.pod} could not confirm its end: the kubelet is dead"
            + (f". Volumes may still be attached: {', '.join(planned.pod.volumes)}" if planned.pod.volumes else "")
            for planned in self.unreachable
        )


class Draining(Struct, frozen=True):
    """Evict and delete these pods, each in order, and list again. The others leave already, or wait for these."""

    evict: tuple[PlannedPod, ...] = ()
    delete: tuple[PlannedPod, ...] = ()


class DrainFailed(Struct, frozen=True):
    """The drain ends with these pods left; the node stays cordoned."""

    kind: FailureKind
    left: tuple[PlannedPod, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each pod that is left: its class, phase, controller and budgets."""
        return tuple(_reason(planned) for planned in self.left)


def decide_drain(
    plan: DrainPlan, *, now: datetime, deadline: datetime, on_blocked: OnBlocked = OnBlocked.WAIT
) -> Drained | Draining | DrainFailed:
    """Return what to do after a look at the pods. The limits may have changed since the last look."""
    left = plan.left
    if not left:
        return Drained(plan.of({PodClass.UNREACHABLE}))
    if on_blocked is OnBlocked.FAIL and (forever := plan.of({PodClass.BLOCKED_FOREVER})):
        return DrainFailed(FailureKind.BLOCKED, forever)
    if now >= deadline:
        return DrainFailed(FailureKind.TIMED_OUT, left)
    if on_blocked is OnBlocked.DELETE and all(planned.pod_class in BLOCKED for planned in left):
        return Draining(delete=left)
    return Draining(evict=plan.to_evict)


def _reason(planned: PlannedPod) -> str:
    controller = planned.pod.controller
    owner = f"{controller.kind} {controller.name}" if controller else "no controller"
    ending = planned.pod_class is PodClass.LEAVING
    state = planned.why or ("it is still ending" if ending else "it was not evicted")
    return f"{planned.pod} ({planned.pod.phase.value}, {owner}): {state}"


class LeftCordon(Struct, frozen=True):
    """The drain of an ended action that cordoned a node, which nothing has uncordoned or deployed since.

    That is what Shipyard did; the cluster is not asked. ``labels_cleared``: the node has lost its labels since, so that
    its cordon alone brings nothing back.
    """

    node: NodeName
    action: ActionId
    name: ActionName
    since: datetime
    labels_cleared: bool

    @property
    def commands(self) -> Sequence[str]:
        """The commands that bring the node back, one of which is enough, the usual one first."""
        if self.labels_cleared:
            return [bring_back(self.node, self.action, self.name)]
        retry = [bring_back(self.node, self.action, self.name)] if is_listed(self.name) else []
        return [*retry, uncordon(self.node)]
