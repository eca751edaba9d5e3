"""Node filters as Drydock evaluates them, one row a rule of the contract."""

from typing import Any

import pytest

from shipyard_simulators.drydock.design import DesignNode
from shipyard_simulators.drydock.filters import NotEvaluable, select

NODES = (
    DesignNode("a", frozenset({"control"}), "r1", {"role": "ctl", "gen": "1"}),
    DesignNode("b", frozenset({"control", "ssd"}), "r1", {"role": "ctl", "gen": "2"}),
    DesignNode("c", frozenset({"compute"}), "r2", {"role": "cmp", "gen": "1"}),
    DesignNode("d", frozenset(), None, {}),
)


def filters(set_type: str, *each: dict[str, Any]) -> dict[str, Any]:
    return {"filter_set_type": set_type, "filter_set": list(each)}


def union(**criteria: object) -> dict[str, Any]:
    return {"filter_type": "union", **criteria}


def both(**criteria: object) -> dict[str, Any]:
    return {"filter_type": "intersection", **criteria}


SELECTED: dict[str, tuple[Any, str]] = {
    "no filter": (None, "a b c d"),
    "any of several names": (filters("union", union(node_names=["a", "c"])), "a c"),
    "any of several names, intersection": (filters("union", both(node_names=["a", "c"])), "a c"),
    "any of several tags": (filters("union", both(node_tags=["ssd", "compute"])), "b c"),
    "any of several racks": (filters("union", both(rack_names=["r1", "r2"])), "a b c"),
    "labels are joined even under intersection": (
        filters("union", both(node_labels={"role": "ctl", "gen": "1"})),
        "a b c",
    ),
    "labels that all must match, one filter each": (
        filters("intersection", both(node_labels={"role": "ctl"}), both(node_labels={"gen": "1"})),
        "a",
    ),
    "a label is an exact string": (filters("union", both(node_labels={"gen": 1})), ""),
    "criteria joined by union": (filters("union", union(node_names=["d"], node_tags=["ssd"])), "b d"),
    "criteria joined by intersection": (filters("union", both(node_tags=["control"], node_names=["b", "c"])), "b"),
    "filters joined by union": (filters("union", both(node_names=["a"]), both(node_names=["d"])), "a d"),
    "filters joined by intersection": (
        filters("intersection", both(node_tags=["control"]), both(node_tags=["ssd"])),
        "b",
    ),
    "empty and null criteria are ignored": (
        filters("union", both(node_names=["a"], node_tags=[], node_labels=None, rack_names=None)),
        "a",
    ),
    "rack labels are ignored": (filters("union", both(node_names=["a"], rack_labels={"row": "z"})), "a"),
    "unknown keys are ignored": (filters("union", both(node_names=["a"], colour="red")), "a"),
    "unknown names match nothing": (filters("union", both(node_names=["z"], node_tags=["control"])), ""),
    "a blank union selects no node": (filters("union", union()), ""),
    "only rack labels under union is a blank union": (filters("union", union(rack_labels={"row": "a"})), ""),
    "a blank intersection beside others, intersected": (filters("intersection", both(), both(node_names=["a"])), "a"),
}


@pytest.mark.parametrize(("node_filter", "names"), SELECTED.values(), ids=SELECTED)
def test_a_filter_selects(node_filter: object, names: str):
    assert select(NODES, node_filter) == set(names.split())


BROKEN: dict[str, Any] = {
    "one blank intersection": filters("union", both()),
    "one blank intersection, intersected": filters("intersection", both()),
    "a blank intersection beside others, joined": filters("union", both(), both(node_names=["a"])),
    "an empty filter set": filters("union"),
    "a filter set that is null": {"filter_set_type": "union", "filter_set": None},
    "no filter set": {"filter_set_type": "union"},
    "an empty object": {},
    "a string": "a",
    "a list": [union(node_names=["a"])],
    "a filter that is no object": {"filter_set_type": "union", "filter_set": ["a"]},
    "no filter type": filters("union", {"node_names": ["a"]}),
    "another filter type": filters("union", {"filter_type": "xor", "node_names": ["a"]}),
    "no filter set type": {"filter_set": [union(node_names=["a"])]},
    "another filter set type": filters("xor", union(node_names=["a"])),
    "labels as a list": filters("union", union(node_labels=["role: ctl"])),
}


@pytest.mark.parametrize("node_filter", BROKEN.values(), ids=BROKEN)
def test_drydock_breaks_on(node_filter: object):
    with pytest.raises(NotEvaluable):
        select(NODES, node_filter)
