"""What holds in every teardown, while members die and come back, processes crash, and operators try again."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shipyard_api.domain.teardown.drain import Drained, DrainFailed, Draining, OnBlocked, decide_drain
from shipyard_api.domain.teardown.drain_plan import BLOCKED, IGNORED, PodClass, plan_drain
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId, MemberState, Minimum
from shipyard_api.domain.teardown.kubelet import Kubelet
from shipyard_api.domain.teardown.labels import NodeFit, Operator, Requirement
from shipyard_api.domain.teardown.order import GUARDED, TEARDOWN, Operation, Outcome, Teardown, UnknownNode
from shipyard_api.domain.teardown.pods import Budget, Controller, DaemonSet, Pod, PodPhase, PodUid
from shipyard_api.domain.teardown.quorum import Gone, Refused, Remove, decide_removal, majority

NOW = datetime(2026, 11, 22, tzinfo=UTC)

# --- The order --------------------------------------------------------------------------------------------------------

EVENTS = ("succeed", "warn", "fail", "refuse", "unknown", "never joined", "crash", "again", "found etcd")
events = st.lists(st.sampled_from(EVENTS), max_size=40)


def after(teardown: Teardown, event: str) -> Teardown:
    """Return the teardown after something happened to it; an event that cannot happen changes nothing."""
    operation = teardown.next_operation()
    if event == "crash":
        return Teardown.from_json(json.loads(json.dumps(teardown.to_json())))
    if event == "again":
        return teardown.again()
    if event == "found etcd":
        return replace(teardown, holds_etcd=True)
    if operation is None:
        return teardown
    if event == "refuse":
        return teardown if operation in teardown.outcomes else teardown.refuse(operation, "no quorum")
    begun = teardown.begin(operation)
    if begun.outcomes[operation] is not Outcome.RUNNING:
        return begun
    match event:
        case "succeed":
            return begun.succeed(operation)
        case "warn":
            return begun.succeed(operation, "a warning")
        case "fail":
            return begun.fail(operation, "a fault")
        case "unknown":
            return begun.node_is_unknown(operation, UnknownNode.IS_A_FAULT)
        case _:
            return begun.node_is_unknown(operation, UnknownNode.NEVER_JOINED)


@given(events, st.booleans())
def test_operations_only_run_forwards_and_a_host_is_never_drained_after_its_members_may_have_left(
    happened: list[str], holds_etcd: bool
) -> None:
    teardown = Teardown(holds_etcd=holds_etcd)
    may_have_left = False
    for event in happened:
        if event == "again" and teardown.outcomes.get(Operation.REMOVE_FROM_CLUSTER) in (Outcome.DONE, Outcome.WARNING):
            may_have_left = False  # the host has gone
        before, teardown = teardown, after(teardown, event)
        begun = [one for one in TEARDOWN if one in teardown.outcomes]
        assert begun == list(TEARDOWN[: len(begun)])
        ended = [teardown.outcomes[one] for one in begun[:-1]]
        assert not {Outcome.RUNNING, Outcome.FAILED, Outcome.REFUSED} & set(ended)
        if teardown.holds_etcd and any(
            teardown.outcomes.get(one, Outcome.REFUSED) is not Outcome.REFUSED for one in GUARDED
        ):
            may_have_left = True
        if may_have_left:
            assert not teardown.may_drain
            newly = teardown.outcomes.get(Operation.DRAIN) is not before.outcomes.get(Operation.DRAIN)
            assert not newly or teardown.outcomes.get(Operation.DRAIN) in (None, Outcome.SKIPPED, Outcome.REFUSED)
    assert teardown.done == (teardown.next_operation() is None and teardown.failed is None)


# --- The quorum -------------------------------------------------------------------------------------------------------

states = st.sampled_from(MemberState)
members = st.lists(st.tuples(states, st.booleans(), st.booleans()), min_size=1, max_size=7)
turns = st.lists(st.lists(states, min_size=7, max_size=7), min_size=1, max_size=8)
minimums = st.builds(Minimum, st.integers(0, 4), st.integers(0, 4))


@given(members, turns, minimums)
def test_a_node_with_any_members_never_loses_a_quorum_while_members_die_and_come_back(
    drawn: list[tuple[MemberState, bool, bool]], happened: list[list[MemberState]], minimum: Minimum
) -> None:
    """Each turn the states change, then one member is removed if that is decided."""
    learners = {str(place): learner for place, (_, learner, _) in enumerate(drawn)}
    leaving = {MemberId(str(place)) for place, (*_, is_leaving) in enumerate(drawn) if is_leaving}
    present = list(learners)
    for turn in happened:
        look = EtcdCluster(
            "etcd",
            tuple(EtcdMember(MemberId(one), state=turn[int(one)], learner=learners[one]) for one in present),
            minimum,
        )
        removal = decide_removal(look, leaving)
        match removal:
            case Gone():
                assert look.members
                assert not leaving & set(present)
            case Refused(obstacles):
                assert obstacles
            case Remove(member, transfer_to, waived):
                assert member in leaving
                assert transfer_to is None or transfer_to not in leaving
                healthy = [one for one in look.voters if one.healthy]
                assert len(healthy) >= majority(len(look.voters))
                removed = next(one for one in look.members if one.id == member)
                rest = [one for one in look.voters if one is not removed]
                if not removed.learner:
                    assert sum(one.healthy for one in rest) >= majority(len(rest))
                    assert rest
                stays = [one for one in look.voters if one.id not in leaving]
                gives_up_healthy = any(one.healthy for one in look.voters if one.id in leaving)
                if gives_up_healthy:
                    assert not waived
                    assert len(stays) >= minimum.members
                    assert sum(one.healthy for one in stays) >= minimum.healthy
                assert Remove.from_json(json.loads(json.dumps(removal.to_json()))) == removal
                present.remove(member)


# --- The drain --------------------------------------------------------------------------------------------------------

APPS = ("a", "b", "c")
pods = st.builds(
    Pod,
    st.just("default"),
    st.text("xyz", min_size=3, max_size=5),
    st.uuids().map(lambda uid: PodUid(str(uid))),
    phase=st.sampled_from(PodPhase),
    ready=st.booleans(),
    labels=st.sampled_from(APPS).map(lambda app: {"app": app}),
    controller=st.sampled_from([None, Controller("ReplicaSet", "r"), Controller("DaemonSet", "d")]),
    mirror=st.booleans(),
    local_data=st.booleans(),
    leaves_at=st.sampled_from([None, NOW, NOW + timedelta(minutes=5)]),
)
budgets = st.builds(
    Budget,
    st.just("default"),
    st.sampled_from(APPS),
    st.sampled_from(APPS).map(lambda app: (Requirement("app", Operator.IN, (app,)),)),
    allowed=st.integers(0, 2),
    desired=st.integers(0, 3),
    current=st.integers(0, 3),
    expected=st.integers(0, 3),
)
DAEMONS = (DaemonSet("default", "d", NodeFit()),)


def answer(pod: Pod, protecting: list[Budget], taken: Counter[Budget]) -> int:
    """Return how the API server answers an eviction: 201, 429, or 500 for more than one budget.

    The healthy pods that were evicted are counted at once.
    """
    if pod.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED, PodPhase.PENDING):
        return 201
    if len(protecting) != 1:
        return 500 if protecting else 201
    budget = protecting[0]
    if not pod.ready and budget.current >= budget.desired > 0:
        return 201
    if taken[budget] >= budget.allowed:
        return 429
    taken[budget] += pod.ready
    return 201


@settings(max_examples=2 * settings.default.max_examples)
@given(
    st.lists(pods, max_size=10, unique_by=lambda pod: pod.uid),
    st.lists(budgets, max_size=4),
    st.sampled_from(Kubelet),
    st.sampled_from(OnBlocked),
    st.integers(-1, 1),
)
def test_the_plan_of_a_drain_is_what_the_evictions_do_and_nothing_is_deleted_unasked(
    on_node: list[Pod], protecting: list[Budget], kubelet: Kubelet, on_blocked: OnBlocked, seconds: int
) -> None:
    plan = plan_drain(on_node, protecting, DAEMONS, now=NOW, kubelet=kubelet)

    assert sorted(one.pod.uid for one in plan.pods) == sorted(pod.uid for pod in on_node)
    taken: Counter[Budget] = Counter()
    # What is evicted first, then what waited for it.
    first = plan.to_evict
    for planned in (*first, *(one for one in plan.left if one.pod.leaves_at is None and one not in first)):
        code = answer(planned.pod, [one for one in protecting if one.protects(planned.pod)], taken)
        assert (code == 201) is (planned.pod_class not in BLOCKED)
        if code == 500:
            assert planned.pod_class is PodClass.BLOCKED_FOREVER
        assert bool(planned.budgets) is bool(planned.why) is (planned.pod_class in BLOCKED)
    assert not any(one.pod.mirror or one.pod.leaves_at for one in plan.to_evict)

    match decide_drain(plan, now=NOW, deadline=NOW + timedelta(seconds=seconds), on_blocked=on_blocked):
        case Drained():
            assert all(one.pod_class in IGNORED for one in plan.pods)
        case DrainFailed(_, left) as failed:
            assert left
            assert seconds <= 0 or on_blocked is OnBlocked.FAIL
            assert len(failed.reasons) == len(left)
        case Draining(evict, delete):
            assert seconds > 0
            assert not delete or on_blocked is OnBlocked.DELETE
            assert all(one.pod_class in BLOCKED for one in delete)
            assert not (delete and evict)
