"""What becomes of a node whose drain goes on: what it waits for, when it looks again, and what is recorded."""

from datetime import UTC, datetime, timedelta
from typing import Any

from shipyard_api.actions.steps.teardown.drain import Drain, DrainReport
from shipyard_api.actions.steps.teardown.part import Request
from shipyard_api.actions.steps.teardown.state import NodeState, TeardownTask
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.teardown import PodsEvicted, TeardownWaits
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain import Draining, OnBlocked
from shipyard_api.domain.teardown.drain_plan import DrainPlan, PlannedPod, PodClass
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.domain.teardown.pods import Pod, PodUid
from shipyard_api.ports.cluster import Eviction, EvictionOutcome
from tests.fakes.cluster_nodes import FakeClusterNodes
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)
N1, ACTION = NodeName("n1"), ActionId("a")


def planned(name: str, pod_class: PodClass, why: str = "") -> PlannedPod:
    return PlannedPod(Pod("default", name, PodUid(name)), pod_class, why=why)


A, B, C = (planned(name, PodClass.EVICTABLE) for name in "abc")
KEPT = planned("kept", PodClass.BLOCKED_NOW, "budget b allows none")
SLOW = planned("slow", PodClass.LEAVING, "finalizers keep it")
GOING = planned("going", PodClass.LEAVING)
YES, GONE, NO = Eviction(EvictionOutcome.ACCEPTED), Eviction(EvictionOutcome.GONE), Eviction(EvictionOutcome.BLOCKED)
ASKED_LATER = Eviction(EvictionOutcome.BLOCKED, "no pod may go", retry_after=40.0)
NEVER = Eviction(EvictionOutcome.NEVER, "two budgets select it", retry_after=20.0)


def evicted(*names: str, forced: bool = False) -> PodsEvicted:
    return PodsEvicted(N1, tuple(f"default/{name}" for name in names), forced)


def waits(*reasons: str) -> TeardownWaits:
    return TeardownWaits(N1, Operation.DRAIN, reasons)


@every_row(
    [
        # the plan, what is evicted with the answers, what is deleted; facts, and the seconds to the next look
        ((A, B), {"a": YES, "b": YES}, (), [evicted("a", "b")], 2),
        ((A, B, C), {"a": YES, "b": GONE, "c": YES}, (), [evicted("a", "c")], 2),
        ((A,), {"a": GONE}, (), [], 2),
        # a pod without an answer: its turn comes again
        ((A, B), {"b": YES}, (), [evicted("b")], 2),
        ((), {}, (A, B), [evicted("a", "b", forced=True)], 2),
        ((KEPT,), {"kept": NO}, (), [waits("default/kept: budget b allows none")], 5),
        ((A,), {"a": NO}, (), [waits("default/a: Kubernetes refuses the eviction for now")], 5),
        ((A,), {"a": ASKED_LATER}, (), [waits("default/a: no pod may go")], 40),
        # the longest of what the API server asks for
        (
            (A, B, KEPT),
            {"a": ASKED_LATER, "b": NEVER, "kept": NO},
            (),
            [
                waits(
                    "default/a: no pod may go", "default/b: two budgets select it", "default/kept: budget b allows none"
                )
            ],
            40,
        ),
        ((A, KEPT), {"a": YES, "kept": NO}, (), [evicted("a"), waits("default/kept: budget b allows none")], 5),
        ((SLOW, GOING), {}, (), [waits("default/slow: finalizers keep it")], 5),
        ((GOING,), {}, (), [], 2),
    ]
)
def test_a_drain_that_goes_on_says_what_keeps_pods_and_looks_again(
    pods: tuple[PlannedPod, ...], answers: dict[str, Eviction], deleted: tuple[PlannedPod, ...], facts: Any, pause: int
) -> None:
    evict = tuple(pod for pod in pods if pod.pod_class is not PodClass.LEAVING)
    by_uid = {PodUid(name): answer for name, answer in answers.items()}
    folded = fold(DrainReport(DrainPlan(pods), Draining(evict, deleted), by_uid), NOW)
    assert list(folded.facts) == facts
    assert folded.wait_until == NOW + timedelta(seconds=pause)


@every_row([(OnBlocked.WAIT, 5), (OnBlocked.FAIL, 2), (OnBlocked.DELETE, 2)])
def test_only_a_drain_that_waits_for_budgets_looks_less_often(on_blocked: OnBlocked, pause: int) -> None:
    folded = fold(DrainReport(DrainPlan((SLOW,))), NOW, on_blocked)
    assert folded.wait_until == NOW + timedelta(seconds=pause)


@every_row([(3559, 5), (3597, 3), (3600, 5)])
def test_the_last_look_is_at_the_deadline(after: int, pause: int) -> None:
    now = NOW + timedelta(seconds=after)
    assert fold(DrainReport(DrainPlan((SLOW,))), now).wait_until == now + timedelta(seconds=pause)


def fold(report: DrainReport, now: datetime, on_blocked: OnBlocked = OnBlocked.WAIT) -> Any:
    limits = TeardownLimits(on_blocked=on_blocked)
    state = NodeState(TeardownTask(N1, ACTION, 3, (Operation.DRAIN,), limits), limits=limits, since=NOW)
    return Drain(FakeClusterNodes(lambda: now)).fold(state, Request(Operation.DRAIN, N1, ACTION, 3, now), report, now)
