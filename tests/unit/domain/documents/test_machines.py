"""The machines of a design, with what they inherit from their host profiles."""

from typing import Any

from shipyard_api.domain.documents import Collection, RenderedDocument, Rendering, Revision, inventory, parse_documents
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from tests.factories import document, node, node_document
from tests.unit.tables import every_row


def site(*entries: dict[str, Any]) -> Inventory:
    documents, findings = parse_documents(entries)
    assert findings == ()
    return inventory(documents)


def profile(name: str, metadata: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    data: dict[str, Any] = {"metadata": metadata}
    if parent is not None:
        data["host_profile"] = parent
    return document("drydock/HostProfile/v1", name, data)


def test_a_node_has_the_hardware_profile_that_is_nearest_to_it() -> None:
    base = document("drydock/HostProfile/v1", "base", {"hardware_profile": "gen8"})
    child = document("drydock/HostProfile/v1", "child", {"host_profile": "base", "hardware_profile": "gen9"})
    heir = document("drydock/HostProfile/v1", "heir", {"host_profile": "base"})
    found = site(
        base,
        child,
        heir,
        document("drydock/BaremetalNode/v1", "n1", {"host_profile": "heir"}),
        document("drydock/BaremetalNode/v1", "n2", {"host_profile": "child"}),
        document("drydock/BaremetalNode/v1", "n3", {"host_profile": "child", "hardware_profile": "gen11"}),
        document("drydock/BaremetalNode/v1", "n4", {"hardware_profile": 7}),
    )

    assert {name: one.hardware for name, one in found.nodes.items()} == {
        "n1": "gen8",
        "n2": "gen9",
        "n3": "gen11",
        "n4": "",
    }


def only(found: Inventory) -> Node:
    (machine,) = found.nodes.values()
    return machine


def test_a_machine_inherits_from_its_host_profiles_and_its_own_values_win() -> None:
    machine = only(
        site(
            profile("top", {"tags": ["base"], "rack": "r0", "owner_data": {"zone": "a", "kind": "x"}}),
            profile("middle", {"tags": ["compute"], "owner_data": {"zone": "b"}}, parent="top"),
            node_document("n1", rack="r1", tags=["ssd"], labels={"kind": "y"}, host_profile="middle"),
        )
    )

    assert machine == node("n1", rack="r1", tags=["base", "compute", "ssd"], labels={"zone": "b", "kind": "y"})


def test_a_leading_exclamation_mark_takes_out_what_was_inherited() -> None:
    machine = only(
        site(
            profile("top", {"tags": ["base", "old"], "owner_data": {"zone": "a", "kind": "x"}}),
            node_document("n1", tags=["!old"], labels={"!zone": ""}, host_profile="top"),
        )
    )

    assert machine == node("n1", tags=["base"], labels={"kind": "x"})


@every_row(
    {
        "in a circle": [profile("p", {"tags": ["t"]}, parent="q"), profile("q", {"tags": ["u"]}, parent="p")],
    },
)
def test_profiles_that_lead_nowhere_or_in_a_circle_end_the_chain(profiles: list[dict[str, Any]]) -> None:
    found = site(*profiles, node_document("n1", tags=["own"], host_profile="p"))

    assert "own" in found.nodes[NodeName("n1")].tags


@every_row(
    {
        "null": None,
        "text": "text",
        "metadata of another type": {"metadata": []},
        "fields of other types": {"metadata": {"tags": "control", "owner_data": [], "rack": 7}},
        "profile that is no name": {"host_profile": 3},
    },
)
def test_a_machine_whose_data_is_malformed_is_still_a_machine(data: object) -> None:
    assert only(site(document("drydock/BaremetalNode/v1", "n1", data))) == node("n1")


def test_a_mark_that_takes_out_counts_only_for_what_stands_further_up() -> None:
    machine = only(
        site(
            profile("top", {"tags": ["!a", "b"], "owner_data": {"!x": "", "y": "1"}}),
            node_document("n1", tags=["a", "!b"], labels={"x": "2"}, host_profile="top"),
        )
    )

    assert machine == node("n1", tags=["a"], labels={"x": "2", "y": "1"})


def test_the_machines_of_a_rendered_design_are_read_once() -> None:
    documents, _ = parse_documents([node_document("n1"), node_document("n2")])
    design = Rendering(tuple(RenderedDocument(one, Collection("site"), Revision(1), secret=False) for one in documents))

    assert design.machines == inventory(documents)
    assert design.machines is design.machines
