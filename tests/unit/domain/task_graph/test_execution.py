"""Carrying out a plan: what begins when, and what the failure of a node means to others."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.execution import MOST_NODES, Execution, Piece, Rules
from shipyard_api.domain.task_graph.roles import ClusterNode
from tests.task_graphs import PUPPET, SEED_GRAPH, graph, group, task
from tests.task_plans import SEED_NODES, node, planned


def begun(entries: Sequence[Mapping[str, Any]], nodes: Sequence[ClusterNode]) -> tuple[Execution, tuple[Piece, ...]]:
    made = planned(list(entries), nodes)
    rules = Rules.of(graph(*entries), made)
    return Execution(tuple(batch.runs for batch in made.batches), rules).advance()


def played(
    execution: Execution, pieces: tuple[Piece, ...], failing: frozenset[tuple[str, str]] = frozenset(), seed: int = 0
) -> tuple[Execution, list[tuple[str, str]]]:
    """End pieces in any order until nothing is left; return every (task, node) in the order of its begin."""
    chance = random.Random(seed)
    waiting = list(pieces)
    story = [(piece.task, name) for piece in pieces for name in piece.nodes]
    while waiting:
        ended = waiting.pop(chance.randrange(len(waiting)))
        failures = {one: "exit 1" for one in ended.nodes if (ended.task, one) in failing}
        execution, pieces = execution.advance([(ended.place, failures)])
        waiting += pieces
        story += [(piece.task, name) for piece in pieces for name in piece.nodes]
    assert execution.has_ended
    return execution, story


def test_the_worked_example_of_the_seed_runs_two_tasks_on_each_node_in_five_batches() -> None:
    execution, first = begun(SEED_GRAPH, SEED_NODES)
    assert [(piece.task, piece.nodes) for piece in first] == [("setup_network", ("node-1",))]

    ended, story = played(execution, first)

    assert ended.stopped is None
    assert ended.failed == {}
    nodes = [name for task_name, name in story if task_name == "setup_services"]
    assert [set(nodes[:1]), set(nodes[1:3]), set(nodes[3:5]), set(nodes[5:7]), set(nodes[7:])] == [
        {"node-1"},
        {"node-4", "node-2"},
        {"node-3", "node-5"},
        {"node-6", "node-7"},
        {"node-8"},
    ]
    assert len(story) == len(set(story)) == 16


WIDE = (
    group("a", role=["a"], fault_tolerance=2),
    group("b", role=["b"], requires=["a"]),
    task("one", groups=["a", "b"], parameters=PUPPET),
    task("two", groups=["a", "b"], requires=["one"], parameters=PUPPET),
)


@pytest.mark.parametrize("seed", range(5))
def test_chunks_go_on_by_themselves_and_batches_wait_for_each_other(seed: int) -> None:
    nodes = [node(f"a{number:03}", "a") for number in range(2 * MOST_NODES + 1)] + [node("b1", "b")]
    execution, first = begun(WIDE, nodes)
    assert [len(piece.nodes) for piece in first] == [MOST_NODES, MOST_NODES, 1]

    _, story = played(execution, first, seed=seed)

    at = {one: number for number, one in enumerate(story)}
    assert len(at) == len(story) == 2 * len(nodes)
    assert all(at["one", one.name] < at["two", one.name] for one in nodes)
    assert min(at["one", "b1"], at["two", "b1"]) == len(story) - 2


def failing(task_name: str, *nodes: str) -> frozenset[tuple[str, str]]:
    return frozenset((task_name, one) for one in nodes)


THREE = [node(f"a{number}", "a") for number in range(1, 4)] + [node("b1", "b")]


def test_a_node_that_fails_runs_nothing_more_and_the_others_go_on_within_the_tolerance() -> None:
    ended, story = played(*begun(WIDE, THREE), failing=failing("one", "a1", "a3"))

    assert ended.stopped is None
    assert ended.failed == {"a1": "one: exit 1", "a3": "one: exit 1"}
    assert [one for name, one in story if name == "two"] == ["a2", "b1"]


def test_above_the_tolerance_nothing_begins_any_more() -> None:
    ended, story = played(*begun(WIDE, THREE), failing=failing("one", "a1", "a2", "a3"))

    assert ended.stopped == "3 of 3 nodes of group a failed, and 2 may: a1, a2, a3."
    assert {name for name, _ in story} == {"one"}


def test_failures_add_up_over_tasks_and_chunks() -> None:
    execution, (one,) = begun(WIDE, THREE)
    execution, (two,) = execution.advance([(one.place, {NodeName("a1"): "x"})])
    assert two.nodes == ("a2", "a3")

    execution, more = execution.advance([(two.place, {NodeName("a2"): "y", NodeName("a3"): "y"})])

    assert (more, execution.has_ended) == ((), True)
    assert execution.failed == {"a1": "one: x", "a2": "two: y", "a3": "two: y"}


def test_what_is_under_way_ends_before_a_run_that_was_stopped_has_ended() -> None:
    nodes = [node(f"a{number:03}", "a") for number in range(MOST_NODES + 1)]
    execution, (large, small) = begun([{**WIDE[0], "fault_tolerance": 0}, *WIDE[1:]], nodes)

    execution, more = execution.advance([(small.place, {small.nodes[0]: "x"})])
    assert (more, execution.stopped is None, execution.has_ended) == ((), False, False)

    execution, more = execution.advance([(large.place, {})])
    assert (more, execution.has_ended) == ((), True)


def test_a_group_without_a_limit_may_fail_as_a_whole() -> None:
    entries = (group("a", role=["a"]), *WIDE[1:])
    ended, story = played(*begun(entries, THREE), failing=failing("one", "a1", "a2", "a3"))

    assert ended.stopped is None
    assert ("two", "b1") in story


PRE = task("pre", role="*", stage="pre_deployment", parameters=PUPPET)


def test_a_task_of_no_group_ends_the_run_wherever_it_fails() -> None:
    ended, story = played(*begun([PRE, *WIDE], THREE), failing=failing("pre", "a2"))

    assert ended.stopped == "Task pre belongs to no group, and it failed on a2."
    assert {name for name, _ in story} == {"pre"}


def test_a_task_that_may_fail_costs_its_node_nothing() -> None:
    ended, story = played(*begun([{**PRE, "fail_on_error": False}, *WIDE], THREE), failing=failing("pre", "a2", "b1"))

    assert (ended.stopped, ended.failed) == (None, {})
    assert len(story) == 3 * 4


def test_a_task_with_an_order_of_its_own_counts_for_the_groups_of_its_nodes() -> None:
    entries = (
        {**WIDE[0], "fault_tolerance": "50%"},
        task("own", role="*", version="2.0.0", parameters=PUPPET),
    )
    nodes = [*THREE, node("c1", "c")]

    one_of_three, _ = played(*begun(entries, nodes), failing=failing("own", "a1"))
    two_of_three, _ = played(*begun(entries, nodes), failing=failing("own", "a1", "a2"))
    in_no_group, _ = played(*begun(entries, nodes), failing=failing("own", "c1"))

    assert one_of_three.stopped is None
    assert two_of_three.stopped == "2 of 3 nodes of group a failed, and 1 may: a1, a2."
    assert in_no_group.stopped == "Task own failed on c1, and no group of theirs tolerates it."


def test_a_plan_without_tasks_ends_at_once() -> None:
    execution, pieces = begun(SEED_GRAPH, [])

    assert (execution.has_ended, pieces) == (True, ())
