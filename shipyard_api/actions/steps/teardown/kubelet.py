"""Shut down the kubelet: set the label that starts its DaemonSet, and watch the signs of life go (promenade, 4.5)."""

from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.drain import renewed_at
from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, waiting
from shipyard_api.domain.teardown.kubelet import is_shut_down
from shipyard_api.domain.teardown.labels import DECOMMISSION_KEY, DECOMMISSION_VALUE
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.cluster import ClusterNode, ClusterNodes, KubeletStopper
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Folded

LOOK_SECONDS = 5.0


class KubeletReport(Struct, frozen=True):
    """The node after its label was set, None if Kubernetes does not have it; and the DaemonSet, None without one."""

    node: ClusterNode | None
    stopper: KubeletStopper | None = None


@dataclass(frozen=True, slots=True)
class ShutDownKubelet(Part[KubeletReport]):
    """Shuts down the kubelet of a node. A failure is a warning: the destruction of the host stops it in any case."""

    nodes: ClusterNodes
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.SHUT_DOWN_KUBELET

    def seconds(self, state: NodeState) -> float:
        """Return the time that the kubelet has to stop."""
        return state.limits.shutdown_kubelet

    def decide(self, state: NodeState, now: datetime) -> Act[Request]:
        """Set the label and look."""
        return self.carry_on(state, now)

    def perform(self, request: Request, marker: Marker) -> KubeletReport:
        """Set the label if a DaemonSet waits for it."""
        node = self.nodes.node(request.node)
        if node is None:
            return KubeletReport(None)
        stopper = self.nodes.kubelet_stopper(request.node)
        if stopper is not None and node.labels.get(DECOMMISSION_KEY) != DECOMMISSION_VALUE:
            self.nodes.set_labels(node, {DECOMMISSION_KEY: DECOMMISSION_VALUE})
        return KubeletReport(node, stopper)

    def fold(self, state: NodeState, asked: Request, report: KubeletReport, now: datetime) -> Folded[NodeState]:
        """End when the node shows no sign of life."""
        node = report.node
        if node is None:
            return self.unknown(state, now)
        lease = renewed_at(state.lease, node, asked.at)
        state = replace(state, lease=lease)
        if is_shut_down(node.ready, lease[1], now):
            return self.succeeded(state, now)
        if report.stopper is None:
            why = f"no DaemonSet waits for the label {DECOMMISSION_KEY}={DECOMMISSION_VALUE}"
            return self.failed(state, f"{why}: the manifest in etc/kubernetes has one", now)
        pod = f"its pod is {report.stopper.phase}" if report.stopper.phase else "it has no pod on the node"
        why = f"the kubelet still runs (Ready is {node.ready.value}); DaemonSet {report.stopper.name}: {pod}"
        if now >= state.deadline(self.seconds(state)):
            return self.failed(state, why, now)
        return waiting(state, self.operation, self.pace.after(now, LOOK_SECONDS), (why,))
