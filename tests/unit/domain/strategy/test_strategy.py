"""Reading and checking a deployment strategy (design: Groups, Dependencies, Selectors)."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from shipyard_api.domain.findings import Finding, Level, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.strategy.strategy import (
    ALL_AT_ONCE,
    DeploymentGroup,
    GroupName,
    Strategy,
    check_groups,
    check_members,
    parse_strategy,
)
from tests.factories import five_groups_data, five_groups_strategy, group, group_entry, selector, strategy
from tests.unit.tables import every_row, table

SCHEMA_FILE = Path(__file__).parents[4] / "schemas" / "deployment_strategy_v1.yaml"


def data(*entries: object) -> dict[str, Any]:
    return {"groups": list(entries)}


def names_and_paths(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.name, finding.path) for finding in findings]


def parse_one(**fields: Any) -> DeploymentGroup:
    return parse_strategy(data(group_entry("g", **fields))).groups[0]


# --- The document is held to a schema of ours -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    return Draft202012Validator(yaml.safe_load(SCHEMA_FILE.read_text("utf-8")))


def places(schema: Draft202012Validator, value: object) -> list[str]:
    return sorted({"/".join(map(str, fault.absolute_path)) for fault in schema.iter_errors(value)})


@pytest.mark.parametrize("field", ["name", "critical", "depends_on", "selectors"])
def test_name_critical_depends_on_and_selectors_are_required(schema: Draft202012Validator, field: str) -> None:
    entry = group_entry("g")
    del entry[field]

    (fault,) = schema.iter_errors(data(entry))

    assert fault.validator == "required"
    assert f"'{field}'" in fault.message


@table(
    "value",
    {
        "empty depends_on and selectors, no success_criteria": data(group_entry("g")),
        "label texts": data(group_entry("g", selectors=[{"node_labels": ["a:b", "a: b", "a : b:c"]}])),
        "acceptance tasks": data(group_entry("g", accept=["disks", "net"])),
        "the design's example": five_groups_data(),
    },
)
def test_the_schema_accepts_what_the_design_allows(schema: Draft202012Validator, value: object) -> None:
    assert places(schema, value) == []


@table(
    ("fields", "place"),
    {
        "critical is true or false, no word": ({"critical": "yes"}, "critical"),
        "depends_on is a list": ({"depends_on": "a"}, "depends_on"),
        "selectors is a list": ({"selectors": {}}, "selectors"),
        "misspelt criterion": ({"selectors": [{"node_name": ["a"]}]}, "selectors/0"),
        "criterion is a list": ({"selectors": [{"node_tags": "control"}]}, "selectors/0/node_tags"),
        "label without colon": ({"selectors": [{"node_labels": ["ab"]}]}, "selectors/0/node_labels"),
        "label without key": ({"selectors": [{"node_labels": [": b"]}]}, "selectors/0/node_labels"),
        "two labels in one": ({"selectors": [{"node_labels": [{"a": "b", "c": "d"}]}]}, "selectors/0/node_labels"),
        "acceptance task named twice": ({"accept": ["a", "a"]}, "accept"),
        "too many acceptance tasks": ({"accept": [str(number) for number in range(51)]}, "accept"),
        "empty name": ({"name": ""}, "name"),
        "more than 100 %": (
            {"success_criteria": {"percent_successful_nodes": 101}},
            "success_criteria/percent_successful_nodes",
        ),
        "true is no number": (
            {"success_criteria": {"maximum_failed_nodes": True}},
            "success_criteria/maximum_failed_nodes",
        ),
    },
)
def test_the_schema_refuses_what_the_design_excludes(
    schema: Draft202012Validator, fields: dict[str, Any], place: str
) -> None:
    (found,) = places(schema, data({**group_entry("g"), **fields}))

    assert found.startswith(f"groups/0/{place}")


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_the_example_of_the_design_is_read_as_it_is_written() -> None:
    compute = {"selectors": [selector(tags=["compute"], racks=["rack01"])], "percent": 50, "after": ["control-nodes"]}

    assert five_groups_strategy() == strategy(
        group(
            "control-nodes",
            critical=True,
            after=["ntp-node"],
            selectors=[selector(tags=["control"], racks=["rack03"])],
            percent=90,
            minimum=3,
            maximum_failed=1,
        ),
        group("compute-nodes-1", **compute),  # type: ignore[arg-type]
        group("compute-nodes-2", **{**compute, "selectors": [selector(tags=["compute"], racks=["rack02"])]}),  # type: ignore[arg-type]
        group("monitoring-nodes", selectors=[selector(tags=["monitoring"], racks=["rack01", "rack02", "rack03"])]),
        group("ntp-node", critical=True, selectors=[selector(names=["ntp01"])], minimum=1),
    )


CRITERIA = ("node_names", "node_labels", "node_tags", "rack_names")
ENABLED = selector(labels=[("ucp_control_plane", "enabled")])


@every_row(
    {
        "null": (dict.fromkeys(CRITERIA), selector()),
        "label as a mapping": ({"node_labels": [{"ucp_control_plane": "enabled"}]}, ENABLED),
        "label as a text": ({"node_labels": ["ucp_control_plane: enabled"]}, ENABLED),
        "label without a space": ({"node_labels": ["ucp_control_plane:enabled"]}, ENABLED),
        "label with many spaces": ({"node_labels": ["  ucp_control_plane :  enabled "]}, ENABLED),
        "further colons": ({"node_labels": ["mac:52:54:00"]}, selector(labels=[("mac", "52:54:00")])),
        "two labels with one key are alternatives": (
            {"node_labels": [{"zone": "a"}, {"zone": "b"}]},
            selector(labels=[("zone", "a"), ("zone", "b")]),
        ),
    },
)
def test_a_selector_is_read_however_it_is_written(written: dict[str, object], read: Selector) -> None:
    assert parse_one(selectors=[written]).selectors == (read,)


def test_a_threshold_written_as_75_point_0_is_the_whole_number(schema: Draft202012Validator) -> None:
    written = {"percent_successful_nodes": 75.0}
    assert places(schema, data(group_entry("g", success_criteria=written))) == []

    percent = parse_one(success_criteria=written).success_criteria.percent_successful_nodes

    assert percent == 75
    assert isinstance(percent, int)


def test_a_parent_named_twice_is_one_parent() -> None:
    read = parse_strategy(data(group_entry("a"), group_entry("b", depends_on=["a", "a"])))

    assert read.groups[1].depends_on == ("a",)


def test_a_site_without_a_strategy_is_one_critical_group_of_all_nodes_at_100_percent() -> None:
    (everything,) = ALL_AT_ONCE.groups

    assert everything.critical
    assert everything.selectors == ()
    assert everything.success_criteria == SuccessCriteria(percent_successful_nodes=100)


# --- Checking ---------------------------------------------------------------------------------------------------------


CYCLE, UNKNOWN, TWICE, HIDDEN, NO_KEY = (
    "DeploymentGroupCycleError",
    "UnknownDeploymentGroup",
    "DuplicateDeploymentGroup",
    "HiddenCharacter",
    "UnknownDeploymentGroupKey",
)


def test_the_example_of_the_design_has_no_findings() -> None:
    assert check_groups(five_groups_data()) == ()


@every_row(
    {
        "a circle": (
            [
                group_entry("first"),
                group_entry("a", depends_on=["c"]),
                group_entry("b", depends_on=["a", "first"]),
                group_entry("c", depends_on=["b"]),
            ],
            [(CYCLE, "/groups/1/depends_on")],
            "The following are involved in a circular dependency: a -> c -> b -> a",
        ),
        "a group that depends on itself": (
            [group_entry("a"), group_entry("b", depends_on=["a", "b"])],
            [(CYCLE, "/groups/1/depends_on/1")],
            "have groups that form a cycle.",
        ),
        "an unknown parent": (
            [group_entry("control-nodes"), group_entry("b", depends_on=["control-node"])],
            [(UNKNOWN, "/groups/1/depends_on/0")],
            "Did you mean 'control-nodes'?",
        ),
        "a name used twice": (
            [group_entry("a"), group_entry("b"), group_entry("a"), group_entry("a")],
            [(TWICE, "/groups/2/name"), (TWICE, "/groups/3/name")],
            "groups 0 and 2",
        ),
        **{
            ascii(name): ([group_entry("ok é"), group_entry(name)], [(HIDDEN, "/groups/1/name")], "")
            for name in ("a\u202eb", "a\u200bb", "a\u00adb")
        },
    },
)
def test_what_is_wrong_with_groups_is_an_error_with_its_place(
    entries: list[dict[str, Any]], found: list[tuple[str, str]], words: str
) -> None:
    findings = check_groups(data(*entries))

    assert names_and_paths(findings) == found
    assert errors(findings) == findings
    told = "\n".join(f"{finding.message}\n{finding.diagnostic}" for finding in findings)
    assert words in told
    assert told.replace("\n", "").isprintable()
    assert ("Did you mean" in told) == ("Did you mean" in words)


def test_a_key_that_means_nothing_is_a_warning_with_the_likely_key() -> None:
    findings = check_groups(data(group_entry("a", sucess_criteria={}, note="x", **{"a/b~c": 1})))

    assert {finding.level for finding in findings} == {Level.WARNING}
    assert names_and_paths(findings) == [
        (NO_KEY, "/groups/0/sucess_criteria"),
        (NO_KEY, "/groups/0/note"),
        (NO_KEY, "/groups/0/a~1b~0c"),
    ]
    assert "Did you mean 'success_criteria'?" in findings[0].message


def test_a_document_of_unknown_parents_is_answered_without_searching_a_hint_for_each() -> None:
    wrong = [group_entry(f"group-{number:04}", depends_on=[f"grop-{number:04}"]) for number in range(100)]

    findings = check_groups(data(*wrong))

    assert len(findings) == 100
    assert "Did you mean 'group-0000'?" in findings[0].message
    assert sum("Did you mean" in finding.message for finding in findings) == 10


def test_all_findings_come_at_once() -> None:
    findings = check_groups(
        data(
            group_entry("a", depends_on=["b", "nowhere"]),
            group_entry("b", depends_on=["a", "b"]),
            group_entry("a"),
            group_entry("c", dependson=[]),
        )
    )

    assert sorted(names_and_paths(findings)) == [
        ("DeploymentGroupCycleError", "/groups/0/depends_on"),
        ("DeploymentGroupCycleError", "/groups/1/depends_on/1"),
        ("DuplicateDeploymentGroup", "/groups/2/name"),
        ("UnknownDeploymentGroup", "/groups/0/depends_on/1"),
        ("UnknownDeploymentGroupKey", "/groups/3/dependson"),
    ]
    assert len(errors(findings)) == 4


@every_row(
    {
        "null": None,
        "list": [],
        "no groups": {},
        "entries of other types": data(None, 3, "a", []),
        "entry without name": data({"critical": True}),
        "parents of other types": data({"name": "a", "depends_on": [[], {}, 3]}),
    },
)
def test_what_the_schema_reports_is_not_reported_again(value: object) -> None:
    assert check_groups(value) == ()


# --- Which nodes the groups select ------------------------------------------------------------------------------------


def members(read: Strategy, *selected: str) -> dict[GroupName, frozenset[NodeName]]:
    names = [frozenset(NodeName(name) for name in words.split()) for words in selected]
    return dict(zip((entry.name for entry in read.groups), names, strict=True))


def test_a_group_that_selects_no_node_is_a_warning() -> None:
    read = strategy(group("a"), group("b"))

    findings = check_members(read, members(read, "n1", ""))

    assert [finding.level for finding in findings] == [Level.WARNING]
    assert names_and_paths(findings) == [("DeploymentGroupEmpty", "/groups/1/selectors")]


@every_row([(1, False), (2, False), (3, True)])
def test_a_minimum_above_the_number_of_nodes_is_a_warning(minimum: int, warned: bool) -> None:
    read = strategy(group("a", minimum=minimum))

    findings = check_members(read, members(read, "n1 n2"))

    path = "/groups/0/success_criteria/minimum_successful_nodes"
    assert names_and_paths(findings) == ([("DeploymentGroupMinimumUnreachable", path)] if warned else [])
    assert errors(findings) == ()


def test_the_same_node_in_several_groups_is_allowed_and_only_told() -> None:
    read = strategy(group("a"), group("b"), group("c"))

    (finding,) = check_members(read, members(read, "n1 n2", "n2 n3", "n3 n2"))

    assert finding.level is Level.INFO
    assert finding.name == "NodesInSeveralDeploymentGroups"
    assert "2 node(s)" in finding.message
    assert "n2 (a, b, c); n3 (b, c)" in finding.message
