"""One suite over both validators: the same faults, at the same places, by the same rules."""

from __future__ import annotations

import pytest

from shipyard_api.adapters.schema_files.schemas import SchemaFiles, fast, reference
from shipyard_api.ports.schemas import UnknownSchema
from tests.conftest import ROOT
from tests.factories import five_groups_data, group_entry

CASES = {
    "nothing": ({}, ["/"]),
    "no-groups": ({"groups": 3}, ["/groups"]),
    "group-without-keys": ({"groups": [{}]}, ["/groups/0"] * 4),
    "critical-as-text": ({"groups": [group_entry("a", critical="yes")]}, ["/groups/0/critical"]),
    "unknown-criterion": (
        {"groups": [group_entry("a", selectors=[{"node_name": ["x"]}])]},
        ["/groups/0/selectors/0"],
    ),
    "percent-too-high": (
        {"groups": [group_entry("a", success_criteria={"percent_successful_nodes": 101})]},
        ["/groups/0/success_criteria/percent_successful_nodes"],
    ),
    "label-without-value": (
        {"groups": [group_entry("a", selectors=[{"node_labels": ["key:"]}])]},
        ["/groups/0/selectors/0/node_labels/0"],
    ),
    "label-with-two-keys": (
        {"groups": [group_entry("a", selectors=[{"node_labels": [{"a": "b", "c": "d"}]}])]},
        ["/groups/0/selectors/0/node_labels/0"],
    ),
}


@pytest.fixture(params=[fast, reference], ids=["jsonschema-rs", "jsonschema"])
def schemas(request: pytest.FixtureRequest) -> SchemaFiles:
    return SchemaFiles(ROOT / "schemas", request.param)


def test_every_fault_is_found_where_it_is(schemas: SchemaFiles) -> None:
    assert schemas.check("deployment_strategy_v1", five_groups_data()) == ()
    for title, (value, paths) in CASES.items():
        found = schemas.check("deployment_strategy_v1", value)
        assert sorted(finding.path or "/" for finding in found) == sorted(paths), title
        assert all(finding.name == "SchemaError" and finding.message for finding in found), title
    (named,) = schemas.check("action_v1", {})
    assert named.diagnostic == "required : ['name']"
    with pytest.raises(UnknownSchema):
        schemas.check("no_such_schema", {})


def test_a_flood_of_faults_is_cut_off(schemas: SchemaFiles) -> None:
    found = schemas.check("deployment_strategy_v1", {"groups": ["x"] * 250})
    assert len(found) == 201
    assert "not listed" in found[-1].message


def test_of_a_large_value_the_first_fault_is_found() -> None:
    (first,) = SchemaFiles(ROOT / "schemas", fast).check("task_graph_v1", [1] * 30_000)

    assert first.message.endswith("has more than 2000 items")
