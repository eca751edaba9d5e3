"""What etcd clusters mean for a node: when its members may go, and when the clusters have to recover first."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.etcd import AwaitEtcd, EtcdGuard, EtcdReport, RemoveEtcd
from shipyard_api.actions.steps.teardown.part import Request
from shipyard_api.actions.steps.teardown.state import NodeState, Removal, TeardownTask
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.teardown import EtcdMemberRemoved
from shipyard_api.domain.findings import error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess, Protection
from shipyard_api.domain.teardown.etcd_members import MemberId, members_on
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation, Outcome, Teardown
from shipyard_api.domain.teardown.quorum import Remove, decide_removal
from shipyard_api.ports.provisioner import Marker
from tests.fakes.etcd import FakeEtcd
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 30, tzinfo=UTC)
N1, LEAVE = NodeName("n1"), Operation.REMOVE_ETCD
STATE = NodeState(
    TeardownTask(N1, ActionId("a"), 3, (LEAVE,), TeardownLimits()),
    order=Teardown((LEAVE,)).begin(LEAVE),
    limits=TeardownLimits(),
    since=NOW,
)


@every_row(
    [
        # when this operation removed a member, whether most of those that stay are dead; whether it must recover
        (None, True, False),
        (NOW, True, True),
        (NOW, False, False),
    ]
)
def test_a_cluster_must_recover_only_from_a_removal_of_ours(since: datetime | None, dead: bool, must: bool) -> None:
    etcd = FakeEtcd()
    etcd.form("etcd", "n1", "n2", "n3", dead=["n2", "n3"] if dead else [])
    cluster = etcd.look(EtcdAccess("etcd", ()))
    operation = RemoveEtcd(cast(Any, None))
    assert operation._must_recover(replace(STATE, calm_since=since), cluster, frozenset()) is must


GUARD = EtcdGuard(cast(Any, None), cast(Any, None), cast(Any, None))
Clusters = dict[str, tuple[str, str]]
"""The nodes of each cluster's members, and those of them whose members are dead."""
WELL, LAST, SILENT = ("n1 n2 n3", ""), ("n1", ""), ("n1 n2", "n1 n2")
ELSEWHERE, WEAK = ("n2 n3", ""), ("n1 n2 n3", "n3")
NO_VOTER = "no other voter would remain"
NO_LIST = "no endpoint returned a member list"
NO_REST = "the rest would have no quorum: 1 healthy voters, 2 needed"


def report(clusters: Clusters) -> EtcdReport:
    etcd = FakeEtcd()
    for name, (nodes, dead) in clusters.items():
        etcd.form(name, *nodes.split(), dead=dead.split())
    looks = tuple(etcd.look(EtcdAccess(name, ())) for name in clusters)
    return EtcdReport(looks, {look.name: members_on(look, N1, ()) for look in looks})


@every_row(
    [
        # the clusters, those given up before, force; whether the node holds members, those given up after, the reasons
        ({}, (), False, (False, (), ())),
        ({"x": ELSEWHERE}, (), False, (False, (), ())),
        ({"x": ELSEWHERE, "y": WELL}, (), False, (True, (), ())),
        ({"x": LAST}, (), False, (None, (), (f"etcd cluster x: {NO_VOTER}",))),
        ({"x": LAST}, (), True, (True, ("x",), ())),
        ({"x": WEAK}, (), True, (None, (), (f"etcd cluster x: {NO_REST}",))),
        # nothing is given up while another cluster is still waited for
        ({"x": LAST, "y": WEAK}, (), True, (None, (), (f"etcd cluster y: {NO_REST}",))),
        ({"x": SILENT, "y": WELL}, (), True, (None, (), (f"etcd cluster x: {NO_LIST}",))),
        # a cluster that is silent after it was given up may still have a member of the node
        ({"x": SILENT}, ("x",), False, (True, ("x",), ())),
        ({"x": SILENT, "y": ELSEWHERE}, ("x",), False, (True, ("x",), ())),
    ]
)
def test_an_operation_begins_once_every_cluster_can_do_without_the_node(
    clusters: Clusters, given_up: Sequence[str], force: bool, expected: Any
) -> None:
    state = replace(STATE, order=Teardown((LEAVE,)), given_up=given_up, task=replace(STATE.task, force=force))
    folded = GUARD.judge(RemoveEtcd(GUARD), state, report(clusters), NOW)
    begun, after = folded.state.begun(LEAVE), folded.state
    assert (after.teardown.holds_etcd if begun else None, after.given_up, after.waits) == expected
    assert folded.wait_until == (None if begun else NOW + timedelta(seconds=10))


