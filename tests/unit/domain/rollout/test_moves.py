"""Several groups and nodes in flight, and nodes deployed as they are prepared (product, section 3, beyond the seed)."""

from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.moves import Mode, Move, OnTimeout, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy
from tests.factories import group

PREPARE, DEPLOY = Phase.PREPARE, Phase.DEPLOY


def names(words: str) -> tuple[NodeName, ...]:
    return tuple(map(NodeName, words.split()))


def move(name: str, phase: Phase, nodes: str = "", batch: int = 1) -> Move:
    return Move(GroupName(name), phase, names(nodes), batch)


def rollout(mode: Mode, *groups: tuple[DeploymentGroup, str]) -> Rollout:
    return Rollout(
        Strategy(tuple(entry for entry, _ in groups)), {entry.name: names(held) for entry, held in groups}, mode
    )


def done(words: str, *, timed_out: bool = False) -> Outcome:
    return Outcome(frozenset(names(words)), timed_out)


def begin(subject: Rollout) -> list[Move]:
    """Start every move that may be started now."""
    moves = []
    while (one := subject.next_move()) is not None:
        subject.start(one)
        moves.append(one)
    return moves


# --- Groups at the same time ------------------------------------------------------------------------------------------


def test_as_many_groups_run_at_once_as_are_allowed_in_the_order_of_the_document() -> None:
    subject = rollout(
        Mode(max_parallel_groups=2), (group("a"), "n1"), (group("b"), "n2"), (group("c", after=["a"]), "n3")
    )

    assert begin(subject) == [move("a", PREPARE, "n1"), move("b", PREPARE, "n2")]
    subject.finish(move("a", PREPARE, "n1"), done("n1"))
    assert begin(subject) == [move("a", DEPLOY, "n1")]
    subject.finish(move("a", DEPLOY, "n1"), done("n1"))
    assert begin(subject) == [move("c", PREPARE, "n3")]


def test_a_node_of_two_running_groups_is_sent_by_the_first_and_awaited_by_the_other() -> None:
    subject = rollout(Mode(max_parallel_groups=2), (group("a"), "n1"), (group("b", minimum=2), "n1 n2"))
    assert begin(subject) == [move("a", PREPARE, "n1"), move("b", PREPARE, "n2")]

    subject.finish(move("b", PREPARE, "n2"), done("n2"))
    assert begin(subject) == []
    assert subject.groups[GroupName("b")] is GroupStatus.PREPARING

    facts = subject.finish(move("a", PREPARE, "n1"), done("n1"))
    assert GroupChanged(GroupName("b"), GroupStatus.DEPLOYING) in facts
    assert begin(subject) == [move("a", DEPLOY, "n1"), move("b", DEPLOY, "n2")]


def test_a_node_is_not_deployed_by_a_later_group_while_an_earlier_one_prepares() -> None:
    # n1 fails in deploy: were g3 to send it now, g0 would miss its criteria in prepare and leave n3 prepared.
    mode = Mode(max_parallel_groups=2, max_nodes_in_flight=2, deploy_as_prepared=True)
    g0 = (group("g0", critical=True, percent=99), "n1 n2 n3")
    subject = rollout(mode, g0, (group("g1"), ""), (group("g3", after=["g1"]), "n1 n2 n3"))
    moves = begin(subject)
    while subject.running:
        first = subject.running[0]
        fails = {NodeName("n1")} if first.phase is DEPLOY else set()
        subject.finish(first, Outcome(frozenset(first.nodes) - fails))
        moves += begin(subject)

    assert [(one.group, one.phase, one.nodes) for one in moves if one.nodes] == [
        ("g0", PREPARE, ("n1", "n2")),
        ("g0", PREPARE, ("n3",)),
        ("g0", DEPLOY, ("n1", "n2")),
        ("g0", DEPLOY, ("n3",)),
    ]
    assert [subject.nodes[node] for node in names("n1 n2 n3")] == [
        NodeStatus.FAILURE,
        NodeStatus.SUCCESS,
        NodeStatus.SUCCESS,
    ]
    assert subject.reasons == {GroupName("g0"): Reason.DEPLOY}


