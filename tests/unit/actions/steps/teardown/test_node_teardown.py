"""The work item of one node, without a database: random clusters and faults, and what must hold in all of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shipyard_api.actions.steps.job_watch import Job
from shipyard_api.actions.steps.pacing import POLICY
from shipyard_api.actions.steps.teardown.destroy import Destroy, PodsLeft, Recalled
from shipyard_api.actions.steps.teardown.drain import Drain
from shipyard_api.actions.steps.teardown.etcd import AwaitEtcd, EtcdGuard, RemoveEtcd
from shipyard_api.actions.steps.teardown.kubelet import ShutDownKubelet
from shipyard_api.actions.steps.teardown.labels import ClearLabels
from shipyard_api.actions.steps.teardown.node_teardown import PACE, RECALL, Answer, History, NodeTeardown
from shipyard_api.actions.steps.teardown.part import Part, Request
from shipyard_api.actions.steps.teardown.removal import RemoveFromCluster
from shipyard_api.actions.steps.teardown.state import NodeState, TeardownTask
from shipyard_api.actions.steps.teardown.uncordon import Uncordon
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.teardown import TeardownChanged, TeardownWaits
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt, DoubtfulJob, JobAnswers
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess, Protection
from shipyard_api.domain.teardown.etcd_members import Minimum
from shipyard_api.domain.teardown.kubelet import Ready
from shipyard_api.domain.teardown.labels import CORDONED_KEY, Operator, Requirement
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import TEARDOWN, Operation, Outcome, Teardown
from shipyard_api.domain.teardown.pods import Budget, Controller, Pod, PodPhase, PodUid
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports import provisioner
from shipyard_api.ports.cluster import ClusterNode, NodeLook
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker
from shipyard_api.workflow.step import Act, Done, Failed, Look, PeerFailure
from tests.factories import node
from tests.fakes.clock import FakeClock
from tests.fakes.cluster_nodes import FakeClusterNodes
from tests.fakes.etcd import FakeEtcd
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.actions.steps.rollouts import store_with_jobs
from tests.unit.tables import every_row

N1 = NodeName("n1")
SHORT = TeardownLimits(120, 30, 120, 120, 120, 120)


@dataclass
class Item:
    """One item and its world. At each effect, ``crashes`` and ``breaks`` say what goes wrong (by number of the call).

    A crash loses the report of an effect; the next delivery searches for it, or repeats it. Every state is stored and
    read between two calls, as the engine does.
    """

    limits: TeardownLimits = SHORT
    minimum: Minimum = field(default_factory=Minimum)
    began_earlier: bool = False
    was_deployed: bool = True
    force: bool = False
    must_exist: bool = False
    windows: ServerWindows | None = None
    faults: tuple[Finding, ...] = ()
    label_cleared: bool = False
    crashes: frozenset[int] = frozenset()
    breaks: frozenset[int] = frozenset()
    clock: FakeClock = field(default_factory=FakeClock)
    facts: list[Any] = field(default_factory=list)
    calls: int = 0
    began_at: datetime | None = None

    def __post_init__(self) -> None:
        self.cluster = FakeClusterNodes(self.clock.now)
        self.etcd = FakeEtcd()
        self.provisioner = FakeProvisioner([node("n1")], now=self.clock.now)
        self.cluster.add("n1", labels={"etcd": "enabled"})
        access = EtcdAccess("etcd", ("http://10.0.0.9:2379",), minimum=self.minimum)
        guard = EtcdGuard(self.cluster, self.etcd, lambda _revision: Protection(clusters=[access]))
        # The journal is only asked for jobs and owners of other intents; there are none.
        store = store_with_jobs()
        parts: dict[Operation, Part[Any]] = {
            Operation.DRAIN: Drain(self.cluster),
            Operation.CLEAR_LABELS: ClearLabels(self.cluster, guard),
            Operation.REMOVE_ETCD: RemoveEtcd(guard),
            Operation.AWAIT_ETCD: AwaitEtcd(guard),
            Operation.SHUT_DOWN_KUBELET: ShutDownKubelet(self.cluster),
            Operation.DESTROY_NODE: Destroy(store, self.provisioner, self.cluster, "design/{}".format),
            Operation.REMOVE_FROM_CLUSTER: RemoveFromCluster(self.cluster),
            Operation.UNCORDON: Uncordon(self.cluster, lambda _node: self.label_cleared),
        }
        self.kind = NodeTeardown(
            parts,
            lambda _node: (self.began_earlier, self.was_deployed),
            lambda _action: self.limits,
            lambda _revision: self.faults,
        )

    def run(self, operations: tuple[Operation, ...] = TEARDOWN) -> str:
        """Run the item to its end; return how it ended, with its sentence."""
        task = TeardownTask(N1, ActionId("A1"), 3, operations, self.limits, force=self.force, windows=self.windows)
        task = replace(task, must_exist=self.must_exist)
        state = self.kind.begin(task.to_json())
        for number in range(3000):
            state = self.kind.load_state(state.to_json())
            decision = self.kind.decide(state, self.clock.now())
            if isinstance(decision, Done):
                return f"done: {decision.summary}"
            if isinstance(decision, Failed):
                return f"failed: {decision.reason}"
            if isinstance(decision, Act):
                asked: Request = decision.effect
                self.began_at = self.began_at or self.clock.now()
                report = self._perform(decision, Marker(f"m-{number}"))
            else:
                asked = cast(Request, decision.question)  # type: ignore[union-attr]
                report = self._guarded(lambda asked=asked: self.kind.ask(asked), PeerError)  # type: ignore[misc]
            folded = self.kind.fold(state, asked, report, self.clock.now())
            self.facts += folded.facts
            state = folded.state
            for gone in self.provisioner.sent(provisioner.Operation.DESTROY_NODES):
                self.cluster.kill(gone)
            if folded.wait_until is not None:
                self.clock.advance(max((folded.wait_until - self.clock.now()).total_seconds(), 0.01))
        raise AssertionError("the item does not end")

    def _found(self, effect: Request, marker: Marker, since: datetime) -> Any:
        return self.kind.find(effect, marker, since, JobAnswers())

    def _perform(self, act: Act[Request], marker: Marker) -> Any:
        """Bring an effect about as the engine does: after an unknown outcome search, then repeat until given up."""
        effect = self.kind.load_effect(act.effect.to_json())
        intended_at, attempts = self.clock.now(), 0
        while True:
            attempts += 1
            try:
                if attempts > 1 and (found := self._found(effect, marker, intended_at)) is not None:
                    return found
                self.calls += 1
                if self.calls in self.breaks:
                    raise provisioner_error()
                report = self.kind.perform(effect, marker)
            except Refused as refused:
                return PeerFailure.of(refused)
            except PeerError as trouble:
                if self.clock.now() >= act.give_up_at:
                    return PeerFailure.of(trouble)
                self.clock.advance(10)
                continue
            if self.calls in self.crashes and attempts < 3:
                self.clock.advance(0.0 if act.repeatable else 10.0)
                continue
            return report

    @staticmethod
    def _guarded(call: Any, error_type: type[PeerError]) -> Any:
        try:
            return call()
        except error_type as trouble:
            return PeerFailure.of(trouble)

    def ended(self) -> dict[str, str]:
        changed = [one for one in self.facts if isinstance(one, TeardownChanged)]
        return {one.operation.value: one.outcome.value for one in changed}


def provisioner_error() -> PeerError:
    return Unavailable("Peer", "call", "broken on purpose")


OWNERS = [Controller("ReplicaSet", "web"), Controller("StatefulSet", "db"), None]


@st.composite
def pods(draw: st.DrawFn) -> list[Pod]:
    found = []
    for number in range(draw(st.integers(0, 5))):
        found.append(
            Pod(
                "default",
                f"p{number}",
                PodUid(f"u{number}"),
                labels={"app": draw(st.sampled_from("abc"))},
                controller=draw(st.sampled_from(OWNERS)),
                mirror=draw(st.booleans()) and number == 0,
                ready=draw(st.booleans()),
                local_data=draw(st.booleans()),
            )
        )
    return found


@st.composite
def budgets(draw: st.DrawFn) -> list[Budget]:
    found = []
    for app in draw(st.sets(st.sampled_from("abc"))):
        expected = draw(st.integers(1, 3))
        allowed = draw(st.integers(0, expected))
        selector = (Requirement("app", Operator.IN, (app,)),)
        found.append(Budget("default", app, selector, allowed, expected - allowed, expected, expected))
    return found


@settings(max_examples=40, deadline=None)
@given(
    held=pods(),
    protecting=budgets(),
    members=st.integers(1, 5),
    dead=st.sets(st.integers(1, 5), max_size=3),
    minimum=st.integers(0, 3),
    on_blocked=st.sampled_from(OnBlocked),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    crashes=st.frozensets(st.integers(1, 20), max_size=4),
    breaks=st.frozensets(st.integers(1, 20), max_size=4),
)
def test_whatever_goes_wrong_nothing_is_lost_and_nothing_done_twice(
    held: list[Pod],
    protecting: list[Budget],
    members: int,
    dead: set[int],
    minimum: int,
    on_blocked: OnBlocked,
    flags: tuple[bool, bool, bool, bool],
    crashes: frozenset[int],
    breaks: frozenset[int],
) -> None:
    force, began_earlier, kubelet_dies, stops = flags
    item = Item(
        limits=replace(SHORT, on_blocked=on_blocked),
        minimum=Minimum(minimum, minimum),
        began_earlier=began_earlier,
        force=force,
        crashes=crashes,
        breaks=breaks,
    )
    item.cluster.pods[N1] = held
    item.cluster.budgets = protecting
    item.cluster.stops_kubelets = stops
    names = [f"n{number}" for number in range(1, members + 1)]
    item.etcd.form("etcd", *names, dead=[f"n{number}" for number in dead])
    before = list(item.etcd.members["etcd"])
    if kubelet_dies:
        item.cluster.kill(N1)
    verdict = item.run()

    changed = [one for one in item.facts if isinstance(one, TeardownChanged)]
    destroyed = item.provisioner.sent(provisioner.Operation.DESTROY_NODES)
    log = [what for what, _ in item.cluster.log]
    # Nothing twice.
    for what in ("evict", "delete", "remove"):
        subjects = item.cluster.changes(what)
        assert len(subjects) == len(set(subjects))
    assert len(destroyed) <= 1
    # etcd: only the node's own member, and the rest keeps its quorum and the minimum of a member that was healthy.
    assert {member for _, member in item.etcd.log} <= {"etcd-n1"}
    if item.etcd.log:
        assert item.etcd.least >= 0
        if before[0].healthy:
            assert len(item.etcd.members["etcd"]) >= minimum
    # No eviction after etcd removal may have begun, in this item or an earlier one.
    if began_earlier:
        assert "evict" not in log
        assert "delete" not in log
    if "clear" in log:
        assert not {"evict", "delete"} & set(log[log.index("clear") :])
    # A pod goes past its budget only if that was wished.
    if on_blocked is not OnBlocked.DELETE:
        assert "delete" not in log
    # The host goes only after everything before it, and its Node object only after the host.
    if destroyed:
        order = [one.operation for one in changed if one.outcome is not Outcome.RUNNING]
        assert order[: TEARDOWN.index(Operation.DESTROY_NODE)] == list(TEARDOWN[:5])
    if "remove" in log:
        assert destroyed
    if verdict.startswith("done"):
        assert destroyed
        assert N1 not in item.cluster.nodes


@every_row(
    [
        ({"faults": (error("EtcdClusterInvalid", "no endpoint"),)}, "drain", "no endpoint"),
        ({"was_deployed": True}, "drain", "Kubernetes does not know the node"),
    ],
)
def test_what_fails_before_anything_is_touched(plan: dict[str, Any], outcome: str, message: str) -> None:
    item = Item(**plan)
    item.etcd.form("etcd", "n1", "n2", "n3")
    if "was_deployed" in plan:
        del item.cluster.nodes[N1]

    verdict = item.run()

    assert verdict.startswith(f"failed: {outcome}: {message}")
    assert (item.cluster.log, item.etcd.log, item.provisioner.submissions) == ([], [], [])


AGAIN = "what the drain cordoned is uncordoned again"
NEVER_TRIED = ", ".join(operation.value for operation in TEARDOWN[2:])


@every_row(
    {
        # the item, how often the uncordon breaks, whether a pod stays; the end of its sentence, the nodes uncordoned
        "a break": ({}, 1, True, f"; {AGAIN}", [N1]),
        "no answer for long": ({}, 99, True, "; the node stays cordoned: Fake cluster uncordon: broken on purpose", []),
        "before etcd": ({}, 0, False, f"; done: drain; not tried: {NEVER_TRIED}; {AGAIN}", [N1]),
        "called alone": ({"must_exist": True}, 0, True, NEVER_TRIED, []),
        "etcd removal had begun": ({"began_earlier": True}, 0, False, NEVER_TRIED, []),
        "in a window": (
            {"windows": ServerWindows([{"zone": "UTC", "start": "00:00", "minutes": 1440}])},
            0,
            True,
            AGAIN,
            [N1],
        ),
    }
)
def test_a_teardown_that_fails_before_etcd_takes_its_cordon_back(
    plan: dict[str, Any], breaks: int, stays: bool, ends: str, uncordoned: list[NodeName]
) -> None:
    item = Item(**plan)
    item.etcd.form("etcd", "n1", "n2", "n3", dead=["n3"])
    if stays:
        item.cluster.pods[N1] = [Pod("default", "db", PodUid("u"), labels={"app": "db"}, controller=OWNERS[1])]
        item.cluster.budgets = [Budget("default", "db", (Requirement("app", Operator.IN, ("db",)),), 0, 1, 1, 1)]
    for _ in range(breaks):
        item.cluster.break_next("uncordon")
    verdict = item.run()
    assert verdict.startswith("failed: ")
    assert verdict.endswith(ends)
    assert item.cluster.changes("uncordon") == uncordoned


@every_row([(59, False, ""), (60, False, "the node stays cordoned: x"), (0, True, "the node stays cordoned: x")])
def test_an_uncordon_without_an_answer_is_tried_again_for_a_minute(seconds: int, refused: bool, stays: str) -> None:
    kind, now = Item().kind, FakeClock().now()
    order = Teardown(TEARDOWN).begin(Operation.DRAIN).fail(Operation.DRAIN, "no")
    state = NodeState(TeardownTask(N1, ActionId("A1"), 3, TEARDOWN), order=order, since=now)
    act = kind.decide(state, now)
    assert (act.give_up_at, act.repeatable) == (now + timedelta(seconds=60), True)
    folded = kind.fold(state, act.effect, PeerFailure("x", refused=refused), now + timedelta(seconds=seconds))
    assert (folded.state.cordon, folded.wait_until is None) == (stays, bool(stays))


def test_what_is_said_of_an_effect() -> None:
    kind, state, now = destroying()
    request = Request(Operation.DESTROY_NODE, N1, ActionId("A1"), 3, now, "submit", {"design": "d", "wipe": "all"})
    taken_back, history = replace(request, operation=Operation.UNCORDON), replace(request, operation=None)
    asked = replace(request, at=now + timedelta(1), begins=True)
    assert kind.identity(asked.to_json()) == kind.identity(request.to_json()) != kind.identity(taken_back.to_json())
    assert kind.touches(request) == (N1,)
    assert (kind.work(request), kind.work(taken_back)) == (NodeWork.TEARDOWN, NodeWork.OTHER)
    assert kind.outage_facts(request, "x") == (TeardownWaits(N1, Operation.DESTROY_NODE, ("x",)),)
    assert kind.outage_facts(request, "") == (TeardownWaits(N1, Operation.DESTROY_NODE, ()),)
    assert kind.outage_facts(history, "x") == ()
    assert kind.leave(state, "x") == (WorkLeftBehind("destroy_nodes", JobId("j-1"), "design/3", (N1,), "x"),)
    assert kind.unmarked(request) is True
    began = kind.perform(request, Marker("m"))
    assert kind.find(request, Marker("m"), now, JobAnswers()) == began
    assert Item().kind.find(request, Marker("m"), now, JobAnswers()) is None
    alone = dataclasses.replace(kind, parts={})
    assert (alone.leave(state, "x"), kind.ask(replace(history, what=PACE)).report) == ((), None)
    assert alone.ask(replace(history, what=RECALL)).report == Recalled(None)


@every_row([(TEARDOWN, True), ((Operation.CLEAR_LABELS,), True), ((Operation.DRAIN,), False)])
def test_the_faults_of_etcd_documents_concern_teardowns_that_touch_etcd(operations: Any, concerns: bool) -> None:
    item = Item(faults=(error("EtcdClusterInvalid", "no endpoint"),))
    state = NodeState(TeardownTask(N1, ActionId("A1"), 3, operations))
    answer = item.kind.ask(item.kind.decide(state, item.clock.now()).question)
    assert answer.report.faults == (("no endpoint",) if concerns else ())


def test_a_design_that_cannot_be_read_ends_the_teardown_before_anything_is_touched() -> None:
    item = Item()

    def unreadable(_revision: int) -> tuple[Finding, ...]:
        raise provisioner_error()

    item.kind = dataclasses.replace(item.kind, design_faults=unreadable)
    begun = item.clock.seconds

    assert item.run().startswith("failed: drain: Peer call: broken on purpose")
    assert 300 <= item.clock.seconds - begun < 330
    assert item.cluster.log == []


@every_row([(False, False), (True, True)])
def test_a_node_that_need_not_be_known_is_destroyed(was_deployed: bool, force: bool) -> None:
    item = Item(was_deployed=was_deployed, force=force)
    item.etcd.form("etcd", "n1", "n2", "n3")
    del item.cluster.nodes[N1]

    assert item.run().startswith("done")
    assert item.ended()["drain"] == "skipped"


@every_row([None, False, True])
def test_a_leader_hands_over_and_leaves_etcd_also_if_it_does_not(breaks_after: bool | None) -> None:
    item = Item()
    item.etcd.form("etcd", "n1", "n2", "n3")
    if breaks_after is not None:
        item.etcd.break_next("transfer_leadership", after=breaks_after)

    assert item.run().startswith("done")
    assert (len(item.etcd.transfers), item.etcd.log) == (int(breaks_after is not False), [("etcd", "etcd-n1")])


def destroying(*, job: str = "j-1") -> tuple[NodeTeardown, NodeState, datetime]:
    """Return a kind and a state in which the provisioner works on a job, if it has one."""
    item, operation = Item(), Operation.DESTROY_NODE
    now, task = item.clock.now(), TeardownTask(N1, ActionId("A1"), 3, (operation,), SHORT)
    at_work = Job.submitted(JobId(job), now) if job else None
    return item.kind, NodeState(task, order=Teardown((operation,)).begin(operation), since=now, job=at_work), now


def test_a_paused_teardown_polls_the_job_of_the_provisioner_and_nothing_else() -> None:
    kind, state, now = destroying()
    look = kind.watch(state, now)
    assert look is not None
    assert (look.question.operation, look.question.what) == (Operation.DESTROY_NODE, "job")
    assert look.question.more["job"] == "j-1"
    kind, state, now = destroying(job="")
    assert kind.watch(state, now) is None


def test_the_report_by_which_a_destroy_times_out_is_read_for_it() -> None:
    kind, state, now = destroying()
    limit = state.task.destroy.timeout
    looks = [kind.watch(state, now + timedelta(seconds=seconds)) for seconds in (limit - 1, limit)]
    assert ["fresh" in look.question.more for look in looks if look] == [False, True]


@every_row(
    [
        # the condition Ready, seconds since the lease was last seen to change, whether a leaving pod keeps the host
        (Ready.TRUE, 59, True),
        (Ready.FALSE, 59, True),  # its kubelet still renews its lease, and can confirm the end of the pod
        (Ready.UNKNOWN, 59, False),
        (Ready.TRUE, 61, False),  # nobody watches conditions any more: the lease is sign enough
    ]
)
def test_a_kubelet_that_was_stopped_need_not_confirm_the_end_of_pods(ready: Ready, silent: float, keeps: bool) -> None:
    _, state, now = destroying(job="")
    node = ClusterNode(N1, "uid", "1", cordoned=True, labels={}, ready=ready, renewed_at=now)
    pods = (
        Pod("default", "web", PodUid("w"), leaves_at=now),
        Pod("default", "done", PodUid("d"), phase=PodPhase.SUCCEEDED),
    )

    class Shown(FakeClusterNodes):
        def look(self, name: NodeName) -> NodeLook:
            return NodeLook(node, pods, (), (), now)

    destroy = Destroy(store_with_jobs(), FakeProvisioner(), Shown(lambda: now), "design/{}".format)
    look = destroy.decide(replace(state, lease=(now.isoformat(), now)), now + timedelta(seconds=silent))

    assert isinstance(look, Look)
    assert destroy.ask(look.question) == PodsLeft(("default/web",) if keeps else ())


@every_row(
    [
        (
            JobReport(JobId("j-1"), JobState.ENDED, False, failed=frozenset({N1}), reasons={N1: "n1: no power"}),
            "n1: no power",
        ),
        (JobReport(JobId("j-1"), JobState.ENDED, False, failed=frozenset({N1}), message="no room"), "no room"),
        (JobReport(JobId("j-1"), JobState.ENDED, False), "no reason given"),
        (
            JobReport(JobId("j-1"), JobState.ENDED, False, reasons={N1: "n1: no power"}, message="one failed"),
            "n1: no power",
        ),
    ]
)
def test_a_job_that_failed_says_the_reason_of_the_node_or_else_its_own(report: JobReport, why: str) -> None:
    kind, state, now = destroying()
    asked = Request(Operation.DESTROY_NODE, N1, ActionId("A1"), 3, now, "job")
    folded = kind.parts[Operation.DESTROY_NODE].fold(state, asked, report, now)
    teardown = folded.state.teardown
    assert teardown.outcomes[Operation.DESTROY_NODE] is Outcome.FAILED
    assert teardown.messages[Operation.DESTROY_NODE] == f"job j-1: {why}"


def test_the_state_of_every_moment_is_read_as_it_was_written() -> None:
    item = Item()
    item.etcd.form("etcd", "n1", "n2", "n3")
    item.cluster.pods[N1] = [Pod("default", "p", PodUid("u"))]
    seen: list[NodeState] = []
    load = item.kind.load_state

    class Remembers(NodeTeardown):
        def load_state(self, stored: Any) -> NodeState:
            state = load(stored)
            assert state.to_json() == stored
            seen.append(state)
            return state

    kind = item.kind
    item.kind = Remembers(kind.parts, kind.read_history, kind.read_limits, kind.design_faults)
    assert item.run().startswith("done")
    assert len(seen) > 15


def test_a_teardown_asks_an_operator_and_looks_again_after_another_loss_only() -> None:
    kind, item = Item().kind, TeardownTask(N1, ActionId("A1"), 3, TEARDOWN)
    at = FakeClock().now()
    doubt = Doubt("Drydock", "destroy_nodes", (N1,), (DoubtfulJob("j", "prepare_nodes", (N1, NodeName("n9"))),))
    state = kind.notice(kind.begin(item.to_json()), LostHistory(at, at))
    asked = kind.decide(state, at)
    assert asked.question.more["answers"] == {"ours": [], "others": []}

    folded = kind.fold(state, asked.question, PeerFailure("why", refused=False, doubt=doubt), at)
    assert folded.wait_until is not None
    assert (folded.awaited.what, folded.awaited.doubt) == ("answers: shipyard reconcile A1", doubt)
    silent = kind.fold(state, asked.question, PeerFailure("why", refused=False), at)
    assert (silent.state, silent.awaited, silent.wait_until) == (state, None, folded.wait_until)

    answered = kind.notice(folded.state, LostHistory(at, at, JobAnswers(others=frozenset({"j"}))))
    again = kind.decide(answered, at)
    assert again.question.more["answers"] == {"ours": [], "others": ["j"]}
    assert kind.load_state(answered.to_json()).lost == LostHistory(at, at)

    known = kind.fold(answered, again.question, Answer(Recalled(None), TeardownLimits()), at).state
    known = kind.load_state(known.to_json())

    def asks(lost: LostHistory) -> bool:
        return kind.decide(kind.notice(known, lost), at).question.what == RECALL

    assert not asks(LostHistory(at, at, JobAnswers(ours=frozenset({"k"}))))
    assert asks(LostHistory(at, at + timedelta(seconds=1)))
    assert asks(LostHistory(at, at, server="another start"))


@every_row(product([False, True], [None, provisioner.Operation.DESTROY_NODES, provisioner.Operation.DEPLOY_NODES]))
def test_a_teardown_asks_first_also_where_nothing_shows_a_loss(
    alone: bool, found: provisioner.Operation | None
) -> None:
    """Once after each start of the database's server. One that is called alone is done to the server of today."""
    kind, task = Item().kind, TeardownTask(N1, ActionId("A1"), 3, TEARDOWN, must_exist=alone)
    at = FakeClock().now()
    state = kind.notice(kind.begin(task.to_json()), LostHistory(at, None, server="a start"))
    asked = kind.decide(state, at).question.what
    assert asked == ("history" if alone else RECALL)
    if alone:
        return
    silent = kind.fold(state, kind.decide(state, at).question, PeerFailure("why", refused=False), at)
    assert (silent.state.since, silent.wait_until is not None) == (at, True)

    answer = Answer(Recalled(found), TeardownLimits())
    known = kind.fold(state, kind.decide(state, at).question, answer, at).state

    assert kind.load_state(known.to_json()).asked == " a start"
    assert known.never_joined is (found is not None)
    following = known.order.next_operation() if known.order else TEARDOWN[0]
    deployed, destroyed = found is provisioner.Operation.DEPLOY_NODES, Operation.DESTROY_NODE
    assert following is (None if deployed else destroyed if found else TEARDOWN[0])


