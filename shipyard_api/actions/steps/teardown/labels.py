"""Clear labels, and wait until the pods that they held have gone (promenade, 4.2). Guarded: an anchor may go too."""

from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.drain import lease_json, lease_now, with_lease
from shipyard_api.actions.steps.teardown.etcd import EtcdGuard, EtcdReport
from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, waiting
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import LabelsCleared
from shipyard_api.domain.teardown.kubelet import Kubelet, state_of
from shipyard_api.domain.teardown.labels import CORDONED_KEY, DECOMMISSION_KEY, to_clear
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.domain.teardown.pods import Pod
from shipyard_api.domain.teardown.removal_checks import own_pods, unsettled
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Folded, Look

LOOK_SECONDS = 5.0
SETTLE_SECONDS = 10.0


class LabelsReport(Struct, frozen=True):
    """One look: labels and pods that have yet to go. ``is_known``: whether Kubernetes has the node.

    ``cleared``: the labels that were removed before the look.
    """

    is_known: bool
    labels: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    lease: str = ""
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClearLabels(Part[LabelsReport | EtcdReport]):
    """Clears the labels of a node, once its etcd members may go."""

    nodes: ClusterNodes
    guard: EtcdGuard
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.CLEAR_LABELS

    def seconds(self, state: NodeState) -> float:
        """Return the time that the pods have to go."""
        return state.limits.clear_labels

    def decide(self, state: NodeState, now: datetime) -> Act[Request] | Look[Request]:
        """Ask etcd first, then clear and look."""
        if not state.begun(self.operation):
            return Look(self.guard.request(self, state, now, "etcd"))
        return self.carry_on(state, now, lease=lease_json(state))

    def ask(self, request: Request) -> EtcdReport:
        """Look at the etcd clusters."""
        return self.guard.look(request)

    def perform(self, request: Request, marker: Marker) -> LabelsReport:
        """Remove the labels that are left, and look at the pods."""
        node = self.nodes.node(request.node)
        if node is None:
            return LabelsReport(is_known=False)
        keys = to_clear(node.labels)
        cleared = keys if keys and self.nodes.remove_labels(node, keys) else ()
        look = self.nodes.look(request.node)
        if look is None:
            return LabelsReport(is_known=False)
        labels = look.node.labels
        lease = lease_now(request, look.node)
        is_dead = state_of(look.node.ready, lease[1], request.at) is Kubelet.DEAD
        # A dead kubelet confirms the end of no pod.
        pods = [pod for pod in look.pods if not (is_dead and pod.leaves_at and pod.leaves_at <= look.server_time)]
        shipyard_pods = own_pods(look.pods, look.daemon_sets)
        if shipyard_pods and DECOMMISSION_KEY not in labels:
            # Their kubelet may have stopped, and then nothing else ends them.
            self.nodes.delete_pods(shipyard_pods, grace=0)
        left = unsettled(look.node.name, labels, pods, look.daemon_sets)
        return LabelsReport(
            is_known=True, labels=to_clear(labels), pods=tuple(map(_named, left)), lease=lease[0], cleared=cleared
        )

    def fold(
        self, state: NodeState, asked: Request, report: LabelsReport | EtcdReport, now: datetime
    ) -> Folded[NodeState]:
        """Begin once etcd allows it; end when two looks in a row found nothing left."""
        if isinstance(report, EtcdReport):
            return self.guard.judge(self, state, report, now)
        if not report.is_known:
            return self.unknown(state, now)
        state = with_lease(state, report.lease, asked.at)
        if report.labels or report.pods:
            return self._unsettled(state, report, now)
        if state.calm_since is not None and self.pace.lasted(state.calm_since, now, SETTLE_SECONDS):
            return self.succeeded(state, now)
        since = state.calm_since or now
        until = self.pace.after(since, SETTLE_SECONDS)
        return waiting(replace(state, calm_since=since), self.operation, until, facts=_facts(state, report))

    def _unsettled(self, state: NodeState, report: LabelsReport, now: datetime) -> Folded[NodeState]:
        left = [f"label {key} is still on the node" for key in report.labels]
        left += [f"pod {pod} has yet to leave after its label was removed" for pod in report.pods]
        if now >= state.deadline(self.seconds(state)):
            return self.failed(state, "; ".join(left), now)
        until = self.pace.after(now, LOOK_SECONDS)
        state = replace(state, calm_since=None)
        return waiting(state, self.operation, until, tuple(left), _facts(state, report))


def _named(pod: Pod) -> str:
    """Return the name of a pod, with the finalizers that keep one that is being deleted."""
    kept = f" (finalizers keep it: {', '.join(pod.finalizers)})" if pod.leaves_at and pod.finalizers else ""
    return f"{pod}{kept}"


def _facts(state: NodeState, report: LabelsReport) -> tuple[Fact, ...]:
    cleared = tuple(label for label in report.cleared if label != CORDONED_KEY)
    return (LabelsCleared(state.node, cleared),) if cleared else ()
