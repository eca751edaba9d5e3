from shipyard_api.domain.graphs import find_cycles, in_order

EDGES = {"a": ["b"], "b": ["c", "a"], "c": ["a"], "d": ["a"]}


def test_a_cycle_is_the_shortest_path_back_to_the_first_node_of_its_set() -> None:
    assert find_cycles({name: EDGES[name] for name in "dcba"}) == (("c", "a", "b", "c"),)
    assert find_cycles({name: EDGES[name] for name in "dbac"}) == (("b", "a", "b"),)


def test_dependencies_outside_the_graph_are_ignored() -> None:
    assert find_cycles({"a": ["nowhere"]}) == ()


def test_the_order_is_that_of_the_mapping_but_for_what_a_node_depends_on() -> None:
    assert [*in_order({"a": ["c"], "b": [], "c": [], "d": ["a", "nowhere"]})] == ["b", "c", "a", "d"]
    assert [*in_order({})] == []
