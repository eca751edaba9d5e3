"""The drain plan: the class of every pod on a node, the data lost, and the order of evictions (product, 6).

The plan that is shown before a drain and the drain itself use this one function, so they agree.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import Enum

from msgspec import Struct

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.teardown.kubelet import Kubelet
from shipyard_api.domain.teardown.pods import FINISHED, Budget, DaemonSet, Pod, PodPhase


class PodClass(Enum):
    """What a drain does with a pod; the values are the words on the wire.

    ``unreachable``: it is being deleted, its grace period is over, and no kubelet is left to confirm it.
    """

    MIRROR = "mirror"
    DAEMON = "daemon"
    UNREACHABLE = "unreachable"
    LEAVING = "leaving"
    FINISHED = "finished"
    EVICTABLE = "evictable"
    BLOCKED_NOW = "blocked-now"
    BLOCKED_FOREVER = "blocked-forever"


class Loss(Enum):
    """What an eviction loses for good; the values are the words on the wire."""

    NO_CONTROLLER = "no-controller"
    LOCAL_DATA = "local-data"


IGNORED = frozenset({PodClass.MIRROR, PodClass.DAEMON, PodClass.UNREACHABLE})
"""Pods that a drained node may still have."""
BLOCKED = frozenset({PodClass.BLOCKED_NOW, PodClass.BLOCKED_FOREVER})
_IN_ORDER = (PodClass.FINISHED, PodClass.EVICTABLE, PodClass.BLOCKED_NOW, PodClass.BLOCKED_FOREVER)
_LOSSES = {
    Loss.NO_CONTROLLER: "it has no controller and will not come back",
    Loss.LOCAL_DATA: "the data in its emptyDir volumes is lost",
}


class PlannedPod(Struct, frozen=True):
    """A pod with its class. ``budgets``: those that block the drain. ``why``: one sentence for people.

    ``counted_by``: the budget whose count of healthy pods decides about it, empty if none does.
    """

    pod: Pod
    pod_class: PodClass
    losses: tuple[Loss, ...] = ()
    budgets: tuple[str, ...] = ()
    why: str = ""
    counted_by: str = ""

    def __str__(self) -> str:
        sentences = "; ".join(filter(None, (self.why, *(_LOSSES[loss] for loss in self.losses))))
        return f"{self.pod} ({self.pod_class.value}){': ' if sentences else ''}{sentences}"

    def to_json(self) -> JsonObject:
        """Return the form on the wire."""
        controller = self.pod.controller
        return {
            "namespace": self.pod.namespace,
            "name": self.pod.name,
            "uid": self.pod.uid,
            "phase": self.pod.phase.value,
            "controller": f"{controller.kind}/{controller.name}" if controller else None,
            "class": self.pod_class.value,
            "losses": [loss.value for loss in self.losses],
            "budgets": list(self.budgets),
            "volumes": list(self.pod.volumes),
            "message": self.why,
        }


class DrainPlan(Struct, frozen=True):
    """The pods of a node, ordered by class, then by the data lost, then by name."""

    pods: tuple[PlannedPod, ...]

    def of(self, classes: Collection[PodClass]) -> tuple[PlannedPod, ...]:
        """Return the pods of these classes, in order."""
        return tuple(planned for planned in self.pods if planned.pod_class in classes)

    @property
    def left(self) -> tuple[PlannedPod, ...]:
        """The pods that must still go."""
        return tuple(planned for planned in self.pods if planned.pod_class not in IGNORED)

    @property
    def to_evict(self) -> tuple[PlannedPod, ...]:
        """The pods to evict now, first those that nothing is lost with; blocked ones are tried last.

        Trying a blocked one changes nothing, and the API server's answer is more recent than any list. Healthy pods
        wait until those of their budget that are not ready have gone: without a healthy pod, none of those may go.
        """
        first = {one.counted_by for one in self.of({PodClass.EVICTABLE}) if not one.pod.ready} - {""}
        return tuple(one for one in self.of(_IN_ORDER) if not (one.pod.ready and one.counted_by in first))


def plan_drain(
    pods: Iterable[Pod],
    budgets: Iterable[Budget],
    daemon_sets: Iterable[DaemonSet],
    *,
    now: datetime,
    kubelet: Kubelet = Kubelet.ALIVE,
) -> DrainPlan:
    """Return the plan for the pods on a node. ``budgets`` and ``daemon_sets`` are those of the cluster.

    A budget lets as many healthy pods go as it allows now, those first that lose nothing.
    """
    by_namespace: defaultdict[str, list[Budget]] = defaultdict(list)
    for budget in budgets:
        by_namespace[budget.namespace].append(budget)
    daemons = {(daemon_set.namespace, daemon_set.name) for daemon_set in daemon_sets}
    used: Counter[str] = Counter()
    planned = []
    for pod in sorted(pods, key=lambda pod: (len(_losses(pod, daemons)), pod.namespace, pod.name)):
        fixed = _class_without_eviction(pod, daemons, now, kubelet)
        if fixed is not None:
            planned.append(PlannedPod(pod, fixed, why=_keeps_leaving(pod) if fixed is PodClass.LEAVING else ""))
        else:
            protecting = [budget for budget in by_namespace[pod.namespace] if budget.protects(pod)]
            planned.append(_judge(pod, protecting, used, _losses(pod, daemons)))
    rank = {pod_class: place for place, pod_class in enumerate(PodClass)}
    return DrainPlan(tuple(sorted(planned, key=lambda pod: rank[pod.pod_class])))


def _class_without_eviction(
    pod: Pod, daemons: Collection[tuple[str, str]], now: datetime, kubelet: Kubelet
) -> PodClass | None:
    """Return the class of a pod that is not evicted or needs no budget, None for all others."""
    if pod.mirror:
        return PodClass.MIRROR
    if _is_daemon(pod, daemons):
        return PodClass.DAEMON
    if pod.leaves_at is not None:
        is_over = kubelet is Kubelet.DEAD and now >= pod.leaves_at
        return PodClass.UNREACHABLE if is_over else PodClass.LEAVING
    return PodClass.FINISHED if pod.phase in FINISHED else None


def _keeps_leaving(pod: Pod) -> str:
    """Return what keeps a pod that is being deleted beyond its own time, empty if nothing does."""
    why = "it is being deleted, and finalizers keep it until their controllers remove them"
    return f"{why}: {', '.join(pod.finalizers)}" if pod.finalizers else ""


def _judge(pod: Pod, budgets: list[Budget], used: Counter[str], losses: tuple[Loss, ...]) -> PlannedPod:
    """Return the pod as the API server would answer its eviction; counts what it takes from a budget."""
    # The API server asks no budget about a pod that does not run yet.
    if not budgets or pod.phase is PodPhase.PENDING:
        return PlannedPod(pod, PodClass.EVICTABLE, losses)
    names = tuple(sorted(map(str, budgets)))
    if len(budgets) > 1:
        why = f"budgets {', '.join(names)} all select it, so Kubernetes cannot evict it: this will not end by itself"
        return PlannedPod(pod, PodClass.BLOCKED_FOREVER, losses, names, why)
    budget = budgets[0]
    if budget.lets_go(pod):
        return PlannedPod(pod, PodClass.EVICTABLE, losses)
    name = str(budget)
    # One that is not ready goes first and takes nothing away for long: the disruption controller counts healthy pods.
    if budget.current_status and pod.ready * used[name] < budget.allowed:
        used[name] += pod.ready
        return PlannedPod(pod, PodClass.EVICTABLE, losses, counted_by=name)
    numbers = f"healthy pods: {budget.current}, needed: {budget.desired}, expected: {budget.expected}"
    if budget.never_allows and not budget.allowed:
        why = f"budget {budget} allows no disruption at all ({numbers}): this will not end by itself"
        return PlannedPod(pod, PodClass.BLOCKED_FOREVER, losses, names, why)
    return PlannedPod(pod, PodClass.BLOCKED_NOW, losses, names, f"budget {budget} {_why_now(budget)} ({numbers})", name)


def _why_now(budget: Budget) -> str:
    """Return why it blocks a pod for the moment; only the last case follows from its numbers."""
    if not budget.current_status:
        return "has changed, and Kubernetes has yet to count its pods again"
    if budget.allowed:
        return f"allows {budget.allowed} more now, which other pods of this node take first"
    return "allows no disruption now"


def _losses(pod: Pod, daemons: Collection[tuple[str, str]]) -> tuple[Loss, ...]:
    if pod.mirror or _is_daemon(pod, daemons) or pod.phase in FINISHED:
        return ()
    # The pod of a DaemonSet that is gone has nothing that would bring it back.
    is_orphan = pod.controller is None or pod.controller.kind == "DaemonSet"
    losses: Mapping[Loss, bool] = {Loss.NO_CONTROLLER: is_orphan, Loss.LOCAL_DATA: pod.local_data}
    return tuple(loss for loss, is_so in losses.items() if is_so)


def _is_daemon(pod: Pod, daemons: Collection[tuple[str, str]]) -> bool:
    controller = pod.controller
    return controller is not None and controller.kind == "DaemonSet" and (pod.namespace, controller.name) in daemons
