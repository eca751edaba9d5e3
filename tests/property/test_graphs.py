"""Cycles: found exactly when there are any, each a real path, one for each set of nodes, and the shortest."""

from itertools import pairwise

from hypothesis import given, settings
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


@settings(max_examples=2 * settings.default.max_examples)
@given(edges, orders)
def test_each_set_of_nodes_that_depend_on_each_other_is_told_once_by_the_shortest_path_from_its_first_node(
    found: set[tuple[str, str]], order: list[str]
) -> None:
    paths = find_cycles(dependencies(found, order))

    components = set()
    for name in NAMES:
        beyond = reachable(found, name)
        if name in beyond:
            components.add(frozenset(other for other in beyond if name in reachable(found, other)))
    firsts = sorted((min(component, key=order.index) for component in components), key=order.index)
    assert [path[0] for path in paths] == firsts
    for path in paths:
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1 >= 1
        assert set(pairwise(path)) <= found
        frontier, length = {path[0]}, 0
        while path[0] not in frontier or not length:
            frontier = {head for tail, head in found if tail in frontier}
            length += 1
        assert length == len(path) - 1
