"""Drydock's node filters select what the domain selects, by the rules by which Drydock evaluates them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.adapters.drydock import translate
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.strategy.selectors import Selector, select

WORDS = st.frozensets(st.sampled_from("abc"), max_size=2)
LABELS = st.frozensets(st.tuples(st.sampled_from("kl"), st.sampled_from("xyz")), max_size=4)
SELECTORS = st.lists(
    st.builds(Selector, WORDS.map(lambda words: frozenset(map(NodeName, words))), WORDS, LABELS, WORDS), max_size=4
)
SITES = st.lists(
    st.builds(Node, st.sampled_from("abcdef").map(NodeName), st.sampled_from("abcd"), WORDS, LABELS), max_size=6
).map(Inventory.of)


def evaluate(node_filter: dict[str, Any] | None, site: Inventory, *, every_label: bool) -> frozenset[NodeName]:
    """Evaluate a filter by the rules of the contract, section 8; refuse what Drydock answers with 500.

    ``every_label``: by upstream's page, where all labels of a filter must match, rather than by its program.
    """
    if node_filter is None:
        return frozenset(site.nodes)
    assert node_filter["filter_set_type"] == "union"
    assert node_filter["filter_set"], "an empty filter set is answered with 500"
    return frozenset().union(*(evaluate_one(one, site, every_label) for one in node_filter["filter_set"]))


def evaluate_one(one: dict[str, Any], site: Inventory, every_label: bool) -> frozenset[NodeName]:
    assert one["filter_type"] == "intersection"
    criteria = {key: values for key, values in one.items() if key != "filter_type"}
    assert criteria, "a filter without criteria beside others is answered with 500"
    assert all(criteria.values())
    quantifier = all if every_label else any
    tests = {
        "node_names": lambda node: node.name in criteria["node_names"],
        "node_tags": lambda node: not node.tags.isdisjoint(criteria["node_tags"]),
        "rack_names": lambda node: node.rack in criteria["rack_names"],
        "node_labels": lambda node: quantifier(pair in node.labels for pair in criteria["node_labels"].items()),
    }
    return frozenset(name for name, node in site.nodes.items() if all(tests[key](node) for key in criteria))


@given(SELECTORS, SITES, st.booleans())
def test_a_filter_selects_what_the_selectors_select_however_drydock_combines_labels(
    selectors: list[Selector], site: Inventory, every_label: bool
) -> None:
    assert evaluate(translate.node_filter(selectors), site, every_label=every_label) == select(selectors, site)