def test_a_group_whose_nodes_are_all_away_for_others_is_judged_when_they_are_back() -> None:
    subject = rollout(Mode(max_parallel_groups=2), (group("a"), "n1"), (group("b", minimum=1), "n1"))
    assert begin(subject) == [move("a", PREPARE, "n1"), move("b", PREPARE)]

    facts = subject.finish(move("a", PREPARE, "n1"), done(""))

    assert [(fact.group, fact.reason) for fact in facts if isinstance(fact, GroupChanged) and fact.reason] == [
        ("b", Reason.PREPARE)
    ]
    assert subject.groups == {"a": GroupStatus.SUCCESS, "b": GroupStatus.FAILED}


def test_a_group_that_failed_holds_its_place_until_its_nodes_are_back() -> None:
    subject = rollout(Mode(max_nodes_in_flight=2), (group("a", maximum_failed=0), "n1 n2 n3"), (group("b"), "n4"))
    assert begin(subject) == [move("a", PREPARE, "n1 n2")]
    subject.progress(move("a", PREPARE, "n1 n2"), done("n1"))
    assert begin(subject) == [move("a", PREPARE, "n3", batch=2)]

    facts = subject.finish(move("a", PREPARE, "n3", batch=2), done("", timed_out=True))

    assert GroupStatus.FAILED in [fact.status for fact in facts if isinstance(fact, GroupChanged)]
    assert begin(subject) == []
    assert not subject.done
    facts = subject.finish(move("a", PREPARE, "n1 n2"), done("n2"))
    assert facts == (NodesChanged(GroupName("a"), PREPARE, NodeStatus.PREPARED, names("n2")),)
    assert begin(subject) == [move("b", PREPARE, "n4")]


# --- Nodes in flight --------------------------------------------------------------------------------------------------


def test_a_large_group_is_sent_in_batches_as_nodes_come_back() -> None:
    subject = rollout(Mode(max_nodes_in_flight=2), (group("a"), "n1 n2 n3 n4 n5"))
    first = move("a", PREPARE, "n1 n2")
    assert begin(subject) == [first]

    subject.progress(first, done("n2"))
    assert begin(subject) == [move("a", PREPARE, "n3", batch=2)]
    subject.finish(first, done("n1 n2"))
    assert begin(subject) == [move("a", PREPARE, "n4", batch=3)]


def test_what_has_begun_is_deployed_before_more_is_prepared() -> None:
    subject = rollout(Mode(max_parallel_groups=2, max_nodes_in_flight=2), (group("a"), "n1 n2"), (group("b"), "n3 n4"))
    assert begin(subject) == [move("a", PREPARE, "n1 n2")]
    subject.finish(move("a", PREPARE, "n1 n2"), done("n1 n2"))
    assert begin(subject) == [move("a", DEPLOY, "n1 n2")]


def test_a_node_that_was_certain_is_not_taken_back_when_the_move_ends() -> None:
    subject = rollout(Mode(max_nodes_in_flight=9), (group("a"), "n1 n2"))
    begin(subject)
    subject.progress(move("a", PREPARE, "n1 n2"), done("n1"))

    facts = subject.finish(move("a", PREPARE, "n1 n2"), done("n2"))

    assert NodesChanged(GroupName("a"), PREPARE, NodeStatus.PREPARED, names("n2")) in facts
    assert subject.nodes == dict.fromkeys(names("n1 n2"), NodeStatus.PREPARED)


def test_progress_that_tells_nothing_new_is_no_fact() -> None:
    subject = rollout(Mode(max_nodes_in_flight=9), (group("a"), "n1 n2"))
    begin(subject)
    running = move("a", PREPARE, "n1 n2")

    assert subject.progress(running, done("")) == ()
    assert subject.progress(running, done("n1 stranger"), names("n9")) != ()
    assert subject.progress(running, done("n1")) == ()


