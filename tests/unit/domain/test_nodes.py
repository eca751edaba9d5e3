"""Machines of a design and the index over them."""

from shipyard_api.domain.nodes import Inventory
from tests.factories import node


def test_an_inventory_finds_nodes_by_rack_tag_and_label() -> None:
    site = Inventory.of(
        [
            node("n1", rack="r1", tags=["control", "ntp"], labels={"zone": "a"}),
            node("n2", rack="r1", tags=["compute"], labels={"zone": "b"}),
            node("n3", rack="r2", tags=["compute"], labels={"zone": "a"}),
        ]
    )

    assert site.by_rack == {"r1": ("n1", "n2"), "r2": ("n3",)}
    assert site.by_tag == {"control": ("n1",), "ntp": ("n1",), "compute": ("n2", "n3")}
    assert site.by_label == {("zone", "a"): ("n1", "n3"), ("zone", "b"): ("n2",)}


def test_of_two_nodes_with_one_name_only_the_later_is_there() -> None:
    site = Inventory.of([node("n1", rack="r1", tags=["old"]), node("n1", rack="r2", tags=["new"])])

    assert list(site.nodes) == ["n1"]
    assert site.by_rack == {"r2": ("n1",)}
    assert site.by_tag == {"new": ("n1",)}
