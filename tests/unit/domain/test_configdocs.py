"""Documents of a design and the machines they describe."""

from typing import Any

import pytest

from shipyard_api.domain.configdocs import concrete, find, inventory, parse_documents
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from tests.factories import document, node, node_document


def site(*entries: dict[str, Any]) -> Inventory:
    documents, findings = parse_documents(entries)
    assert findings == ()
    return inventory(concrete(documents))


def profile(name: str, metadata: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    data: dict[str, Any] = {"metadata": metadata}
    if parent is not None:
        data["host_profile"] = parent
    return document("drydock/HostProfile/v1", name, data)


def only(found: Inventory) -> Node:
    (machine,) = found.nodes.values()
    return machine


def test_documents_keep_what_was_written() -> None:
    entry = document("a/B/v1", "one", {"x": [1]}, labels={"k": "v"})

    (parsed,), findings = parse_documents([entry])

    assert findings == ()
    assert parsed.identity == ("a/B/v1", "site", "one")
    assert (parsed.metadata, parsed.data) == (entry["metadata"], {"x": [1]})
    assert (parsed.ref.schema, parsed.ref.name) == ("a/B/v1", "one")


def test_a_document_without_data_has_empty_data() -> None:
    entry = document("a/B/v1", "one", {})
    del entry["data"]

    (parsed,), _ = parse_documents([entry])

    assert parsed.data == {}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param({"schema": None}, "/schema", id="no schema"),
        pytest.param({"schema": "a/B"}, "/schema", id="schema of two parts"),
        pytest.param({"schema": "a/B/v1\n"}, "/schema", id="schema with a line break"),
        pytest.param({"schema": f"a/{'B' * 61}/v1"}, "/schema", id="schema too long"),
        pytest.param({"metadata": None}, "/metadata", id="no metadata"),
        pytest.param({"metadata": []}, "/metadata", id="metadata of another type"),
    ],
)
def test_a_document_of_the_wrong_shape_is_refused_with_its_place(change: dict[str, Any], path: str) -> None:
    documents, findings = parse_documents([{**document("a/B/v1", "one", {}), **change}])

    assert documents == ()
    assert path in [finding.path for finding in findings]
    assert {finding.level for finding in findings} == {Level.ERROR}
    assert {finding.name for finding in findings} == {"D001"}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param({"name": ""}, "/metadata/name", id="empty name"),
        pytest.param({"name": 3}, "/metadata/name", id="name that is no text"),
        pytest.param({"name": "n" * 65}, "/metadata/name", id="name too long"),
        pytest.param({"schema": "metadata/Document/v2"}, "/metadata/schema", id="other kind"),
        pytest.param({"layeringDefinition": None}, "/metadata/layeringDefinition/layer", id="no layering"),
        pytest.param({"layeringDefinition": "site"}, "/metadata/layeringDefinition/layer", id="layering as text"),
        pytest.param({"layeringDefinition": {}}, "/metadata/layeringDefinition/layer", id="no layer"),
        pytest.param(
            {"layeringDefinition": {"layer": "l" * 65}}, "/metadata/layeringDefinition/layer", id="layer too long"
        ),
        pytest.param(
            {"layeringDefinition": {"layer": "site", "abstract": "no"}},
            "/metadata/layeringDefinition/abstract",
            id="abstract that is neither true nor false",
        ),
        pytest.param({"storagePolicy": "plain"}, "/metadata/storagePolicy", id="unknown policy"),
        pytest.param({"storagePolicy": "encrypted"}, "/metadata/storagePolicy", id="no key to encrypt with"),
    ],
)
def test_metadata_of_the_wrong_shape_is_refused_with_its_place(change: dict[str, Any], path: str) -> None:
    documents, findings = parse_documents([document("a/B/v1", "one", {}, **change)])

    assert documents == ()
    assert [finding.path for finding in findings] == [path]


@pytest.mark.parametrize("entry", [None, "text", 7, [], True])
def test_an_entry_that_is_no_mapping_is_refused(entry: object) -> None:
    documents, (finding,) = parse_documents([entry])

    assert documents == ()
    assert finding.message.startswith("Document 1: ")


