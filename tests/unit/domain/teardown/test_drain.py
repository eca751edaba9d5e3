"""What a drain does next (contract: promenade, 4.1)."""

from datetime import UTC, datetime, timedelta

from shipyard_api.domain.teardown.drain import Drained, DrainFailed, Draining, FailureKind, OnBlocked, decide_drain
from shipyard_api.domain.teardown.drain_plan import DrainPlan, PlannedPod, PodClass
from shipyard_api.domain.teardown.pods import Controller, Pod, PodUid
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DEADLINE = NOW + timedelta(hours=1)
WAIT, FAIL, DELETE = OnBlocked


def plan(*classes: PodClass) -> DrainPlan:
    """Return a plan with one pod of each class, named after it."""
    return DrainPlan(
        tuple(
            PlannedPod(Pod("default", one.value, PodUid(one.value), controller=Controller("Job", "j")), one)
            for one in classes
        )
    )


def shown(decision: Drained | Draining | DrainFailed) -> str:
    match decision:
        case Drained():
            return "drained"
        case Draining(evict, delete):
            parts = [f"evict {one.pod.name}" for one in evict] + [f"delete {one.pod.name}" for one in delete]
            return ", ".join(parts) or "wait"
        case DrainFailed(kind, left):
            return f"{kind.value}: {', '.join(one.pod.name for one in left)}"


MIRROR, DAEMON, UNREACHABLE, LEAVING, FINISHED, EVICTABLE, NOW_BLOCKED, FOREVER = PodClass


@every_row(
    [
        ((), WAIT, "drained"),
        ((FINISHED, EVICTABLE), WAIT, "evict finished, evict evictable"),
        ((LEAVING,), WAIT, "wait"),
        ((LEAVING, NOW_BLOCKED, FOREVER), WAIT, "evict blocked-now, evict blocked-forever"),
        ((EVICTABLE, NOW_BLOCKED), FAIL, "evict evictable, evict blocked-now"),
        ((EVICTABLE, FOREVER), FAIL, "blocked: blocked-forever"),
        ((EVICTABLE, FOREVER), DELETE, "evict evictable, evict blocked-forever"),
        ((MIRROR, NOW_BLOCKED, FOREVER), DELETE, "delete blocked-now, delete blocked-forever"),
    ],
)
def test_a_drain_evicts_until_only_pods_are_left_that_may_stay(
    classes: tuple[PodClass, ...], on_blocked: OnBlocked, expected: str
) -> None:
    assert shown(decide_drain(plan(*classes), now=NOW, deadline=DEADLINE, on_blocked=on_blocked)) == expected


def test_at_its_deadline_a_drain_fails_with_the_pods_that_are_left_unless_it_is_done() -> None:
    failed = decide_drain(plan(MIRROR, LEAVING, EVICTABLE), now=DEADLINE, deadline=DEADLINE)

    assert shown(failed) == "timed-out: leaving, evictable"
    assert isinstance(failed, DrainFailed)
    assert failed.kind is FailureKind.TIMED_OUT
    assert failed.reasons == (
        "default/leaving (Running, Job j): it is still ending",
        "default/evictable (Running, Job j): it was not evicted",
    )
    assert shown(decide_drain(plan(MIRROR), now=DEADLINE, deadline=DEADLINE)) == "drained"
    assert shown(decide_drain(plan(FOREVER), now=DEADLINE, deadline=DEADLINE, on_blocked=DELETE)) == (
        "timed-out: blocked-forever"
    )


def test_pods_whose_end_nothing_confirms_are_warnings_that_name_their_volumes() -> None:
    gone = PlannedPod(Pod("default", "db-0", PodUid("1"), volumes=("data-0",)), UNREACHABLE)

    drained = decide_drain(DrainPlan((gone,)), now=NOW, deadline=DEADLINE)

    assert isinstance(drained, Drained)
    assert drained.warnings == (
        "default/db-0 could not confirm its end: the kubelet is dead. Volumes may still be attached: data-0",
    )
