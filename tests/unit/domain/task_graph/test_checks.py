"""Checking a task document: every fault is named with its task and its place (contract: fuel-task-graph, 3.2)."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from shipyard_api.domain.findings import Level, errors
from shipyard_api.domain.task_graph.checks import check_tasks
from tests.task_graphs import SEED_GRAPH, group, real_graph, stage, task
from tests.unit.tables import every_row, table

SCHEMA_FILE = Path(__file__).parents[4] / "schemas" / "task_graph_v1.yaml"


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    return Draft202012Validator(yaml.safe_load(SCHEMA_FILE.read_text("utf-8")))


def typed(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"id": "a", "type": kind, "parameters": parameters}


def related(**relation: Any) -> dict[str, Any]:
    return task("a", **{"cross-depends": [relation]})


REFUSED_BY_THE_SCHEMA: dict[str, tuple[object, str]] = {
    "no task": ([1], "/0"),
    "no type": ([{"id": "a"}], "/0"),
    "long id": ([stage("x" * 129)], "/0/id"),
    "reserved id *": ([stage("*")], "/0/id"),
    "id like an expression": ([stage("/a/")], "/0/id"),
    "terminal escape in an id": ([stage("\x1b[2J")], "/0/id"),
    "unknown type": ([typed("python", code="1")], "/0/type"),
    "requires holds a number": ([task("a", requires=[1])], "/0/requires/0"),
    "version of two parts": ([task("a", version="2.0")], "/0/version"),
    "strategy unknown": ([group("a", "two_by_two")], "/0/parameters/strategy/type"),
    "amount of 0": ([group("a", amount=0)], "/0/parameters/strategy/amount"),
    "strategy without type": ([task("a", strategy={"amount": 1})], "/0/strategy"),
    "group without nodes": ([{"id": "a", "type": "group", "parameters": {"strategy": {"type": "parallel"}}}], "/0"),
    "stage with parameters": ([typed("stage", cmd="x")], "/0/parameters"),
    "puppet without manifest": ([typed("puppet", puppet_modules="/m")], "/0/parameters"),
    "shell without command": ([typed("shell", timeout=1)], "/0/parameters"),
    "rsync without source": ([typed("rsync", dst="/d")], "/0/parameters"),
    "copy_files without destination": ([typed("copy_files", files=[{"src": "/a"}])], "/0/parameters/files/0"),
    "negative retries": ([typed("shell", cmd="x", retries=-1)], "/0/parameters/retries"),
    "relation without name": ([related(role="x")], "/0/cross-depends/0"),
    "relation with an unknown policy": ([related(name="x", policy="most")], "/0/cross-depends/0/policy"),
    "relations are text": ([task("a", **{"cross-depended-by": "x"})], "/0/cross-depended-by"),
    "too many tasks": ([stage(f"s{number}") for number in range(2001)], ""),
}


@table(("data", "path"), REFUSED_BY_THE_SCHEMA)
def test_the_schema_refuses_a_malformed_document_at_its_place(
    schema: Draft202012Validator, data: object, path: str
) -> None:
    found = {"".join(f"/{step}" for step in fault.absolute_path) for fault in schema.iter_errors(data)}

    assert path in found
    check_tasks(data)  # the check copes with it


@pytest.mark.parametrize("tolerance", [3, -2, "3", "-1", "20%", "-30%", "-0%", " 5 ", " -30 % "])
def test_the_schema_takes_every_tolerance_that_the_real_engines_take(
    schema: Draft202012Validator, tolerance: int | str
) -> None:
    entries = [group("a", fault_tolerance=tolerance)]
    assert [*schema.iter_errors(entries), *errors(check_tasks(entries))] == []


REFUSED_BY_THE_CHECK: dict[str, tuple[list[dict[str, Any]], str, str, str]] = {
    "duplicate id": ([task("a"), task("a")], "DuplicateTask", "/1/id", "entries 0 and 1"),
    "both names of a stage": (
        [stage("deploy"), stage("deployment")],
        "DuplicateTask",
        "/1/id",
        "same stage as 'deploy'",
    ),
    "unknown in requires": ([task("abc", requires=["abd"])], "UnknownTask", "/0/requires/0", "Did you mean 'abc'?"),
    "unknown in required_for": (
        [task("a", required_for=["x"])],
        "UnknownTask",
        "/0/required_for/0",
        "'x' in required_for",
    ),
    "unknown group": ([task("a", groups=["x"])], "UnknownTask", "/0/groups/0", "'x' in groups"),
    "expression that means nothing": ([task("a", requires=["/x/"])], "UnknownTask", "/0/requires/0", "'/x/'"),
    "group as stage": ([group("g"), task("a", stage="g")], "WrongReference", "/1/stage", "not a stage"),
    "bad expression in groups": ([task("a", groups=["/(/"])], "InvalidPattern", "/0/groups/0", "'a'"),
    "bad expression in a relation": ([related(name="/(?i)x/")], "InvalidPattern", "/0/cross-depends/0", "'(?'"),
    "bad condition": ([task("a", condition="1 <")], "InvalidCondition", "/0/condition", "'a'"),
    "tolerance is text": (
        [group("g", fault_tolerance="some")],
        "InvalidFaultTolerance",
        "/0/fault_tolerance",
        "write 3, 20% or -2",
    ),
    "requires itself": ([task("a", requires=["a"])], "TaskCycle", "/0", "a -> a"),
    "cycle through a group": (
        [group("g", requires=["s"]), stage("s", requires=["a"]), task("a", groups=["h"], requires=["g"]), group("h")],
        "TaskCycle",
        "/0",
        "g -> a -> s -> g",
    ),
    "member that waits for its group": (
        [group("g"), task("a", groups=["g"], requires=["g"])],
        "TaskCycle",
        "/0",
        "g -> a -> g",
    ),
    "copy out of a directory": (
        [typed("copy_files", files=[{"src": "/a", "dst": "/b"}, {"src": "/a", "dst": "../b"}])],
        "UnsafePath",
        "/0/parameters/files/1/dst",
        "absolute",
    ),
    "too many references": (
        [task(f"a{number}", requires=["/.*/"]) for number in range(600)],
        "TaskGraphTooLarge",
        "",
        "references",
    ),
    "expressions that take too long": (
        [task(f"a{number:0>100}", requires=[f"/{'(.*)*' * 40}x{number}/"]) for number in range(100)],
        "TaskGraphTooLarge",
        "",
        "regular expressions of the graph take too long",
    ),
    "copy from out of a directory": (
        [typed("copy_files", files=[{"src": "../../etc/shadow", "dst": "/b"}])],
        "TaskCannotRun",
        "/0/parameters/files/0/src",
        "'..'",
    ),
    "a relative path": ([typed("upload_file", path="a/b", data="")], "UnsafePath", "/0/parameters/path", "absolute"),
    "a path that goes up": ([typed("rsync", src="/a", dst="/a/../b")], "UnsafePath", "/0/parameters/dst", "'..'"),
    "a path with a NUL": ([typed("sync", src="/a", dst="/a\0b")], "UnsafePath", "/0/parameters/dst", "absolute"),
    "required for itself": ([task("a", required_for=["a"])], "TaskCycle", "/0", "a -> a"),
    "an id that reads backwards": ([task("a\u202eb")], "HiddenCharacter", "/0/id", "U+202E"),
    "a tag with a space of no width": ([task("a", tags=["x\u200b"])], "HiddenCharacter", "/0/tags", "U+200B"),
    "a name of nodes": (
        [task("mas"), task("a", requires=["master"])],
        "UnknownTask",
        "/1/requires/0",
        "stands for nodes",
    ),
}


def test_a_parameter_with_a_key_is_checked_when_its_value_is_known() -> None:
    entries = [typed("shell", cmd="ls", cwd="{DIRECTORY}"), typed("shell", cmd={"yaql_exp": "$"})]
    entries[1]["id"] = "b"

    assert errors(check_tasks(entries)) == ()


@every_row(REFUSED_BY_THE_CHECK)
def test_the_check_refuses_what_the_schema_cannot_see(
    entries: list[dict[str, Any]], name: str, path: str, words: str
) -> None:
    (finding,) = errors(check_tasks(entries))

    assert (finding.name, finding.path) == (name, path)
    assert words in finding.message


ACCEPTED: dict[str, list[dict[str, Any]]] = {
    "the worked example of the seed": SEED_GRAPH,
    "keys of the user's own": [task("a", test_pre={"cmd": "x"}, **{"cross-depened-by": 1})],
    "the selectors": [task("a", role="*"), task("b", role="master"), task("c", role=["/x/"]), task("d", tags=[])],
    "a role that has what only expressions may not have": [task("a", role=["x(y", "/x(y", "(/"])],
    "an expression over groups": [group("g"), task("a", groups=["/.*/"])],
    "a stage of the seed that is not declared": [task("a", stage="pre_deployment", required_for=["deployment"])],
    "relations in both spellings": [task("a", cross_depends=[{"name": "b", "role": None}]), task("b")],
    "puppet with the spelling of the seed": [typed("puppet", puppet_manifests="/m", puppet_modules="/n")],
    "skipped without parameters": [{"id": "a", "type": "skipped"}],
    "a tolerance of each kind": [
        group("a", fault_tolerance=1),
        group("b", fault_tolerance="5%"),
        group("c", fault_tolerance=-1),
    ],
}


@table("entries", ACCEPTED)
def test_sound_documents_pass_without_a_finding(schema: Draft202012Validator, entries: list[dict[str, Any]]) -> None:
    assert [fault.message for fault in schema.iter_errors(entries)] == []
    assert check_tasks(entries) == ()


WARNED: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "role beside groups": ([group("g"), task("a", groups=["g"], role="*")], "FieldWithoutEffect", "/1/role"),
    "condition of a group": ([group("g", condition="true")], "FieldWithoutEffect", "/0/condition"),
    "tolerance of a stage": ([stage("a", fault_tolerance=1)], "FieldWithoutEffect", "/0/fault_tolerance"),
    "a task among the groups": ([task("a"), task("b", groups=["a"])], "WrongReference", "/1/groups/0"),
    "upload without data": ([typed("upload_file", path="/x")], "MissingParameter", "/0/parameters"),
    "unknown relation": ([related(name="x")], "UnknownCrossTask", "/0/cross-depends/0"),
    "computed condition": ([task("a", condition={"yaql_exp": "$"})], "ComputedValue", ""),
}


@every_row(WARNED)
def test_what_has_no_effect_is_a_warning(entries: list[dict[str, Any]], name: str, path: str) -> None:
    (finding,) = check_tasks(entries)

    assert (finding.name, finding.path, finding.level) == (name, path, Level.WARNING)


@every_row([(1, ""), (5, ""), (6, " and 1 more")])
def test_some_of_the_tasks_whose_values_are_computed_are_named(number: int, more: str) -> None:
    (finding,) = check_tasks([task(f"t{n}", condition={"yaql_exp": "$"}) for n in range(number)])

    names = ", ".join(f"t{n}" for n in range(min(number, 5)))
    assert finding.message.endswith(f"so these tasks do not run: {names}{more}.")


def test_ten_unknown_names_have_a_suggestion_and_every_use_of_a_bad_expression_is_named() -> None:
    unknown = errors(check_tasks([task("abc", requires=[f"abc{number}" for number in range(12)])]))
    assert ["Did you mean 'abc'?" in finding.message for finding in unknown] == [True] * 10 + [False] * 2

    bad = errors(check_tasks([task("a", requires=["/(/", "/)/"], groups=["/a/", "/(/"])]))
    assert [(finding.name, finding.path) for finding in bad] == [
        ("InvalidPattern", path) for path in ("/0/requires/0", "/0/requires/1", "/0/groups/1")
    ]


@every_row([("x", "not in this graph"), ("g", "a group, not a task"), ("/g|h/", "a group, not a task")])
def test_a_relation_to_what_is_no_task_says_why_it_has_no_effect(name: str, wrong: str) -> None:
    (finding,) = check_tasks([group("g"), group("h"), related(name=name)])

    assert finding.message == f"Task 'a' names '{name}' in cross-depends, which is {wrong}. It has no effect."


@table(("most", "refused"), {"just as many": (6, []), "one more": (5, ["TaskGraphTooLarge"])})
def test_an_expression_counts_as_a_reference_to_every_task(
    most: int, refused: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shipyard_api.domain.task_graph.checks.MOST_REFERENCES", most)

    found = check_tasks([task("a", requires=["b", "c", "/c/"]), task("b"), task("c")])

    assert [finding.name for finding in found] == refused


def test_a_long_cycle_is_cut_in_its_message() -> None:
    (finding,) = errors(check_tasks([task(f"t{n}", requires=[f"t{(n + 1) % 200}"]) for n in range(200)]))

    assert "t0 -> t199 -> " in finding.message
    assert "(171 more)" in finding.message
    assert len(finding.message) < 400


def test_a_cycle_names_the_key_of_its_first_step() -> None:
    (finding,) = errors(check_tasks([task("a", required_for=["b"]), task("b", required_for=["a"])]))

    assert finding.diagnostic == "The first step comes from required_for of these two tasks."


def test_all_faults_are_reported_at_once() -> None:
    found = errors(check_tasks([task("a", condition="?"), task("a", requires=["x", "a"], groups=["y"])]))

    assert [finding.name for finding in found] == [
        "DuplicateTask",
        "InvalidCondition",
        "UnknownTask",
        "UnknownTask",
        "TaskCycle",
    ]


def test_a_part_of_a_graph_may_refer_to_tasks_of_the_rest() -> None:
    part = [task("a", requires=["x"], groups=["y"], stage="z")]

    assert check_tasks(part, complete=False) == ()
    assert len(check_tasks(part)) == 3


@pytest.mark.parametrize("name", ["6.1", "9.2"])
def test_a_real_graph_has_no_errors(schema: Draft202012Validator, name: str) -> None:
    entries = real_graph(name)

    assert [fault.message for fault in schema.iter_errors(entries)] == []
    assert errors(check_tasks(entries)) == ()


def test_the_real_graph_that_names_two_missing_groups_is_refused_with_their_names(
    schema: Draft202012Validator,
) -> None:
    entries = real_graph("master")

    assert [fault.message for fault in schema.iter_errors(entries)] == []
    first, second = errors(check_tasks(entries))
    assert "'ssl-dns-setup' names 'primary-neutron' in groups" in first.message
    assert "'ssl-dns-setup' names 'neutron' in groups" in second.message