# --- Deploy as prepared -----------------------------------------------------------------------------------------------

STREAMING = Mode(deploy_as_prepared=True)


def test_a_node_is_deployed_as_soon_as_it_is_prepared_where_no_criterion_can_be_missed() -> None:
    subject = rollout(STREAMING, (group("a"), "n1 n2 n3"))
    prepare = move("a", PREPARE, "n1 n2 n3")
    assert begin(subject) == [prepare]

    facts = subject.progress(prepare, done("n2"))

    assert facts[-1] == GroupChanged(GroupName("a"), GroupStatus.DEPLOYING)
    assert begin(subject) == [move("a", DEPLOY, "n2")]
    subject.progress(prepare, done("n1 n2"), names("n3"))
    assert begin(subject) == [move("a", DEPLOY, "n1", batch=2)]
    subject.finish(prepare, done("n1 n2"))
    subject.finish(move("a", DEPLOY, "n2"), done("n2"))
    assert subject.groups[GroupName("a")] is GroupStatus.DEPLOYING
    subject.finish(move("a", DEPLOY, "n1", batch=2), done("n1"))
    assert subject.groups[GroupName("a")] is GroupStatus.SUCCESS
    assert subject.done


def test_nodes_that_fail_early_do_not_fail_the_group_before_all_are_known() -> None:
    subject = rollout(STREAMING, (group("a", maximum_failed=0), "n1 n2"))
    begin(subject)
    prepare = move("a", PREPARE, "n1 n2")

    facts = subject.progress(prepare, done(""), names("n1"))

    assert [fact for fact in facts if isinstance(fact, GroupChanged)] == []
    subject.finish(prepare, done("n2"))
    assert subject.reasons == {"a": Reason.PREPARE}
    assert begin(subject) == []


def test_after_a_timeout_of_prepare_nothing_more_is_sent_and_what_is_away_still_counts() -> None:
    subject = rollout(STREAMING, (group("a"), "n1 n2 n3"), (group("b"), "n1 n2"))
    prepare = move("a", PREPARE, "n1 n2 n3")
    begin(subject)
    subject.progress(prepare, done("n1"))
    assert begin(subject) == [move("a", DEPLOY, "n1")]

    subject.finish(prepare, done("n1 n2", timed_out=True))

    assert subject.reasons == {"a": Reason.TIMEOUT}
    assert begin(subject) == []
    subject.finish(move("a", DEPLOY, "n1"), done("n1"))
    assert subject.nodes[NodeName("n1")] is NodeStatus.SUCCESS
    assert begin(subject) == [move("b", PREPARE), move("b", DEPLOY, "n2")]


# --- Timeouts by criteria ---------------------------------------------------------------------------------------------


def test_where_the_site_wants_it_the_criteria_judge_a_phase_whose_time_is_up() -> None:
    mode = Mode(on_timeout=OnTimeout.JUDGE_CRITERIA)
    subject = rollout(mode, (group("a", minimum=1), "n1 n2"), (group("b", minimum=1), "n3"))
    begin(subject)

    facts = subject.finish(move("a", PREPARE, "n1 n2"), done("n1", timed_out=True))

    assert NodesChanged(GroupName("a"), PREPARE, NodeStatus.FAILURE, names("n2"), timed_out=True) in facts
    assert begin(subject) == [move("a", DEPLOY, "n1")]
    subject.finish(move("a", DEPLOY, "n1"), done("n1"))
    begin(subject)
    subject.finish(move("b", PREPARE, "n3"), done("", timed_out=True))
    assert subject.groups == {"a": GroupStatus.SUCCESS, "b": GroupStatus.FAILED}
    assert subject.reasons == {"b": Reason.PREPARE}