@every_row([(1799, None), (1800, Outcome.REFUSED)])
def test_an_operation_that_no_cluster_lets_begin_is_refused_at_its_deadline(seconds: int, outcome: Any) -> None:
    state = replace(STATE, order=Teardown((LEAVE,)))
    folded = GUARD.judge(RemoveEtcd(GUARD), state, report({"x": LAST, "y": WEAK}), NOW + timedelta(seconds=seconds))
    teardown = folded.state.teardown
    why = f"etcd cluster x: {NO_VOTER}; etcd cluster y: {NO_REST}"
    assert (teardown.outcomes.get(LEAVE), teardown.messages) == (outcome, {LEAVE: why} if outcome else {})


@every_row(
    [
        # the clusters, those given up, the seconds since the operation began and since the last removal;
        # the outcome or the member that goes next, the message or the reasons, the seconds to the next look
        ({"x": ELSEWHERE, "y": WELL}, (), 0, None, ("y-n1", (), None)),
        ({"x": WELL}, (), 5, 5, (Outcome.FAILED, "etcd cluster x has a member on n1 again", None)),
        ({"x": LAST, "y": WEAK}, ("x",), 1799, None, (None, (f"etcd cluster y: {NO_REST}",), 10)),
        ({"y": WEAK}, (), 1800, None, (Outcome.FAILED, f"etcd cluster y: {NO_REST}", None)),
        ({"x": ELSEWHERE}, (), 9, None, (Outcome.DONE, "", None)),
        ({"x": ELSEWHERE}, (), 29, 29, (None, (), 1)),
        ({"x": ELSEWHERE}, (), 30, 30, (Outcome.DONE, "", None)),
        ({"x": LAST}, ("x",), 0, None, (Outcome.WARNING, "left in place in etcd cluster x, which has no other", None)),
        ({}, (), 0, None, (Outcome.DONE, "the design names no etcd cluster", None)),
    ]
)
def test_what_a_look_means_between_two_removals(
    clusters: Clusters, given_up: Sequence[str], passed: int, calm: int | None, expected: Any
) -> None:
    now = NOW + timedelta(seconds=passed)
    since = None if calm is None else now - timedelta(seconds=calm)
    state = replace(STATE, given_up=given_up, calm_since=since)
    operation = RemoveEtcd(GUARD)
    folded = operation.fold(state, GUARD.request(operation, state, now, "look"), report(clusters), now)
    outcome, said, pause = expected
    after, teardown = folded.state, folded.state.teardown
    assert folded.wait_until == (None if pause is None else now + timedelta(seconds=pause))
    if outcome is None or isinstance(outcome, str):
        assert (after.removal and after.removal.remove.member, after.waits) == (outcome, said)
        assert teardown.outcomes[LEAVE] is Outcome.RUNNING
    else:
        assert (teardown.outcomes[LEAVE], teardown.messages.get(LEAVE, "")[: len(said) or None]) == (outcome, said)


X1 = MemberId("x-n1")
DECIDED = decide_removal(report({"x": WELL}).clusters[0], frozenset({X1}))


