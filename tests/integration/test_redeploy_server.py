"""redeploy_server with everything but the wire: the order, what stops it, and what it never does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, Control, RunState
from shipyard_api.domain.holds import HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_members import EtcdMember, MemberId, MemberState
from shipyard_api.domain.teardown.labels import Operator, Requirement
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.pods import Budget
from shipyard_api.ports.provisioner import Operation
from shipyard_api.ports.state.holds import NewHold
from tests.databases import one_after_another
from tests.fakes.provisioner import Fate
from tests.teardown_world import ETCD, TeardownWorld, pod

Worlds = Callable[..., TeardownWorld]
N1 = NodeName("n1")
DESTROY, DEPLOY, CHECK = "destroy_nodes", "drydock_build.prepare_and_deploy_nodes", "check_teardown"


@pytest.fixture
def worlds(database_url: str) -> Iterator[Worlds]:
    with one_after_another(database_url, TeardownWorld) as make:
        yield make


def budget(name: str, *, allowed: int, expected: int = 3) -> Budget:
    """A budget over the pods with the label ``app``."""
    selector = (Requirement("app", Operator.IN, (name,)),)
    return Budget("default", name, selector, allowed, expected - allowed, expected, expected)


def operations(world: TeardownWorld) -> list[tuple[str, str, str]]:
    return [(one.node, one.operation.value, one.outcome.value) for one in world.facts("teardown_changed")]


def ended(world: TeardownWorld) -> dict[str, str]:
    """The last outcome of each operation."""
    return {operation: outcome for _, operation, outcome in operations(world)}


def test_a_server_is_drained_leaves_etcd_is_destroyed_removed_and_deployed(worlds: Worlds) -> None:
    world = worlds()
    world.run(world.worker())

    assert world.state() is RunState.SUCCESS
    assert list(ended(world).items()) == [
        ("drain", "done"),
        ("clear-labels", "done"),
        ("remove-etcd", "done"),
        ("await-etcd", "done"),
        ("shutdown-kubelet", "done"),
        ("destroy-node", "done"),
        ("remove-from-cluster", "done"),
    ]
    assert world.cluster.log == [
        ("cordon", "n1"),
        ("evict", "default/n1-a"),
        ("evict", "default/n1-b"),
        ("clear", "n1"),
        ("label", "n1"),
        ("remove", "n1"),
    ]
    assert world.etcd.log == [(ETCD, f"{ETCD}-n1")]
    assert world.etcd.transfers == [(ETCD, f"{ETCD}-n2")]
    assert [(one.work.operation, one.work.nodes) for one in world.provisioner.submissions] == [
        (Operation.DESTROY_NODES, (N1,)),
        (Operation.PREPARE_NODES, (N1,)),
        (Operation.DEPLOY_NODES, (N1,)),
    ]


def test_one_server_after_another_and_none_after_a_failure(worlds: Worlds) -> None:
    world = worlds(targets=("n1", "n2"))
    world.provisioner.fates = {N1: Fate.FAILS_DEPLOY}
    world.run(world.worker())

    steps = {step: state for step, (state, _) in world.steps().items()}
    assert steps == {
        CHECK: "success",
        DESTROY: "success",
        DEPLOY: "failed",
        f"{CHECK}.2": "upstream_failed",
        f"{DESTROY}.2": "upstream_failed",
        f"{DEPLOY}.2": "upstream_failed",
    }
    assert world.cluster.changes("cordon") == ["n1"]


def test_several_at_a_time_drain_together_and_leave_etcd_one_by_one(worlds: Worlds) -> None:
    world = worlds(targets=("n1", "n2"), inputs={"max_parallel_nodes": 2})
    world.run(world.worker())

    assert world.state() is RunState.SUCCESS
    order = [(node, operation) for node, operation, outcome in operations(world) if outcome == "running"]
    assert [one for one in order if one[1] == "drain"] == [("n1", "drain"), ("n2", "drain")]
    leaving = [one for one in order if one[1] in ("clear-labels", "shutdown-kubelet")]
    assert [node for node, _ in leaving] == ["n1", "n1", "n2", "n2"]
    assert world.etcd.least >= 0


def test_a_pod_that_a_budget_keeps_for_ever_is_deleted_where_the_action_says_so(worlds: Worlds) -> None:
    limits = TeardownLimits().with_parameters({"on-blocked": "delete", "drain-timeout": 60, "grace-period": 9})[0]
    world = worlds(inputs={"limits": limits.to_json()})
    world.cluster.pods[N1].append(pod("db", labels={"app": "db"}))
    world.cluster.budgets = [budget("db", allowed=0, expected=1)]
    world.run(world.worker())

    assert (world.state(), world.cluster.changes("delete")) == (RunState.SUCCESS, ["default/db"])


@pytest.mark.parametrize("cordoned_before", [False, True])
def test_a_teardown_that_fails_before_anything_irreversible_takes_its_cordon_back(
    worlds: Worlds, cordoned_before: bool
) -> None:
    limits = TeardownLimits().with_parameters({"drain-timeout": 60, "grace-period": 9})[0]
    world = worlds(inputs={"limits": limits.to_json(), "force": True})
    world.cluster.pods[N1].append(pod("db", labels={"app": "db"}))
    world.cluster.budgets = [budget("db", allowed=0, expected=1)]
    if cordoned_before:
        world.cluster.cordon(world.cluster.nodes[N1])
    world.cluster.break_next("uncordon")
    world.run(world.worker())

    assert world.state() is RunState.FAILED
    assert world.cluster.nodes[N1].cordoned == cordoned_before
    assert world.steps()[DESTROY][1].endswith("what the drain cordoned is uncordoned again")
    assert operations(world)[-1] == ("n1", "uncordon", "done")
    assert world.provisioner.submissions == []


def test_what_is_known_to_be_refused_is_refused_before_the_first_server(worlds: Worlds) -> None:
    world = worlds(targets=("n3", "n1"))
    world.etcd.form(ETCD, "n1", "n2", "n3", dead=["n3"])
    world.run(world.worker())

    assert world.state() is RunState.FAILED
    assert "The etcd member on n" in world.steps()[CHECK][1]
    assert "the rest would have no quorum" in world.steps()[CHECK][1]
    assert (world.cluster.log, world.etcd.log, world.provisioner.submissions) == ([], [], [])


def test_a_budget_of_the_last_batch_is_known_before_the_first_server(worlds: Worlds) -> None:
    world = worlds(targets=("n1", "n2", "n3"))
    world.cluster.pods[NodeName("n3")].append(pod("db", labels={"app": "db"}))
    world.cluster.budgets = [budget("db", allowed=0, expected=1)]
    world.run(world.worker())

    assert "n3 cannot be drained: default/db: budget default/db allows" in world.steps()[CHECK][1]
    assert (world.state(), world.cluster.log, world.provisioner.submissions) == (RunState.FAILED, [], [])


def test_a_member_that_the_rest_cannot_spare_is_waited_for_and_nothing_is_cleared(worlds: Worlds) -> None:
    world = worlds(inputs={"limits": replace(TeardownLimits(), clear_labels=60).to_json(), "force": True})
    world.etcd.form(ETCD, "n1", "n2", "n3", dead=["n3"])
    world.run(world.worker())

    assert world.state() is RunState.FAILED
    assert ended(world)["clear-labels"] == "refused"
    assert "the rest would have no quorum" in world.steps()[DESTROY][1]
    assert (world.cluster.changes("clear"), world.etcd.log, world.provisioner.submissions) == ([], [], [])
    assert world.cluster.changes("uncordon") == ["n1"]


def test_a_silent_provisioner_is_shown_as_what_the_node_waits_for(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.break_next("submit")
    world.provisioner.break_next("report", times=2)
    answers = set[str]()

    def look() -> None:
        with world.store().begin() as tx:
            record = tx.actions.get(world.action)
        answers.update({record.waiting_for.last_answer} if record and record.waiting_for else ())

    world.run(world.worker(), each_time=look)

    assert any("submit" in answer and "broken on purpose" in answer for answer in answers)
    waits = [one.reasons for one in world.facts("teardown_waits") if one.operation.value == "destroy-node"]
    assert world.state() is RunState.SUCCESS
    # The submission without an outcome, then the polls without an answer; each ends when its answer comes.
    assert ["broken on purpose" in one[0] if one else "" for one in waits] == [True, "", True, ""]


def test_a_member_that_comes_back_while_waiting_lets_the_teardown_go_on(worlds: Worlds) -> None:
    world = worlds(inputs={"force": True})
    world.etcd.form(ETCD, "n1", "n2", "n3", dead=["n3"])
    begun = world.clock.now()

    def heal() -> None:
        if (world.clock.now() - begun).total_seconds() > 120:
            world.etcd.form(ETCD, *(one.name for one in world.etcd.members[ETCD]))

    world.run(world.worker(), each_time=heal)
    assert world.state() is RunState.SUCCESS


def test_the_anchor_takes_the_member_out_when_its_label_goes(worlds: Worlds) -> None:
    world = worlds()
    world.cluster.cleared = world.etcd.leave
    world.run(world.worker())

    assert (world.state(), world.etcd.log) == (RunState.SUCCESS, [])


def test_a_member_that_something_adds_again_fails_the_teardown_before_the_host(worlds: Worlds) -> None:
    world = worlds()

    def anchor() -> None:
        members = world.etcd.members[ETCD]
        if world.etcd.log and len(members) == 2:
            members.append(EtcdMember(MemberId("new"), "n1", MemberState.HEALTHY))

    world.run(world.worker(), each_time=anchor)
    assert "has a member on n1 again" in world.steps()[DESTROY][1]
    assert world.provisioner.submissions == []


def test_a_drain_never_runs_again_once_etcd_removal_has_begun(worlds: Worlds) -> None:
    world = worlds()
    world.etcd.break_next("remove")
    world.run(world.worker(), each_time=lambda: world.control(Control.STOP) if world.etcd.transfers else None)
    assert world.state() is RunState.FAILED
    assert ended(world)["clear-labels"] == "done"

    world.cluster.pods[N1].append(pod("late"))
    world.create(ActionId("1" * 26))
    world.run(world.worker())

    assert ended(world)["drain"] == "skipped"
    assert world.cluster.changes("evict") == ["default/n1-a", "default/n1-b"]
    assert "1 pod(s) are still on the node: default/late" in world.steps()[DESTROY][1]
    assert world.provisioner.submissions == []


def test_what_may_not_be_torn_down_is_refused_before_anything_unless_forced(worlds: Worlds) -> None:
    world = worlds(genesis="n1")
    world.run(world.worker())
    assert (world.state(), world.cluster.log, world.provisioner.submissions) == (RunState.FAILED, [], [])
    assert "genesis" in world.steps()[CHECK][1]

    world = worlds(genesis="n1", inputs={"force": True})
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS
    assert world.etcd.log == [(ETCD, f"{ETCD}-n1")]


def test_a_server_that_was_deployed_and_is_not_in_the_cluster_is_left_alone(worlds: Worlds) -> None:
    world = worlds()
    world.run(world.worker())
    world.create(ActionId("1" * 26))
    world.run(world.worker())

    assert world.state() is RunState.FAILED
    assert "drain: Kubernetes does not know the node" in world.steps()[DESTROY][1]
    assert world.provisioner.sent(Operation.DESTROY_NODES) == [N1]


def test_a_stop_in_a_drain_ends_it_and_leaves_the_node_cordoned(worlds: Worlds) -> None:
    world = worlds(inputs={"force": True})
    world.cluster.pods[N1].append(pod("db", labels={"app": "db"}))
    world.cluster.budgets = [budget("db", allowed=0, expected=1)]
    stopped: list[float] = []

    def stop() -> None:
        if world.facts("teardown_waits") and not stopped and world.control(Control.STOP):
            stopped.append(world.clock.seconds)

    worker = world.worker()
    for _ in range(3):  # no time passes
        world.deliver(worker)
    (waits,) = world.facts("teardown_waits")
    assert waits.reasons == (
        "default/db: budget default/db allows no disruption at all (healthy pods: 1, needed: 1, expected: 1): "
        "this will not end by itself",
    )
    world.run(worker, each_time=stop)
    assert world.state() is RunState.FAILED
    assert world.clock.seconds - stopped[0] < 10
    assert world.cluster.nodes[N1].cordoned
    assert world.provisioner.submissions == []


def test_a_hold_ends_the_teardown_before_the_next_effect(worlds: Worlds) -> None:
    """Where a failure would only be a warning: at the kubelet."""
    world = worlds()
    placed: list[int] = []

    def hold() -> None:
        if (N1, "await-etcd", "done") in operations(world) and not placed:
            with world.store().begin() as tx:
                tx.holds.place(NewHold(N1, HoldKind.OPERATOR, "memory errors", "bob"))
            placed.append(len(world.cluster.log))

    world.run(world.worker(), each_time=hold)
    assert world.state() is RunState.FAILED
    assert "memory errors" in world.steps()[DESTROY][1]
    assert len(world.cluster.log) == placed[0]
    assert world.provisioner.submissions == []


def test_a_stop_while_the_host_is_destroyed_leaves_a_straggler(worlds: Worlds) -> None:
    world = worlds()
    world.provisioner.running_reports = 99
    world.run(world.worker(), each_time=lambda: world.control(Control.STOP) if world.provisioner.submissions else None)

    assert world.state() is RunState.FAILED
    with world.store().begin() as tx:
        assert [(one.work.operation, one.work.nodes) for one in tx.stragglers.open()] == [
            (Operation.DESTROY_NODES, (N1,))
        ]