def test_every_fault_of_every_document_is_told_at_once() -> None:
    bad = {"schema": "nope", "metadata": {"schema": "metadata/Document/v1", "name": "", "storagePolicy": "x"}}

    documents, findings = parse_documents([bad, document("a/B/v1", "good", {}), None])

    assert [parsed.name for parsed in documents] == ["good"]
    assert [(finding.message.split(":")[0], finding.path) for finding in findings] == [
        ("Document 1", "/schema"),
        ("Document 1", "/metadata/name"),
        ("Document 1", "/metadata/layeringDefinition/layer"),
        ("Document 1", "/metadata/storagePolicy"),
        ("Document 3", ""),
    ]


@pytest.mark.parametrize(
    "layering",
    [
        pytest.param("site", id="text"),
        pytest.param(["site"], id="list"),
        pytest.param({"layer": ["site"]}, id="layer of another type"),
        pytest.param(None, id="null"),
    ],
)
def test_a_control_document_may_carry_any_layering_and_is_part_of_the_design(layering: object) -> None:
    entry = document(
        "deckhand/LayeringPolicy/v1", "policy", {}, schema="metadata/Control/v1", layeringDefinition=layering
    )

    documents, findings = parse_documents([entry])

    assert findings == ()
    assert documents[0].layer == ""
    assert concrete(documents) == documents


def test_two_documents_of_one_schema_layer_and_name_are_refused() -> None:
    twin = document("a/B/v1", "one", {})

    _, (finding,) = parse_documents([twin, document("a/C/v1", "one", {}), twin])

    assert finding.name == "DuplicateDocument"
    assert "Documents 1 and 3" in finding.message
    assert [reference.name for reference in finding.documents] == ["one"]


def test_the_same_name_in_another_layer_is_another_document() -> None:
    other = document("a/B/v1", "one", {}, layeringDefinition={"layer": "global"})

    documents, findings = parse_documents([document("a/B/v1", "one", {}), other])

    assert len(documents) == 2
    assert findings == ()


def test_abstract_documents_are_no_part_of_the_design() -> None:
    parent = document("a/B/v1", "parent", {}, layeringDefinition={"layer": "site", "abstract": True})

    documents, _ = parse_documents([parent, document("a/B/v1", "child", {})])

    assert [parsed.name for parsed in concrete(documents)] == ["child"]


def test_finding_a_document_needs_exactly_one_of_that_schema_and_name() -> None:
    documents, _ = parse_documents(
        [
            document("a/B/v1", "once", {}),
            document("a/B/v1", "twice", {}),
            document("a/B/v1", "twice", {}, layeringDefinition={"layer": "global"}),
        ]
    )

    assert find(documents, "a/B/v1", "once") is documents[0]
    assert find(documents, "a/B/v1", "twice") is None
    assert find(documents, "a/B/v1", "never") is None
    assert find(documents, "a/C/v1", "once") is None


def test_the_machines_of_a_design_are_its_baremetal_nodes() -> None:
    found = site(
        node_document("n1", rack="r1", tags=["control"], labels={"zone": "a"}),
        node_document("n2", rack="r2"),
        document("drydock/Region/v1", "region", {}),
    )

    assert list(found.nodes.values()) == [
        node("n1", rack="r1", tags=["control"], labels={"zone": "a"}),
        node("n2", rack="r2"),
    ]


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


@pytest.mark.parametrize(
    "profiles",
    [
        pytest.param([], id="unknown profile"),
        pytest.param([profile("p", {"tags": ["t"]}, parent="p")], id="its own parent"),
        pytest.param(
            [profile("p", {"tags": ["t"]}, parent="q"), profile("q", {"tags": ["u"]}, parent="p")], id="in a circle"
        ),
    ],
)
def test_profiles_that_lead_nowhere_or_in_a_circle_end_the_chain(profiles: list[dict[str, Any]]) -> None:
    found = site(*profiles, node_document("n1", tags=["own"], host_profile="p"))

    assert "own" in found.nodes[NodeName("n1")].tags


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="null"),
        pytest.param("text", id="text"),
        pytest.param({"metadata": []}, id="metadata of another type"),
        pytest.param({"metadata": {"tags": "control", "owner_data": [], "rack": 7}}, id="fields of other types"),
        pytest.param({"metadata": {"tags": [1, None], "owner_data": {"gpu": True}}}, id="values of other types"),
        pytest.param({"host_profile": 3}, id="profile that is no name"),
    ],
)
def test_a_machine_whose_data_is_malformed_is_still_a_machine(data: object) -> None:
    assert only(site(document("drydock/BaremetalNode/v1", "n1", data))) == node("n1")