@every_row(
    {
        # the clusters by now; whether the member of x is removed, whether it is found to have gone before
        "as it was decided": ({"x": WELL}, True, False),
        "beside another cluster": ({"y": ELSEWHERE, "x": WELL}, True, False),
        "it has gone": ({"y": WELL, "x": ELSEWHERE}, False, True),
        "the rest has become too weak": ({"x": WEAK}, False, False),
        "no list of members": ({"x": SILENT}, False, False),
        "no such cluster any more": ({"y": ELSEWHERE}, False, False),
    }
)
def test_a_member_is_removed_only_while_that_is_what_was_decided(clusters: Clusters, removed: bool, gone: bool) -> None:
    etcd = FakeEtcd()
    for name, (nodes, dead) in clusters.items():
        etcd.form(name, *nodes.split(), dead=dead.split())
    protection = Protection(clusters=[EtcdAccess(name, ()) for name in clusters])
    operation = RemoveEtcd(EtcdGuard(cast(Any, SimpleNamespace(node=lambda _: None)), etcd, lambda _: protection))
    state = replace(STATE, removal=Removal("x", cast(Remove, DECIDED)), waits=("a reason",))
    request = cast(Request, operation.decide(state, NOW).effect)  # type: ignore[union-attr]
    found = operation.find(request, Marker("m"), NOW, JobAnswers())
    assert (found.removed if found else None) == (X1 if gone else None)
    did = operation.perform(request, Marker("m"))
    assert (etcd.log, did.removed) == (([("x", X1)], X1) if removed else ([], None))
    assert len(etcd.transfers) == int(removed)  # n1 leads
    after = operation.fold(state, request, did, NOW)
    assert after.facts == ((EtcdMemberRemoved(N1, "x", X1, ()),) if removed else ())
    assert (after.state.removal, after.state.calm_since) == (None, NOW if removed else None)
    assert after.wait_until == (None if removed else NOW + timedelta(seconds=1))
    assert set(after.state.addresses) == {name for name, members in clusters.items() if members is not SILENT}


@every_row([(RemoveEtcd, LEAVE, False), (RemoveEtcd, LEAVE, True), (AwaitEtcd, Operation.AWAIT_ETCD, True)])
def test_a_document_that_cannot_be_read_ends_an_operation(kind: Any, named: Operation, begun: bool) -> None:
    protection = Protection(faults=[error("EtcdClusterInvalid", "no endpoint")])
    operation = kind(EtcdGuard(cast(Any, None), cast(Any, None), lambda _: protection))
    order = Teardown((named,))
    state = replace(STATE, order=order.begin(named) if begun else order)
    asked = operation.decide(state, NOW).question
    teardown = operation.fold(state, asked, operation.ask(asked), NOW).state.teardown
    assert (teardown.failed, teardown.messages) == (named, {named: "no endpoint"})


AWAIT = Operation.AWAIT_ETCD


@every_row(
    [
        # the clusters, those given up, the seconds that have passed; the outcome, its message or the reasons, the pause
        ({"x": ELSEWHERE}, (), 700, (Outcome.DONE, "", None)),
        ({"x": WELL}, (), 0, (Outcome.FAILED, "etcd cluster x has a member on n1 again", None)),
        ({"x": WELL, "y": ("n2 n3", "n2")}, ("x",), 0, (Outcome.RUNNING, ("etcd cluster y is Unhealthy",), 30)),
        ({"y": ("n2 n3", "n2")}, (), 590, (Outcome.RUNNING, ("etcd cluster y is Unhealthy",), 10)),
        ({"y": ("n2 n3", "n2")}, (), 600, (Outcome.FAILED, "etcd cluster y is Unhealthy", None)),
    ]
)
def test_what_a_look_means_after_the_removals(
    clusters: Clusters, given_up: Sequence[str], passed: int, expected: Any
) -> None:
    now, operation = NOW + timedelta(seconds=passed), AwaitEtcd(GUARD)
    state = replace(STATE, order=Teardown((AWAIT,)).begin(AWAIT), given_up=given_up)
    folded = operation.fold(state, GUARD.request(operation, state, now, "look"), report(clusters), now)
    outcome, said, pause = expected
    teardown = folded.state.teardown
    found = folded.state.waits if outcome is Outcome.RUNNING else teardown.messages.get(AWAIT, "")[: len(said) or None]
    assert (teardown.outcomes[AWAIT], found) == (outcome, said)
    assert folded.wait_until == (None if pause is None else now + timedelta(seconds=pause))
