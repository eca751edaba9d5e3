"""Designs as the Drydock simulator reads them."""

from typing import Any

from shipyard_simulators.drydock.design import DesignNode, read_design


def document(kind: str, name: object, data: object) -> dict[str, Any]:
    return {"schema": f"drydock/{kind}/v1", "metadata": {"name": name}, "data": data}


def node(name: str, **data: Any) -> dict[str, Any]:
    return document("BaremetalNode", name, data)


def profile(name: str, **data: Any) -> dict[str, Any]:
    return document("HostProfile", name, data)


def only_node(*documents: object) -> DesignNode:
    (found,) = read_design(documents).nodes
    return found


def test_a_node_has_what_its_metadata_says():
    found = only_node(node("n1", metadata={"tags": ["a"], "rack": "r1", "owner_data": {"k": "v"}}))
    assert found == DesignNode("n1", frozenset({"a"}), "r1", {"k": "v"})


def test_tags_add_up_along_the_profiles_and_the_nearest_rack_and_labels_win():
    found = only_node(
        node("n1", host_profile="near", metadata={"tags": ["own"], "owner_data": {"a": "node"}}),
        profile("near", host_profile="far", metadata={"tags": ["near"], "rack": "r2", "owner_data": {"a": "near"}}),
        profile("far", metadata={"tags": ["far"], "rack": "r1", "owner_data": {"a": "far", "b": "far"}}),
    )
    assert found == DesignNode("n1", frozenset({"own", "near", "far"}), "r2", {"a": "node", "b": "far"})


def test_an_exclamation_mark_removes_what_was_inherited():
    found = only_node(
        node("n1", host_profile="p", metadata={"tags": ["!a"], "owner_data": {"!k": ""}}),
        profile("p", metadata={"tags": ["a", "b"], "owner_data": {"k": "v", "l": "w"}}),
    )
    assert found == DesignNode("n1", frozenset({"b"}), None, {"l": "w"})


def test_profiles_in_a_circle_are_read_once_each():
    found = only_node(
        node("n1", host_profile="p"),
        profile("p", host_profile="q", metadata={"tags": ["a"]}),
        profile("q", host_profile="p", metadata={"tags": ["b"]}),
    )
    assert found.tags == {"a", "b"}


def test_other_documents_and_other_values_are_ignored():
    design = read_design([None, "text", {"schema": "shipyard/X/v1"}, {"metadata": {}}, node("n1")])
    assert [each.name for each in design.nodes] == ["n1"]
    assert not design.malformed


def test_a_document_without_a_name_or_data_is_malformed():
    design = read_design([node("n1"), document("BaremetalNode", None, {}), document("HostProfile", "p", [])])
    assert [each.name for each in design.nodes] == ["n1"]
    assert [problem.code for problem in design.malformed] == ["DD001", "DD001"]


def test_a_missing_profile_and_a_missing_region_are_warnings_and_a_design_without_nodes_is_an_error():
    levels = {problem.code: problem.level for problem in read_design([node("n1", host_profile="nowhere")]).problems}
    assert levels == {"DD1002": "Warning", "DD1003": "Warning"}
    levels = {problem.code: problem.level for problem in read_design([document("Region", "r", {})]).problems}
    assert levels == {"DD1001": "Error"}
