"""Checking a strategy: circles are found exactly when there are any, and no value of any shape breaks the check."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from networkx import DiGraph

from shipyard_api.domain.findings import errors
from shipyard_api.domain.rollout import Rollout
from shipyard_api.domain.strategy import check_groups, find_cycles, parse_strategy
from tests.factories import group_entry, play

NAMES = [f"g{number}" for number in range(8)]

edges = st.sets(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda edge: edge[0] != edge[1]), max_size=16
)
orders = st.permutations(NAMES)


def graph_of(found: set[tuple[str, str]]) -> "DiGraph[str]":
    graph: DiGraph[str] = DiGraph()
    graph.add_nodes_from(NAMES)
    graph.add_edges_from(found)
    return graph


def reachable(found: set[tuple[str, str]], start: str) -> set[str]:
    """Return what can be reached from ``start`` by at least one edge, the plain way."""
    seen: set[str] = set()
    while more := {head for tail, head in found if tail in seen | {start}} - seen:
        seen |= more
    return seen


@given(edges, orders)
def test_circles_are_found_exactly_when_some_group_can_reach_itself(
    found: set[tuple[str, str]], order: list[str]
) -> None:
    circular = any(name in reachable(found, name) for name in NAMES)

    assert bool(find_cycles(graph_of(found), order)) == circular


@given(edges, orders)
def test_every_path_that_is_reported_really_is_a_circle(found: set[tuple[str, str]], order: list[str]) -> None:
    for path in find_cycles(graph_of(found), order):
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1 >= 2
        assert set(pairwise(path)) <= found


@given(edges, orders)
def test_every_set_of_groups_that_wait_for_each_other_is_reported_once_by_its_first_group(
    found: set[tuple[str, str]], order: list[str]
) -> None:
    knots = set()
    for name in NAMES:
        beyond = reachable(found, name)
        if name in beyond:
            knots.add(frozenset(other for other in beyond if name in reachable(found, other)))

    starts = [path[0] for path in find_cycles(graph_of(found), order)]

    assert starts == sorted((min(knot, key=order.index) for knot in knots), key=order.index)


@given(edges, orders)
def test_no_shorter_way_leads_back_to_the_first_group(found: set[tuple[str, str]], order: list[str]) -> None:
    for path in find_cycles(graph_of(found), order):
        frontier, length = {path[0]}, 0
        while path[0] not in frontier or not length:
            frontier = {head for tail, head in found if tail in frontier}
            length += 1
        assert length == len(path) - 1


entries = st.lists(
    st.builds(
        lambda name, parents: group_entry(name, depends_on=parents),
        st.sampled_from(NAMES),
        st.lists(st.sampled_from([*NAMES, "nowhere"]), max_size=3),
    ),
    max_size=8,
)


@given(entries)
def test_a_strategy_without_errors_can_be_run_to_its_end_and_one_with_errors_is_told_all(
    found: list[dict[str, Any]],
) -> None:
    names = [entry["name"] for entry in found]
    pairs = {(entry["name"], parent) for entry in found for parent in entry["depends_on"]}
    unknown = [parent for entry in found for parent in entry["depends_on"] if parent not in names]
    own = [parent for entry in found for parent in entry["depends_on"] if parent == entry["name"]]
    known = {(name, parent) for name, parent in pairs if parent in names and parent != name}
    circular = any(name in reachable(known, name) for name in names)

    wrong = errors(check_groups({"groups": found}))

    kinds = [finding.name for finding in wrong]
    assert kinds.count("UnknownDeploymentGroup") == len(unknown)
    assert kinds.count("DuplicateDeploymentGroup") == len(names) - len(set(names))
    assert (kinds.count("DeploymentGroupCycleError") > len(own)) == circular
    if not wrong:
        read = parse_strategy({"groups": found})
        rollout = Rollout(read, {group.name: [] for group in read.groups})
        moves, _ = play(rollout)
        assert rollout.done
        assert len(moves) == len(found)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["name", "critical", "depends_on", "selectors", "success_criteria", "else"])
malformed = st.dictionaries(keys, json_values | st.lists(json_values, max_size=2), max_size=6)


@given(json_values | st.fixed_dictionaries({"groups": json_values | st.lists(malformed | json_values, max_size=4)}))
def test_no_value_of_any_shape_breaks_the_check(value: object) -> None:
    for finding in check_groups(value):
        assert finding.message
        assert finding.path.startswith("/groups/")
