"""Selecting by index finds what reading the design's rules node by node finds (design: Selectors)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.strategy.selectors import Selector, select, selects_every_node

NAMES = [NodeName(f"n{number}") for number in range(8)]
UNKNOWN = NodeName("n99")
RACKS = ["r1", "r2", "r3"]
TAGS = ["control", "compute", "ssd"]
LABELS = [("zone", "a"), ("zone", "b"), ("kind", "a")]

nodes = st.builds(
    Node,
    name=st.sampled_from(NAMES),
    rack=st.sampled_from(["", *RACKS]),
    tags=st.frozensets(st.sampled_from(TAGS)),
    labels=st.frozensets(st.sampled_from(LABELS)),
)
sites = st.lists(nodes, unique_by=lambda node: node.name)
selector = st.builds(
    Selector,
    node_names=st.frozensets(st.sampled_from([*NAMES, UNKNOWN]), max_size=4),
    node_tags=st.frozensets(st.sampled_from([*TAGS, "gpu"]), max_size=2),
    node_labels=st.frozensets(st.sampled_from([*LABELS, ("zone", "c")]), max_size=2),
    rack_names=st.frozensets(st.sampled_from([*RACKS, "r9"]), max_size=2),
)


def reads(node: Node, one: Selector) -> bool:
    """Apply the design's sentences, one criterion after the other."""
    criteria: list[tuple[frozenset[object], set[object]]] = [
        (frozenset(one.node_names), {node.name}),
        (frozenset(one.node_tags), set(node.tags)),
        (frozenset(one.node_labels), set(node.labels)),
        (frozenset(one.rack_names), {node.rack}),
    ]
    return all(any(value in had for value in wanted) for wanted, had in criteria if wanted)


@settings(max_examples=2 * settings.default.max_examples)
@given(sites, st.lists(selector | selector | st.just(Selector()), max_size=4))
def test_selecting_finds_exactly_the_nodes_that_the_rules_name(site: list[Node], selectors: list[Selector]) -> None:
    expected = {node.name for node in site if not selectors or any(reads(node, one) for one in selectors)}

    assert select(selectors, Inventory.of(site)) == expected
    assert selects_every_node(selectors) == (not selectors or Selector() in selectors)
