"""Drain: cordon, evict the planned pods, and poll until only pods that may stay are left (promenade, 4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, waiting
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import PodsEvicted
from shipyard_api.domain.teardown.drain import Drained, DrainFailed, Draining, OnBlocked, decide_drain
from shipyard_api.domain.teardown.drain_plan import BLOCKED, DrainPlan, PlannedPod, PodClass
from shipyard_api.domain.teardown.kubelet import Kubelet, state_of
from shipyard_api.domain.teardown.labels import CORDONED_KEY
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.domain.teardown.pods import PodUid
from shipyard_api.ports.cluster import ClusterNode, ClusterNodes, Eviction, EvictionOutcome, NodeLook
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Folded

LOOK_SECONDS = 2.0
BLOCKED_SECONDS = 5.0
_REFUSED = frozenset({EvictionOutcome.BLOCKED, EvictionOutcome.NEVER})


class DrainReport(Struct, frozen=True):
    """A look at the node, the decision, and the answers. ``plan`` is None if Kubernetes does not know the node."""

    plan: DrainPlan | None = None
    decision: Drained | Draining | DrainFailed = Draining()  # immutable
    answers: Mapping[PodUid, Eviction] | None = None
    lease: str = ""


def renewed_at(lease: tuple[str, datetime] | None, node: ClusterNode, now: datetime) -> tuple[str, datetime]:
    """Return the lease as it is now, and when (our clock) it was last seen to change.

    The kubelet writes its own clock into the lease, which may differ from ours by minutes.
    """
    value = node.renewed_at.isoformat() if node.renewed_at else "none"
    return lease if lease is not None and lease[0] == value else (value, now)


def lease_json(state: NodeState) -> list[str] | None:
    """Return the last known lease as part of a request."""
    return [state.lease[0], state.lease[1].isoformat()] if state.lease else None


def lease_now(request: Request, node: ClusterNode) -> tuple[str, datetime]:
    """Return ``renewed_at`` of a node, from the last known lease in a request."""
    stored = request.more["lease"]
    return renewed_at((stored[0], datetime.fromisoformat(stored[1])) if stored else None, node, request.at)


def with_lease(state: NodeState, value: str, at: datetime) -> NodeState:
    """Return the state with the lease as it was read at that moment."""
    return state if state.lease is not None and state.lease[0] == value else replace(state, lease=(value, at))


def drain(
    nodes: ClusterNodes,
    look: NodeLook,
    limits: TeardownLimits,
    *,
    label: str,
    kubelet: Kubelet,
    now: datetime,
    deadline: datetime,
) -> DrainReport:
    """Cordon the node that was read, and request what the rules allow for its pods; may be repeated.

    ``label``: what a cordon of ours leaves on the node. ``deadline``: on the clock of ``now``.
    """
    if not look.node.cordoned:
        nodes.cordon(look.node, label=label)
    plan = look.drain_plan(kubelet)
    decision = decide_drain(plan, now=now, deadline=deadline, on_blocked=limits.on_blocked)
    answers: Mapping[PodUid, Eviction] = {}
    if isinstance(decision, Draining):
        if decision.evict:
            answers = nodes.evict([planned.pod for planned in decision.evict], grace=limits.drain_grace_period)
        if decision.delete:
            nodes.delete_pods([planned.pod for planned in decision.delete], grace=limits.drain_grace_period)
    return DrainReport(plan, decision, answers)


@dataclass(frozen=True, slots=True)
class Drain(Part[DrainReport]):
    """Drains a node. Every look may evict: an eviction names the pod's uid, so a repetition does no harm."""

    nodes: ClusterNodes
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.DRAIN

    def seconds(self, state: NodeState) -> float:
        """Return the timeout of the drain."""
        return state.limits.drain

    def decide(self, state: NodeState, now: datetime) -> Act[Request]:
        """Look at the pods and evict."""
        since = (state.since or now).isoformat()
        return self.carry_on(state, now, since=since, lease=lease_json(state), limits=state.limits.to_json())

    def perform(self, request: Request, marker: Marker) -> DrainReport:
        """Cordon the node, look at its pods, and request what the rules allow."""
        limits = TeardownLimits.from_json(request.more["limits"])
        look = self.nodes.look(request.node)
        if look is None:
            return DrainReport()
        lease = lease_now(request, look.node)
        deadline = datetime.fromisoformat(request.more["since"]) + timedelta(seconds=limits.drain)
        kubelet = state_of(look.node.ready, lease[1], request.at)
        report = drain(self.nodes, look, limits, label=CORDONED_KEY, kubelet=kubelet, now=request.at, deadline=deadline)
        return replace(report, lease=lease[0])

    def fold(self, state: NodeState, asked: Request, report: DrainReport, now: datetime) -> Folded[NodeState]:
        """End, or say what keeps the node from being empty and look again."""
        if report.plan is None:
            return self.unknown(state, now)
        state = with_lease(state, report.lease, asked.at)
        match report.decision:
            case Drained() as drained:
                return self.succeeded(state, now, "; ".join(drained.warnings))
            case DrainFailed() as failed:
                return self.failed(state, "; ".join(failed.reasons), now)
            case Draining() as draining:
                return self._goes_on(state, report, draining, now)

    def _goes_on(self, state: NodeState, report: DrainReport, draining: Draining, now: datetime) -> Folded[NodeState]:
        answers = report.answers or {}
        accepted = [
            str(planned.pod)
            for planned in draining.evict
            if planned.pod.uid in answers and answers[planned.pod.uid].outcome is EvictionOutcome.ACCEPTED
        ]
        refused = [
            (planned, answers[planned.pod.uid])
            for planned in draining.evict
            if planned.pod.uid in answers and answers[planned.pod.uid].outcome in _REFUSED
        ]
        facts: list[Fact] = []
        if accepted:
            facts.append(PodsEvicted(state.node, tuple(accepted)))
        if draining.delete:
            facts.append(PodsEvicted(state.node, tuple(str(planned.pod) for planned in draining.delete), forced=True))
        leaving = report.plan.of({PodClass.LEAVING}) if report.plan else ()
        kept = (f"{planned.pod}: {planned.why}" for planned in leaving if planned.why)
        reasons = (*(_why(pod, answer) for pod, answer in refused), *kept)
        pause = BLOCKED_SECONDS if reasons and state.limits.on_blocked is OnBlocked.WAIT else LOOK_SECONDS
        wanted = max((answer.retry_after for _, answer in refused), default=0.0)
        until = max(self.pace.after(now, pause), now + timedelta(seconds=wanted))
        deadline = state.deadline(self.seconds(state))
        return waiting(state, self.operation, min(until, deadline) if now < deadline else until, reasons, tuple(facts))


def _why(planned: PlannedPod, answer: Eviction) -> str:
    """Return the plan's sentence, which knows for how long; without one the API server's own message."""
    if planned.pod_class in BLOCKED and planned.why:
        return f"{planned.pod}: {planned.why}"
    return f"{planned.pod}: {answer.message or 'Kubernetes refuses the eviction for now'}"
