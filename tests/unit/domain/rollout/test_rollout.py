"""Deploying group by group (design: Process, Example Processing, Criticality, Dependencies, Notes)."""

from collections.abc import Iterable

import pytest

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import Criterion, Shortfall
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.strategy.strategy import GroupName, check_groups
from tests.factories import five_groups_inventory, five_groups_strategy, group, group_entry, play, rollout, strategy
from tests.unit.tables import every_row

PREPARE, DEPLOY = Phase.PREPARE, Phase.DEPLOY


def move(name: str, phase: Phase, nodes: str = "") -> Move:
    return Move(GroupName(name), phase, tuple(NodeName(node) for node in nodes.split()))


def nodes(subject: Rollout) -> dict[str, str]:
    return {name: subject.nodes[name].value for name in sorted(subject.nodes)}


def groups(subject: Rollout) -> dict[str, str]:
    return {name: status.value for name, status in subject.groups.items()}


def reasons(subject: Rollout) -> dict[str, str]:
    return {name: reason.value for name, reason in subject.reasons.items()}


def order(moves: Iterable[Move]) -> list[str]:
    return [f"{one.phase.value} {one.group}" for one in moves]


# --- The worked examples ----------------------------------------------------------------------------------------------


def example() -> Rollout:
    site, plan = five_groups_inventory(), five_groups_strategy()
    return Rollout(plan, {entry.name: select(entry.selectors, site) for entry in plan.groups})


CONTROL = "control01 control02 control03 control04"
COMPUTE_1 = "compute11 compute12 compute13 compute14"
COMPUTE_2 = "compute21 compute22 compute23 compute24"
MONITORING = "monitoring01 monitoring02 monitoring03"


def test_the_selectors_of_the_example_combine_tags_racks_and_names() -> None:
    assert {name: " ".join(sorted(found)) for name, found in example().members.items()} == {
        "control-nodes": CONTROL,
        "compute-nodes-1": COMPUTE_1,
        "compute-nodes-2": COMPUTE_2,
        "monitoring-nodes": MONITORING,
        "ntp-node": "ntp01",
    }


def test_first_worked_example_everything_succeeds() -> None:
    subject = example()

    moves, _ = play(subject)

    assert sorted(order(moves)) == sorted(
        f"{phase} {name}" for name in subject.groups for phase in ("prepare", "deploy")
    )
    assert set(groups(subject).values()) == {"success"}
    assert set(nodes(subject).values()) == {"success"}
    assert subject.verdict() is Verdict.SUCCESS


def test_second_worked_example_a_failed_prepare_of_ntp_fails_all_that_depend_on_it() -> None:
    subject = example()

    moves, _ = play(subject, fail="prepare:ntp01")

    assert sorted(order(moves)) == ["deploy monitoring-nodes", "prepare monitoring-nodes", "prepare ntp-node"]
    assert groups(subject) == {
        "control-nodes": "failed",
        "compute-nodes-1": "failed",
        "compute-nodes-2": "failed",
        "monitoring-nodes": "success",
        "ntp-node": "failed",
    }
    assert reasons(subject) == {
        "ntp-node": "prepare",
        "control-nodes": "dependency",
        "compute-nodes-1": "dependency",
        "compute-nodes-2": "dependency",
    }
    assert nodes(subject) == {
        "ntp01": "failure",
        **dict.fromkeys(MONITORING.split(), "success"),
        **dict.fromkeys(f"{CONTROL} {COMPUTE_1} {COMPUTE_2}".split(), "not_started"),
    }
    assert subject.verdict() is Verdict.FAILED


def test_third_worked_example_a_failed_deploy_of_compute_2_leaves_the_rest_and_the_verdict_alone() -> None:
    subject = example()

    moves, _ = play(subject, fail=" ".join(f"deploy:{name}" for name in COMPUTE_2.split()))

    assert len(moves) == 10
    assert groups(subject) == {
        "control-nodes": "success",
        "compute-nodes-1": "success",
        "compute-nodes-2": "failed",
        "monitoring-nodes": "success",
        "ntp-node": "success",
    }
    assert reasons(subject) == {"compute-nodes-2": "deploy"}
    assert [name for name, status in nodes(subject).items() if status == "failure"] == COMPUTE_2.split()
    assert subject.verdict() is Verdict.SUCCESS


def test_every_criterion_of_the_control_group_of_the_example_must_hold() -> None:
    subject = example()

    _, facts = play(subject, fail="deploy:control01")

    (failed,) = [fact for fact in facts if isinstance(fact, GroupChanged) and fact.reason is Reason.DEPLOY]
    assert failed.group == "control-nodes"
    assert failed.shortfalls == (Shortfall(Criterion.PERCENT, needed=90, actual=75),)
    assert subject.verdict() is Verdict.FAILED


