"""Cycles: found exactly when there are any, each a real path, one for each set of nodes, and the shortest."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.graphs import find_cycles

NAMES = [f"g{number}" for number in range(8)]

edges = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=16)
orders = st.permutations(NAMES)


def dependencies(found: set[tuple[str, str]], order: list[str]) -> dict[str, list[str]]:
    return {name: sorted(head for tail, head in found if tail == name) for name in order}


def reachable(found: set[tuple[str, str]], start: str) -> set[str]:
    """Return what can be reached from ``start`` by at least one edge, one edge at a time."""
    seen: set[str] = set()
    while more := {head for tail, head in found if tail in seen | {start}} - seen:
        seen |= more
    return seen


@given(edges, orders)
def test_cycles_are_found_exactly_when_some_node_can_reach_itself(
    found: set[tuple[str, str]], order: list[str]
) -> None:
    cyclic = any(name in reachable(found, name) for name in NAMES)

    assert bool(find_cycles(dependencies(found, order))) == cyclic


@given(edges, orders)
def test_every_reported_path_is_a_cycle(found: set[tuple[str, str]], order: list[str]) -> None:
    for path in find_cycles(dependencies(found, order)):
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1 >= 1
        assert set(pairwise(path)) <= found


@given(edges, orders)
def test_every_set_of_nodes_that_depend_on_each_other_is_reported_once_by_its_first_node(
    found: set[tuple[str, str]], order: list[str]
) -> None:
    components = set()
    for name in NAMES:
        beyond = reachable(found, name)
        if name in beyond:
            components.add(frozenset(other for other in beyond if name in reachable(found, other)))

    starts = [path[0] for path in find_cycles(dependencies(found, order))]

    assert starts == sorted((min(component, key=order.index) for component in components), key=order.index)


@given(edges, orders)
def test_no_shorter_path_leads_back_to_the_first_node(found: set[tuple[str, str]], order: list[str]) -> None:
    for path in find_cycles(dependencies(found, order)):
        frontier, length = {path[0]}, 0
        while path[0] not in frontier or not length:
            frontier = {head for tail, head in found if tail in frontier}
            length += 1
        assert length == len(path) - 1
