"""Carrying out a plan: what begins when, and what the failure of a node means to others."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.execution import MOST_NODES, Ended, Execution, Piece, Rules, kept
from shipyard_api.domain.task_graph.roles import ClusterNode
from shipyard_api.domain.task_graph.tasks import TaskId
from tests.task_graphs import PUPPET, SEED_GRAPH, graph, group, task
from tests.task_plans import SEED_NODES, node, planned
from tests.unit.tables import every_row, table

Entries = Sequence[Mapping[str, Any]]
Failing = frozenset[tuple[str, str]]


def begun(
    entries: Entries, nodes: Sequence[ClusterNode], at_once: int = MOST_NODES
) -> tuple[Execution, tuple[Piece, ...]]:
    made = planned(list(entries), nodes)
    return Execution(made.flow, Rules.of(graph(*entries), made.groups, at_once)).advance()


def played(
    execution: Execution,
    pieces: tuple[Piece, ...],
    failing: Failing = frozenset(),
    seed: int = 0,
    meanwhile: Callable[[Sequence[Piece]], None] = lambda pieces: None,
) -> tuple[Execution, list[tuple[str, str]]]:
    """End pieces, whole or in parts, in any order until none is left; return every (task, node) in order of begin."""
    chance = random.Random(seed)
    waiting = list(pieces)
    story = [(piece.task, name) for piece in pieces for name in piece.nodes]
    while waiting:
        meanwhile(waiting)
        piece = waiting.pop(chance.randrange(len(waiting)))
        over = [name for name in piece.nodes if seed == 0 or chance.random() < 0.5]
        rest = tuple(name for name in piece.nodes if name not in over)
        failures = {name: "exit 1" for name in over if (piece.task, name) in failing}
        execution, pieces = execution.advance([Ended(piece.id, failures, (rest,) if rest else ())])
        waiting += pieces
        story += [(new.task, name) for new in pieces if new.goes_on is None for name in new.nodes]
    assert execution.has_ended
    assert len(story) == len(set(story))
    return execution, story


def failing(task_name: str, *nodes: str) -> Failing:
    return frozenset((task_name, one) for one in nodes)


def test_the_worked_example_of_the_seed_runs_two_tasks_on_each_node_group_after_group() -> None:
    execution, first = begun(SEED_GRAPH, SEED_NODES)
    assert [(piece.task, piece.nodes) for piece in first] == [("setup_network", ("node-1",))]

    ended, story = played(execution, first)

    assert (ended.stopped, ended.failed, ended.unmet()) == (None, {}, {})
    nodes = [name for task_name, name in story if task_name == "setup_services"]
    assert [set(nodes[:1]), set(nodes[1:3]), set(nodes[3:5]), set(nodes[5:7]), set(nodes[7:])] == [
        {"node-1"},
        {"node-4", "node-2"},
        {"node-3", "node-5"},
        {"node-6", "node-7"},
        {"node-8"},
    ]
    assert len(story) == 16


WIDE = (
    group("a", role=["a"], fault_tolerance=2),
    group("b", role=["b"], requires=["a"]),
    task("one", groups=["a", "b"], parameters=PUPPET),
    task("two", groups=["a", "b"], requires=["one"], parameters=PUPPET),
)
THREE = [node(f"a{number}", "a") for number in range(1, 4)] + [node("b1", "b")]


@every_row([1, 2])
def test_nodes_go_on_by_themselves_and_a_group_waits_for_the_whole_group_before_it(seed: int) -> None:
    nodes = [node(f"a{number:03}", "a") for number in range(2 * MOST_NODES + 1)] + [node("b1", "b")]
    execution, first = begun(WIDE, nodes, at_once=1000)
    assert [len(piece.nodes) for piece in first] == [MOST_NODES, MOST_NODES, 1]

    _, story = played(execution, first, seed=seed)

    at = {one: number for number, one in enumerate(story)}
    assert len(at) == 2 * len(nodes)
    assert all(at["one", one.name] < at["two", one.name] for one in nodes)
    assert min(at["one", "b1"], at["two", "b1"]) == len(story) - 2


@every_row([1, 2])
def test_an_amount_is_a_rolling_window_and_one_by_one_is_a_window_of_one(seed: int) -> None:
    entries = [
        group("a", amount=3),
        group("b", "one_by_one"),
        *WIDE[2:],
    ]
    nodes = [node(f"{role}{number}", role) for role in "ab" for number in range(8)]
    most = {"a": 0, "b": 0}

    def count(pieces: Sequence[Piece]) -> None:
        inside = [name for piece in pieces for name in piece.nodes]
        for role in most:
            most[role] = max(most[role], sum(name.startswith(role) for name in inside))

    _, story = played(*begun(entries, nodes), seed=seed, meanwhile=count)

    assert most == {"a": 3, "b": 1}
    assert [name for task_name, name in story if task_name == "one" and name[0] == "b"] == [
        f"b{number}" for number in range(8)
    ]
    assert len(story) == 32


@every_row([(1, "a"), (2, "ac"), (3, "abc"), (4, "abc")])
def test_the_first_nodes_of_a_window_begin_whatever_else_they_run(amount: int, names: str) -> None:
    entries = [
        group("g", role=["x", "y"], amount=amount),
        *(task(name, groups=["g"], requires=earlier) for name, earlier in (("one", []), ("two", ["one"]))),
        task("last", role=["x"], version="2.0.0", requires=["two"]),
    ]

    _, pieces = begun(entries, [node("a", "x"), node("c", "y"), node("b", "x")])

    assert sorted((piece.task, name) for piece in pieces for name in piece.nodes) == [("one", name) for name in names]


def test_a_node_that_failed_leaves_its_place_in_a_window_to_the_next() -> None:
    execution, (first,) = begun([group("a", amount=2, fault_tolerance=2), group("b"), *WIDE[2:]], THREE[:3])

    _, (rest, new) = execution.advance([Ended(first.id, {NodeName("a1"): "x"}, ((NodeName("a2"),),))])

    assert (rest.nodes, new.task, new.nodes) == (("a2",), "one", ("a3",))


def test_no_more_nodes_run_tasks_at_once_than_the_run_allows() -> None:
    nodes = [node(f"a{number}", "a") for number in range(9)]

    def check(pieces: Sequence[Piece]) -> None:
        assert sum(len(piece.nodes) for piece in pieces) <= 4

    _, story = played(*begun(WIDE, nodes, at_once=4), seed=1, meanwhile=check)

    assert len(story) == 18


def test_a_node_that_fails_runs_nothing_more_and_the_others_go_on_within_the_tolerance() -> None:
    ended, story = played(*begun(WIDE, THREE), failing=failing("one", "a1", "a3"))

    assert ended.stopped is None
    assert ended.failed == {"a1": "one: exit 1", "a3": "one: exit 1"}
    assert [one for name, one in story if name == "two"] == ["a2", "b1"]
    assert ended.is_good(ended.unmet())


def test_failures_add_up_over_tasks() -> None:
    execution, (one,) = begun(WIDE, THREE)
    execution, (two,) = execution.advance([Ended(one.id, {NodeName("a1"): "x"})])
    assert two.nodes == ("a2", "a3")

    execution, more = execution.advance([Ended(two.id, {NodeName("a2"): "y", NodeName("a3"): "y"})])

    assert (more, execution.has_ended) == ((), True)
    assert execution.failed == {"a1": "one: x", "a2": "two: y", "a3": "two: y"}


def test_what_is_under_way_ends_before_a_run_that_was_stopped_has_ended() -> None:
    nodes = [node(f"a{number:03}", "a") for number in range(MOST_NODES + 1)]
    execution, (large, small) = begun([{**WIDE[0], "fault_tolerance": 0}, *WIDE[1:]], nodes, at_once=1000)

    execution, more = execution.advance([Ended(small.id, {small.nodes[0]: "x"})])
    assert (more, execution.stopped is None, execution.has_ended) == ((), False, False)

    execution, (rest,) = execution.advance([Ended(large.id, {}, (large.nodes[1:],))])
    assert (rest.goes_on, execution.has_ended) == (large.id, False)

    execution, more = execution.advance([Ended(rest.id)])
    assert (more, execution.has_ended) == ((), True)


PRE = task("pre", role="*", stage="pre_deployment", parameters=PUPPET)


def test_a_task_of_no_group_ends_the_run_wherever_it_fails() -> None:
    ended, story = played(*begun([PRE, *WIDE], THREE), failing=failing("pre", "a2"))

    assert ended.stopped == "Task pre belongs to no group, and it failed on a2."
    assert {name for name, _ in story} == {"pre"}


def test_a_task_that_may_fail_costs_its_node_nothing() -> None:
    ended, story = played(*begun([{**PRE, "fail_on_error": False}, *WIDE], THREE), failing=failing("pre", "a2", "b1"))

    assert (ended.stopped, ended.failed, ended.unmet()) == (None, {}, {})
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


# The rules of failure (product, section 7; contract, 4.2 and 4.4). What fails; then the tasks that never run, by node,
# with what is said of nodes that did not fail themselves, and whether the run ends well.
A, B = group("a", role=["a"]), group("b", role=["b"], requires=["a"])
MIGRATE = (
    group("controller", role=["a"]),
    group("compute", role=["b"]),
    task("migrate", groups=["controller"]),
    task("reinstall", groups=["compute"], requires=["migrate"]),
)
ALONE = (
    task("first", role=["a"], version="2.0.0"),
    task("second", role=["a"], version="2.0.0", requires=["first"]),
    task("other", role=["b"], version="2.0.0"),
)
CROSS = (
    group("a", role=["a"], fault_tolerance=1),
    group("b", role=["b"]),
    task("there", role=["a"], version="2.0.0"),
    task("here", role=["b"], version="2.0.0", **{"cross-depends": [{"name": "there", "role": ["a"]}]}),
)
REVERSE = (
    *CROSS[:2],
    task("there", role=["a"], version="2.0.0", **{"cross-depended-by": [{"name": "here", "role": ["b"]}]}),
    task("here", role=["b"], version="2.0.0"),
)
ANY = (
    *CROSS[:3],
    task("here", role=["b"], version="2.0.0", **{"cross-depends": [{"name": "there", "role": ["a"], "policy": "any"}]}),
)
SELF = (
    group("a", role=["a"], fault_tolerance=2),
    task("there", role=["a"], version="2.0.0"),
    task("here", role=["a"], version="2.0.0", **{"cross-depends": [{"name": "there", "role": "self"}]}),
)
STAGED = (
    group("a", role=["a"], required_for=["end"]),
    {"id": "end", "type": "stage"},
    task("one", groups=["a"]),
    task("after", role=["b"], requires=["end"]),
)
Rule = tuple[Entries, Failing, dict[str, str], dict[str, str], bool]
RULES: dict[str, Rule] = {
    "a group without a tolerance fails what requires it": (
        (A, B, *WIDE[2:]),
        failing("one", "a1"),
        {"two": "a1 b1", "one": "b1"},
        {"b1": "one did not run: a failed on a1"},
        False,
    ),
    "a group within its tolerance is met": (WIDE, failing("one", "a1", "a2"), {"two": "a1 a2"}, {}, True),
    "a group of which all nodes failed is never met": (
        ({**A, "fault_tolerance": 3}, *WIDE[1:]),
        failing("one", "a1", "a2", "a3"),
        {"two": "a1 a2 a3 b1", "one": "b1"},
        {"b1": "one did not run: a failed on a1, a2, a3"},
        False,
    ),
    "a task on other nodes is a requirement": (
        MIGRATE,
        failing("migrate", "a1"),
        {"reinstall": "b1"},
        {"b1": "reinstall did not run: migrate failed on a1"},
        False,
    ),
    "what waits for a task that lacks a requirement lacks it as well": (
        (*MIGRATE, task("tell", role=["b"], version="2.0.0", requires=["reinstall"])),
        failing("migrate", "a1"),
        {"reinstall": "b1", "tell": "b1"},
        {"b1": "reinstall did not run: migrate failed on a1"},
        False,
    ),
    "what waits for such a task on other nodes names it": (
        (
            *MIGRATE,
            task("tell", role=["b"], version="2.0.0", requires=["reinstall"]),
            task("hear", role=["a"], version="2.0.0", **{"cross-depends": [{"name": "tell", "role": ["b"]}]}),
        ),
        failing("migrate", "a1"),
        {"reinstall": "b1", "tell": "b1", "hear": "a1 a2 a3"},
        {
            "b1": "reinstall did not run: migrate failed on a1",
            **dict.fromkeys(("a2", "a3"), "hear did not run: tell failed on b1"),
        },
        False,
    ),
    "a relation across nodes within the tolerance": (CROSS, failing("there", "a1"), {}, {}, True),
    "a relation on the same node fails on that node": (SELF, failing("there", "a1"), {"here": "a1"}, {}, True),
    "a relation across nodes that all failed": (
        ({**CROSS[0], "fault_tolerance": 3}, *CROSS[1:]),
        failing("there", "a1", "a2", "a3"),
        {"here": "b1"},
        {"b1": "here did not run: there failed on a1, a2, a3"},
        False,
    ),
    "a relation across nodes that the earlier task has": (
        (A, *REVERSE[1:]),
        failing("there", "a3"),
        {"here": "b1"},
        {"b1": "here did not run: there failed on a3"},
        False,
    ),
    "a relation that one node meets": ((A, *ANY[1:]), failing("there", "a3"), {}, {}, False),
    "a skipped task hands on what it waits for to other nodes": (
        (
            A,
            group("b", role=["b"]),
            task("one", groups=["a"]),
            {"id": "gap", "type": "skipped", "role": ["a"], "requires": ["one"], "version": "2.0.0"},
            task("here", role=["b"], version="2.0.0", **{"cross-depends": [{"name": "gap", "role": ["a"]}]}),
        ),
        failing("one", "a1"),
        {"here": "b1"},
        {"b1": "here did not run: one failed on a1"},
        False,
    ),
    "a stage lets others pass": (STAGED, failing("one", "a1", "a2", "a3"), {}, {}, False),
    "a failure that does not count": (
        (A, B, {**WIDE[2], "fail_on_error": False}, WIDE[3]),
        failing("one", "a1", "b1"),
        {},
        {},
        True,
    ),
}


@pytest.mark.parametrize("seed", range(3))
@table(("entries", "fails", "never", "unmet", "good"), RULES)
def test_what_a_failed_requirement_means(
    entries: Entries, fails: Failing, never: dict[str, str], unmet: dict[str, str], good: bool, seed: int
) -> None:
    execution, first = begun(entries, THREE)
    every = {(cell.task, name) for cell in execution.flow.cells for name in execution.flow.nodes[cell.number]}

    ended, story = played(execution, first, failing=fails, seed=seed)

    assert ended.stopped is None
    missing = every - set(story)
    assert missing == {(task_name, name) for task_name, names in never.items() for name in names.split()}
    assert ended.unmet() == unmet
    assert ended.is_good(ended.unmet()) is good


# What succeeded before; then what a retry runs again.
AGAIN: dict[str, tuple[Entries, str, str]] = {
    "all but one node": (
        WIDE,
        "one:a1 one:a2 two:a1 two:a2",
        "one:a3 two:a3 one:b1 two:b1",
    ),
    "a node that lacks its last task": (
        WIDE,
        "one:a1 one:a2 one:a3 two:a1 two:a2 one:b1 two:b1",
        "two:a3 one:b1 two:b1",
    ),
    "what waits for a group that is done": (WIDE, "one:a1 one:a2 one:a3 two:a1 two:a2 two:a3 one:b1", "two:b1"),
    "what waits for a group of which nothing is done": (
        WIDE,
        "one:b1 two:b1",
        "one:a1 one:a2 one:a3 two:a1 two:a2 two:a3 one:b1 two:b1",
    ),
    "a task of its own after one that runs again": (
        ALONE,
        "second:a1 first:a2 second:a2 first:a3 other:b1",
        "first:a1 second:a1 second:a3",
    ),
}


@every_row(AGAIN)
def test_a_retry_runs_what_did_not_succeed_and_what_depends_on_it(entries: Entries, succeeded: str, again: str) -> None:
    execution, _ = begun(entries, THREE)
    pairs = {(NodeName(name), TaskId(task_name)) for task_name, name in (one.split(":") for one in succeeded.split())}

    done = kept(execution.flow, pairs)
    ended, story = played(*Execution(execution.flow, execution.rules, done).advance())

    assert {f"{task_name}:{name}" for task_name, name in story} == set(again.split())
    assert ended.has_ended


def test_a_run_goes_on_from_any_stored_state_as_if_nothing_had_happened() -> None:
    execution, (one,) = begun(WIDE, THREE)
    execution, pieces = execution.advance([Ended(one.id, {NodeName("a3"): "x"}, ((NodeName("a2"),),))])

    again = structs.replace(execution, flow=replace(execution.flow))

    assert [again.nodes_of(piece.id) for piece in pieces] == [piece.nodes for piece in pieces]
    assert again.advance([Ended(pieces[0].id)])[1] == execution.advance([Ended(pieces[0].id)])[1]