# --- Large strategies -------------------------------------------------------------------------------------------------


def test_a_chain_of_5_000_groups_runs_up_to_its_failure_and_fails_from_there_to_its_end() -> None:
    chain = [group_entry(f"g{n}", depends_on=[f"g{n - 1}"] if n else []) for n in range(5_000)]
    assert check_groups({"groups": chain}) == ()
    plan = strategy(*(group(entry["name"], after=entry["depends_on"], percent=100) for entry in reversed(chain)))
    subject = Rollout(plan, {entry.name: [NodeName(f"n-{entry.name}")] for entry in plan.groups})

    moves, facts = play(subject, fail="prepare:n-g2500")

    assert [one.group for one in moves[::2]] == [f"g{n}" for n in range(2_501)]
    assert list(subject.groups.values()).count(GroupStatus.SUCCESS) == 2_500
    assert len([fact for fact in facts if isinstance(fact, GroupChanged) and fact.reason]) == 2_500


def diamond(layers: int, width: int) -> list[tuple[str, list[str]]]:
    """Return names and parents of a graph whose every layer waits for all of the layer before."""
    return [
        (f"{layer}.{column}", [f"{layer - 1}.{above}" for above in range(width)] if layer else [])
        for layer in range(layers)
        for column in range(width)
    ]


def test_a_failure_inside_a_diamond_fails_every_layer_below_it_once() -> None:
    graph = diamond(30, 8)
    subject = Rollout(
        strategy(*(group(name, after=parents, percent=100) for name, parents in graph)),
        {GroupName(name): [NodeName(f"n{name}")] for name, _ in graph},
    )

    _, facts = play(subject, fail="prepare:n10.3")

    failed = [fact.group for fact in facts if isinstance(fact, GroupChanged) and fact.status is GroupStatus.FAILED]
    assert sorted(failed) == sorted(["10.3", *(name for name, _ in graph if int(name.split(".")[0]) > 10)])


# --- What is sent -----------------------------------------------------------------------------------------------------


def test_a_success_of_a_node_that_was_not_sent_changes_nothing() -> None:
    subject = rollout((group("a"), "n1"), (group("b"), "n2"))
    subject.start(move("a", PREPARE, "n1"))

    subject.finish(move("a", PREPARE, "n1"), Outcome(frozenset({NodeName("n1"), NodeName("n2"), NodeName("stranger")})))

    assert nodes(subject) == {"n1": "prepared", "n2": "not_started"}


# --- Judging a group --------------------------------------------------------------------------------------------------


def test_criteria_are_judged_after_prepare_and_a_failure_skips_deploy() -> None:
    subject = rollout((group("a", percent=75), "n1 n2"))

    moves, facts = play(subject, fail="prepare:n2")

    assert order(moves) == ["prepare a"]
    assert facts[-1] == GroupChanged(
        GroupName("a"),
        GroupStatus.FAILED,
        Reason.PREPARE,
        "percent_successful_nodes is 50%, at least 75% needed",
        (Shortfall(Criterion.PERCENT, needed=75, actual=50),),
    )
    assert nodes(subject) == {"n1": "prepared", "n2": "failure"}


# --- Time limits ------------------------------------------------------------------------------------------------------


@every_row(["prepare", "deploy"])
def test_a_group_whose_time_is_up_has_failed_whatever_its_criteria(phase: str) -> None:
    subject = rollout((group("slow"), "n1"), (group("child", after=["slow"]), "n2"), (group("other"), "n3"))

    moves, facts = play(subject, time_out=f"{phase}:slow")

    assert reasons(subject) == {"slow": "timeout", "child": "dependency"}
    assert groups(subject)["other"] == "success"
    assert ("deploy slow" in order(moves)) is (phase == "deploy")
    assert GroupChanged(
        GroupName("slow"),
        GroupStatus.FAILED,
        Reason.TIMEOUT,
        f"{phase} did not end within its time limit",
    ) in [fact for fact in facts if isinstance(fact, GroupChanged)]


def test_nodes_that_were_done_when_the_time_was_up_keep_their_status_and_count_for_other_groups() -> None:
    subject = rollout((group("slow"), "n1 n2"), (group("other", minimum=1), "n1"))
    subject.start(move("slow", PREPARE, "n1 n2"))

    facts = subject.finish(move("slow", PREPARE, "n1 n2"), Outcome(frozenset({NodeName("n1")}), timed_out=True))

    assert nodes(subject) == {"n1": "prepared", "n2": "failure"}
    assert NodesChanged(GroupName("slow"), PREPARE, NodeStatus.FAILURE, (NodeName("n2"),), True) in facts
    moves, _ = play(subject)
    assert moves == [move("other", PREPARE), move("other", DEPLOY, "n1")]
    assert groups(subject) == {"slow": "failed", "other": "success"}


