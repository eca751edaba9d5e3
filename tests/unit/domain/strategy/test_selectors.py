"""Which nodes a group holds (design: Selectors)."""

from shipyard_api.domain.nodes import Inventory
from shipyard_api.domain.strategy.selectors import Selector, select, selects_every_node
from tests.factories import node, selector
from tests.unit.tables import every_row

SITE = Inventory.of(
    [
        node("node01", rack="rack01", tags=["control"], labels={"ucp_control_plane": "enabled"}),
        node("node02", rack="rack01", tags=["compute"], labels={"ucp_control_plane": "disabled", "zone": "a"}),
        node("node03", rack="rack02", tags=["compute", "ssd"], labels={"zone": "b"}),
        node("node04", rack="rack02", tags=["control", "ssd"], labels={"ucp_control_plane": "enabled", "zone": "a"}),
    ]
)
ALL = "node01 node02 node03 node04"
SELECTED = {
    "no selector: all nodes": ([], ALL),
    "a blank selector beside others: all nodes": ([selector(names=["node01"]), selector()], ALL),
    "a rack": ([selector(racks=["rack01"])], "node01 node02"),
    "all four": (
        [selector(names=["node04"], tags=["ssd"], labels=[("zone", "a")], racks=["rack02"])],
        "node04",
    ),
    "several selectors add up": ([selector(names=["node01"]), selector(racks=["rack02"])], "node01 node03 node04"),
    "the example of the design": (
        [
            selector(names=["node01", "node02"], racks=["rack01"], tags=["control"]),
            selector(names=["node04"], labels=[("ucp_control_plane", "enabled")]),
        ],
        "node01 node04",
    ),
}


@every_row(SELECTED)
def test_selectors_select_the_nodes_that_meet_every_criterion_of_any_of_them(
    selectors: list[Selector], expected: str
) -> None:
    assert " ".join(sorted(select(selectors, SITE))) == expected
    assert {
        name for name, one in SITE.nodes.items() if not selectors or any(rule.matches(one) for rule in selectors)
    } == (select(selectors, SITE))


def test_the_node_filter_of_a_group_is_null_exactly_when_it_means_every_node() -> None:
    assert selects_every_node([])
    assert selects_every_node([selector(names=["n1"]), selector()])
    assert not selects_every_node([selector(names=["n1"]), selector(tags=["control"])])
