"""When a node counts as empty: before its host is destroyed undrained, and before it leaves Kubernetes (seed 004)."""

from collections.abc import Collection, Mapping

from shipyard_api.domain.findings import Finding, error, in_short
from shipyard_api.domain.teardown.drain_plan import IGNORED, DrainPlan, PlannedPod, PodClass
from shipyard_api.domain.teardown.kubelet import Kubelet
from shipyard_api.domain.teardown.labels import NodeFit, in_the_way
from shipyard_api.domain.teardown.pods import Controller, DaemonSet, Pod


def check_removal(
    labels: Mapping[str, str], plan: DrainPlan, *, cordoned: bool, kubelet: Kubelet
) -> tuple[Finding, ...]:
    """Return everything that forbids the removal of a node from Kubernetes; empty if it may go.

    Pods that a dead kubelet will never confirm do not count once they are being deleted.
    """
    findings = []
    if not cordoned:
        findings.append(error("NodeNotCordoned", "The node is not cordoned: new pods may start on it. Drain it first."))
    if staying := pods_in_the_way(plan, kubelet):
        message = f"{len(staying)} pod(s) are still on the node: {in_short(planned.pod for planned in staying)}."
        findings.append(error("NodeHasPods", f"{message} Drain it first."))
    if keys := in_the_way(labels):
        findings.append(error("NodeHasLabels", f"The node still has labels: {in_short(keys)}. Clear them first."))
    return tuple(findings)


def pods_in_the_way(plan: DrainPlan, kubelet: Kubelet) -> tuple[PlannedPod, ...]:
    """Return the pods that an undrained node still has, neither ignored nor finished.

    A teardown that may not drain again has to see none before it destroys the host.
    """
    may_stay = {*IGNORED, PodClass.FINISHED, *({PodClass.LEAVING} if kubelet is Kubelet.DEAD else ())}
    return tuple(planned for planned in plan.pods if planned.pod_class not in may_stay)


def unsettled(
    node: str, labels: Mapping[str, str], pods: Collection[Pod], daemon_sets: Collection[DaemonSet]
) -> tuple[Pod, ...]:
    """Return the pods that have yet to go after labels were cleared (contract: promenade, 4.2).

    Those are pods being deleted, and pods of DaemonSets that do not want the node any more: their controller takes a
    moment to begin. The node has settled when two looks, 10 s apart, return none. Shipyard's own pods are never among
    them (``own_pods``): once the kubelet has stopped, nothing confirms their end.
    """
    shipyard_pods = own_pods(pods, daemon_sets)
    wants: dict[tuple[str, str], NodeFit] = {
        (daemon_set.namespace, daemon_set.name): daemon_set.wants for daemon_set in daemon_sets
    }

    def is_unwanted(pod: Pod) -> bool:
        if pod.controller is None or pod.controller.kind != "DaemonSet":
            return False
        fit = wants.get((pod.namespace, pod.controller.name))
        return fit is not None and not fit.fits(node, labels)

    return tuple(pod for pod in pods if pod not in shipyard_pods and (pod.leaves_at is not None or is_unwanted(pod)))


def own_pods(pods: Collection[Pod], daemon_sets: Collection[DaemonSet]) -> tuple[Pod, ...]:
    """Return the pods that an earlier shutdown of the kubelet started, and that only Shipyard removes."""
    controllers = {
        (daemon_set.namespace, Controller("DaemonSet", daemon_set.name))
        for daemon_set in daemon_sets
        if daemon_set.stops_kubelets
    }
    return tuple(pod for pod in pods if (pod.namespace, pod.controller) in controllers)