# --- Refusals ---------------------------------------------------------------------------------------------------------


@every_row([PREPARE, DEPLOY])
def test_a_refused_move_fails_its_group_and_descendants_and_leaves_its_nodes_to_others(phase: Phase) -> None:
    subject = rollout((group("a"), "n1"), (group("b", after=["a"]), "n2"), (group("c"), "n1 n3"))
    sent_as = "not_started"
    if phase is DEPLOY:
        subject.start(move("a", PREPARE, "n1"))
        subject.finish(move("a", PREPARE, "n1"), Outcome(frozenset({NodeName("n1")})))
        sent_as = "prepared"

    facts = subject.refuse(move("a", phase, "n1"), "no")

    assert [fact.group for fact in facts if isinstance(fact, GroupChanged)] == ["a", "b"]
    assert nodes(subject)["n1"] == sent_as
    assert reasons(subject) == {"a": "refused", "b": "dependency"}
    assert order(play(subject)[0]) == ["prepare c", "deploy c"]
    assert groups(subject) == {"a": "failed", "b": "failed", "c": "success"}
    assert nodes(subject) == {"n1": "success", "n2": "not_started", "n3": "success"}


# --- Holds ------------------------------------------------------------------------------------------------------------


@every_row([PREPARE, DEPLOY])
def test_held_nodes_fail_in_all_their_groups_and_the_rest_of_the_move_is_sent(phase: Phase) -> None:
    subject = rollout((group("a", minimum=1), "n1 n2"), (group("b", percent=50), "n1 n3"))
    if phase is DEPLOY:
        subject.start(move("a", PREPARE, "n1 n2"))
        subject.finish(move("a", PREPARE, "n1 n2"), Outcome(frozenset(map(NodeName, ("n1", "n2")))))

    facts = subject.hold(move("a", phase, "n1 n2"), {NodeName("n1"): "held", NodeName("other"): "held"})

    held = NodesChanged(
        GroupName("a"), phase, NodeStatus.FAILURE, (NodeName("n1"),), reasons={NodeName("n1"): "held"}, held=True
    )
    assert [fact for fact in facts if isinstance(fact, NodesChanged)] == [held]
    assert held.reason == "held"
    assert subject.next_move() == move("a", phase, "n2")
    play(subject)
    assert nodes(subject) == {"n1": "failure", "n2": "success", "n3": "success"}
    assert groups(subject) == {"a": "success", "b": "success"}


def test_a_group_fails_by_its_criteria_if_too_many_of_its_nodes_are_held() -> None:
    subject = rollout((group("a", percent=100), "n1 n2"), (group("b", after=["a"]), "n3"), (group("c"), "n2"))

    subject.hold(move("a", PREPARE, "n1 n2"), {NodeName("n1"): "held"})
    play(subject)
    assert groups(subject) == {"a": "failed", "b": "failed", "c": "success"}

    everything = rollout((group("a", percent=100), "n1"))
    facts = everything.hold(move("a", PREPARE, "n1"), {NodeName("n1"): "held"})
    assert [fact.status.value for fact in facts if isinstance(fact, GroupChanged)] == ["preparing", "failed"]
    assert everything.done


# --- Queues -----------------------------------------------------------------------------------------------------------


@every_row([(PREPARE, "not_started"), (DEPLOY, "prepared")])
def test_a_phase_that_never_begins_fails_its_group_and_leaves_its_nodes_as_they_are(phase: Phase, status: str) -> None:
    other = (group("other", minimum=1), "n2")
    subject = rollout((group("slow"), "n1 n2"), (group("child", after=["slow"]), "n1"), other)
    if phase is DEPLOY:
        subject.start(move("slow", PREPARE, "n1 n2"))
        subject.finish(move("slow", PREPARE, "n1 n2"), Outcome(frozenset(map(NodeName, ("n1", "n2")))))
    subject.start(move("slow", phase, "n1 n2"))

    facts = subject.finish(move("slow", phase, "n1 n2"), Outcome(why="behind job 4", never_begun=True))

    sent = (NodeName("n1"), NodeName("n2"))
    told = dict.fromkeys(sent, "behind job 4")
    assert facts == (
        NodesChanged(GroupName("slow"), phase, NodeStatus(status), sent, timed_out=True, reasons=told),
        GroupChanged(GroupName("slow"), GroupStatus.FAILED, Reason.QUEUE_TIMEOUT, "behind job 4"),
        GroupChanged(GroupName("child"), GroupStatus.FAILED, Reason.DEPENDENCY, "depends on slow, which failed"),
    )
    # The job may still begin, so no other group sends these nodes; each is judged by what they are.
    moves, _ = play(subject)
    assert [one for one in moves if one.nodes] == []
    assert nodes(subject) == {"n1": status, "n2": status}
    assert reasons(subject)["other"] == ("prepare" if phase is PREPARE else "deploy")


