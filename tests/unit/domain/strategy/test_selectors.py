"""Which nodes a group holds (design: Selectors)."""

import pytest

from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.strategy.selectors import Selector, select, selects_every_node
from tests.factories import node, selector

SITE = Inventory.of(
    [
        node("node01", rack="rack01", tags=["control"], labels={"ucp_control_plane": "enabled"}),
        node("node02", rack="rack01", tags=["compute"], labels={"ucp_control_plane": "disabled", "zone": "a"}),
        node("node03", rack="rack02", tags=["compute", "ssd"], labels={"zone": "b"}),
        node("node04", rack="rack02", tags=["control", "ssd"], labels={"ucp_control_plane": "enabled", "zone": "a"}),
    ]
)
ALL = "node01 node02 node03 node04"


def names(*selectors: Selector) -> str:
    return " ".join(sorted(select(selectors, SITE)))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(selector(names=["node02"]), "node02", id="node_names"),
        pytest.param(selector(tags=["ssd"]), "node03 node04", id="node_tags"),
        pytest.param(selector(labels=[("zone", "a")]), "node02 node04", id="node_labels"),
        pytest.param(selector(racks=["rack01"]), "node01 node02", id="rack_names"),
    ],
)
def test_each_of_the_four_criteria_selects_by_itself(one: Selector, expected: str) -> None:
    assert names(one) == expected


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(selector(names=["node02", "node04"]), "node02 node04", id="node_names"),
        pytest.param(selector(tags=["ssd", "compute"]), "node02 node03 node04", id="node_tags"),
        pytest.param(selector(labels=[("zone", "a"), ("zone", "b")]), "node02 node03 node04", id="node_labels"),
        pytest.param(selector(racks=["rack01", "rack02"]), ALL, id="rack_names"),
    ],
)
def test_within_one_criterion_any_value_matches(one: Selector, expected: str) -> None:
    assert names(one) == expected


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(selector(tags=["control"], racks=["rack01"]), "node01", id="tag and rack"),
        pytest.param(selector(tags=["compute"], labels=[("zone", "a")]), "node02", id="tag and label"),
        pytest.param(selector(names=["node01", "node03"], racks=["rack02"]), "node03", id="name and rack"),
        pytest.param(selector(names=["node01"], racks=["rack02"]), "", id="nothing satisfies both"),
        pytest.param(
            selector(names=["node04"], tags=["ssd"], labels=[("zone", "a")], racks=["rack02"]), "node04", id="all four"
        ),
    ],
)
def test_a_selector_is_the_intersection_of_its_criteria(one: Selector, expected: str) -> None:
    assert names(one) == expected


def test_a_list_of_selectors_is_the_union_of_its_selectors() -> None:
    assert names(selector(names=["node01"]), selector(racks=["rack02"])) == "node01 node03 node04"


def test_a_node_that_several_selectors_find_is_selected_once() -> None:
    assert names(selector(tags=["ssd"]), selector(racks=["rack02"])) == "node03 node04"


def test_an_empty_criterion_is_ignored() -> None:
    assert names(selector(names=[], labels=[], tags=["control"], racks=["rack02"])) == "node04"


def test_an_empty_list_of_selectors_means_all_nodes() -> None:
    assert names() == ALL


def test_a_selector_without_criteria_means_all_nodes() -> None:
    assert names(selector()) == ALL


def test_a_selector_without_criteria_means_all_nodes_even_beside_others() -> None:
    assert names(selector(names=["node01"]), selector()) == ALL


def test_the_example_of_the_design_selects_what_its_query_says() -> None:
    first = selector(names=["node01", "node02"], racks=["rack01"], tags=["control"])
    second = selector(names=["node04"], labels=[("ucp_control_plane", "enabled")])

    assert names(first, second) == "node01 node04"


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(selector(names=["node99"]), id="node_names"),
        pytest.param(selector(tags=["gpu"]), id="node_tags"),
        pytest.param(selector(labels=[("zone", "c")]), id="label value"),
        pytest.param(selector(labels=[("region", "a")]), id="label key"),
        pytest.param(selector(racks=["rack99"]), id="rack_names"),
    ],
)
def test_a_value_that_no_node_has_selects_nothing(one: Selector) -> None:
    assert names(one) == ""


def test_a_site_without_nodes_gives_empty_groups() -> None:
    assert select([], Inventory.of([])) == frozenset()


def test_the_node_filter_of_a_group_is_null_exactly_when_it_means_every_node() -> None:
    assert selects_every_node([])
    assert selects_every_node([selector(names=["n1"]), selector()])
    assert not selects_every_node([selector(names=["n1"]), selector(tags=["control"])])


def test_matching_one_node_agrees_with_selecting_from_the_site() -> None:
    one = selector(tags=["compute"], racks=["rack02"])

    assert one.matches(SITE.nodes[NodeName("node03")])
    assert not one.matches(SITE.nodes[NodeName("node02")])