@every_row([False, True])
def test_after_a_loss_a_node_that_kubernetes_lacks_was_removed_in_the_lost_end(must_exist: bool) -> None:
    kind = Item(began_earlier=False).kind
    task = TeardownTask(N1, ActionId("A1"), 3, TEARDOWN, must_exist=must_exist)
    at = FakeClock().now()
    state = kind.notice(kind.begin(task.to_json()), LostHistory(at, at))
    asked = kind.decide(state, at)
    recalled = kind.fold(state, asked.question, Answer(Recalled(None), TeardownLimits()), at).state
    following = kind.decide(recalled, at)
    begun = kind.fold(recalled, following.question, Answer(History(False, True), TeardownLimits()), at).state

    assert recalled.never_joined is begun.never_joined is not must_exist


@every_row(
    {
        "no cordon": ({}, "done: uncordon: it was not cordoned", []),
        "an operator's": ({"label": ""}, "failed: uncordon: the node is cordoned without Shipyard's label", []),
        "ours": ({"label": CORDONED_KEY}, "done: uncordon", [N1]),
        "ours, by the record": ({"cleared": "yes"}, "done: uncordon: the labels that its teardown cleared", [N1]),
        "of a node that Kubernetes does not know": (None, "failed: uncordon: Kubernetes does not know the node", []),
    },
)
def test_only_a_cordon_of_ours_is_taken_back(
    cordon: dict[str, str] | None, ended: str, uncordoned: list[NodeName]
) -> None:
    item = Item(label_cleared=bool(cordon and cordon.get("cleared")))
    if cordon is None:
        item.cluster.nodes.clear()
    elif cordon:
        item.cluster.cordon(item.cluster.nodes[N1], label=cordon.get("label", ""))

    assert item.run((Operation.UNCORDON,)).startswith(ended)
    assert item.cluster.changes("uncordon") == uncordoned