# --- Facts ------------------------------------------------------------------------------------------------------------


def test_the_facts_of_a_group_tell_its_story_in_order() -> None:
    subject = rollout((group("a"), "n1 n2"))

    _, facts = play(subject, fail="deploy:n2")

    name, n1, n2 = GroupName("a"), NodeName("n1"), NodeName("n2")
    expected: list[Fact] = [
        GroupChanged(name, GroupStatus.PREPARING),
        NodesChanged(name, PREPARE, NodeStatus.PREPARED, (n1, n2)),
        GroupChanged(name, GroupStatus.DEPLOYING),
        NodesChanged(name, DEPLOY, NodeStatus.SUCCESS, (n1,)),
        NodesChanged(name, DEPLOY, NodeStatus.FAILURE, (n2,)),
        GroupChanged(name, GroupStatus.SUCCESS),
    ]
    assert facts == expected


def test_what_the_provisioner_said_of_failed_nodes_is_kept() -> None:
    subject = rollout((group("a"), "n1 n2 n3"))
    subject.start(move("a", PREPARE, "n1 n2 n3"))
    said = {NodeName("n1"): "was fine", NodeName("n2"): "no power"}

    *_, told, _deploying = subject.finish(
        move("a", PREPARE, "n1 n2 n3"), Outcome(frozenset({NodeName("n1")}), reasons=said)
    )

    assert isinstance(told, NodesChanged)
    assert told.nodes == ("n2", "n3")
    assert told.reasons == {"n2": "no power"}


# --- Misuse and resuming ----------------------------------------------------------------------------------------------


@every_row(
    {
        "deploy before prepare": move("a", DEPLOY, "n1"),
        "group that still waits": move("b", PREPARE, "n2"),
        "other nodes": move("a", PREPARE),
    },
)
def test_only_the_next_move_can_be_started(wrong: Move) -> None:
    subject = rollout((group("a"), "n1"), (group("b", after=["a"]), "n2"))

    with pytest.raises(ValueError, match="is not the next move"):
        subject.start(wrong)
    with pytest.raises(ValueError, match="is not the next move"):
        subject.refuse(wrong, "no")
    with pytest.raises(ValueError, match="is not the next move"):
        subject.hold(wrong, {})


def test_nothing_can_be_finished_that_was_not_started() -> None:
    with pytest.raises(ValueError, match="prepare of a is not running"):
        rollout((group("a"), "n1")).finish(move("a", PREPARE, "n1"), Outcome())
    with pytest.raises(ValueError, match="prepare of a is not running"):
        rollout((group("a"), "n1")).progress(move("a", PREPARE, "n1"), Outcome())


@every_row(
    {
        "every node counts": ({"percent": 100}, "", "deploy:n1", "failed"),
        "a failed preparation that does not count": ({"percent": 100}, "n1", "prepare:n1", "success"),
        "a failed deployment that does not count": ({"percent": 100}, "n1", "deploy:n1", "success"),
        "a success that does not count": ({"percent": 100}, "n2", "deploy:n1", "failed"),
        "no failure": ({"maximum_failed": 0}, "n1", "deploy:n1", "success"),
        "no success": ({"minimum": 2}, "n1", "", "failed"),
        "the other one is enough": ({"minimum": 1}, "n1", "deploy:n1", "success"),
        "nothing counts: as without nodes": ({"percent": 100}, "n1 n2", "prepare:n1 prepare:n2", "success"),
        "a minimum of nothing": ({"minimum": 1}, "n1 n2", "", "failed"),
        "no criteria": ({}, "n1", "prepare:n1 prepare:n2", "success"),
    },
)
def test_an_uncounted_node_is_neither_a_success_nor_a_failure(
    criteria: dict[str, int], uncounted: str, fail: str, status: str
) -> None:
    subject = rollout((group("a", **criteria), "n1 n2"))
    subject.leave_out(map(NodeName, uncounted.split()))
    moves, _ = play(subject, fail=fail)

    assert groups(subject) == {"a": status}
    assert {node for one in moves for node in one.nodes} == {"n1", "n2"}
