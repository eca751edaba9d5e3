"""Remove the node from Kubernetes, after everything that forbids it has been checked (promenade, 4.5)."""

from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.drain import renewed_at
from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, moved, waiting
from shipyard_api.domain.teardown.kubelet import state_of
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.domain.teardown.removal_checks import check_removal
from shipyard_api.ports.cluster import ClusterNodes, NodeDeletion, NodeLook
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Folded, Look

LOOK_SECONDS = 5.0
GONE_SECONDS = 60.0
BACK_SECONDS = 30.0
"""A kubelet that still runs registers its node again within this time."""


class NodeNow(Struct, frozen=True):
    """The node as it is, None if Kubernetes does not have it."""

    look: NodeLook | None


RemovalReport = NodeNow | NodeDeletion


@dataclass(frozen=True, slots=True)
class RemoveFromCluster(Part[RemovalReport]):
    """Deletes the Node object, by its uid: never a new node that took the name."""

    nodes: ClusterNodes
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.REMOVE_FROM_CLUSTER

    def seconds(self, state: NodeState) -> float:
        """Return the time that the removal may take; it is not a parameter of the seed."""
        return (GONE_SECONDS + BACK_SECONDS) * self.pace.factor

    def decide(self, state: NodeState, now: datetime) -> Act[Request] | Look[Request]:
        """Check, delete, and see that it stays away."""
        if state.checked and state.calm_since is None:
            return self.carry_on(state, now, "delete", uid=state.uid)
        return Look(self.request(state, now))

    def ask(self, request: Request) -> NodeNow:
        """Look at the node."""
        return NodeNow(self.nodes.look(request.node))

    def perform(self, request: Request, marker: Marker) -> NodeDeletion:
        """Delete the node that was checked."""
        node = self.nodes.node(request.node)
        if node is None:
            return NodeDeletion.GONE
        return self.nodes.delete_node(node) if node.uid == request.more["uid"] else NodeDeletion.ANOTHER_NODE

    def fold(self, state: NodeState, asked: Request, report: RemovalReport, now: datetime) -> Folded[NodeState]:
        """Go on from one stage to the next."""
        match report:
            case NodeNow(look) if not state.checked:
                return self._check(state, look, asked.at, now)
            case NodeNow(look):
                return self._away(state, look, now)
            case NodeDeletion.ANOTHER_NODE:
                why = f"another node has taken the name {state.node}; it was left alone"
                return moved(state, state.teardown.precondition_failed(self.operation, why), now)
            case NodeDeletion():
                return waiting(replace(state, calm_since=now), self.operation, self.pace.after(now, LOOK_SECONDS))

    def _check(self, state: NodeState, look: NodeLook | None, at: datetime, now: datetime) -> Folded[NodeState]:
        if look is None:
            return self.unknown(state, now)
        lease = renewed_at(state.lease, look.node, at)
        state = replace(state, lease=lease)
        kubelet = state_of(look.node.ready, lease[1], now)
        plan = look.drain_plan(kubelet)
        findings = check_removal(look.node.labels, plan, cordoned=look.node.cordoned, kubelet=kubelet)
        if findings:
            why = "; ".join(finding.message for finding in findings)
            return moved(state, state.teardown.precondition_failed(self.operation, why), now)
        return Folded(replace(state, checked=True, uid=look.node.uid))

    def _away(self, state: NodeState, look: NodeLook | None, now: datetime) -> Folded[NodeState]:
        since = state.calm_since or now
        if look is not None and look.node.uid != state.uid:
            return self.failed(state, "the node registered itself again: its kubelet still runs", now)
        if look is not None:
            if self.pace.lasted(since, now, GONE_SECONDS):
                why = f"the node is still there {GONE_SECONDS:g} s after its deletion; a finalizer may hold it"
                return self.failed(state, why, now)
            return waiting(state, self.operation, self.pace.after(now, LOOK_SECONDS), ("the node has yet to go",))
        if self.pace.lasted(since, now, BACK_SECONDS):
            return self.succeeded(state, now)
        return waiting(state, self.operation, self.pace.after(since, BACK_SECONDS))