NIGHT = ServerWindows([{"zone": "UTC", "start": "22:00", "minutes": 1}])
OPENS = FakeClock().now().replace(hour=22)


def test_a_node_begins_while_a_window_is_open_and_ends_after_its_close() -> None:
    item = Item(windows=NIGHT)
    item.etcd.form("etcd", "n1", "n2", "n3")

    assert item.run().startswith("done: ")
    assert item.clock.now() > OPENS + timedelta(minutes=1)
    assert item.began_at == OPENS
    waits = [one for one in item.facts if isinstance(one, TeardownWaits)]
    assert waits[0].reasons == ("windows: closed until 2026-03-02T22:00:00Z",)


def test_a_node_for_which_no_window_comes_is_not_touched() -> None:
    item = Item(windows=ServerWindows([{"zone": "UTC", "start": "22:00", "minutes": 60, "dates": ["2020-01-01"]}]))

    assert item.run() == (
        "failed: drain: windows: no window is as long as the 0 s of a server; not tried: "
        + ", ".join(operation.value for operation in TEARDOWN if operation is not Operation.DRAIN)
    )
    assert item.cluster.changes("cordon") == []


def test_a_first_effect_that_was_not_sent_is_not_decided_any_more_once_the_window_is_closed() -> None:
    kind = Item().kind
    task = TeardownTask(N1, ActionId("A1"), 3, TEARDOWN, windows=NIGHT)
    begun = kind.begin(task.to_json())
    asked = kind.decide(begun, OPENS)
    known = kind.fold(begun, asked.question, Answer(History(False, True), TeardownLimits()), OPENS).state
    first = kind.decide(known, OPENS)
    late = OPENS + timedelta(minutes=2)
    after = kind.decide(known, late)
    waits = kind.fold(known, after.question, Answer(None, TeardownLimits()), late)
    opened = kind.fold(known, after.question, Answer(None, TeardownLimits()), OPENS)
    lost = kind.fold(known, first.effect, PeerFailure("no answer", refused=False), OPENS).state
    held = kind.fold(known, first.effect, PeerFailure("held", refused=True, nodes={N1: "held"}), OPENS).state

    assert isinstance(first, Act)
    assert isinstance(after, Look)
    assert after.question.what == PACE
    assert waits.wait_until == OPENS + timedelta(days=1)
    assert (opened.wait_until, opened.awaited, opened.state.waits) == (None, None, ())
    assert waits.awaited == Awaited(POLICY, "windows: closed until 2026-03-03T22:00:00Z")
    assert waits.state.since == waits.wait_until  # the drain's time limit begins then
    assert (lost.started, held.started) == (True, False)
    assert isinstance(kind.decide(kind.load_state(lost.to_json()), late), Act)
