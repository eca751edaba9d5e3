"""Start, end, skip and tasks (seed 001, CLI; contract: fuel-task-graph, 3.6)."""

from typing import Any

import pytest

from shipyard_api.domain.task_graph.selection import Selection, check_selection, select
from tests.task_graphs import graph, group, real_graph, stage, task

GRAPH = graph(
    stage("pre_deployment"),
    stage("deploy", requires=["pre_deployment"]),
    task("hiera", required_for=["pre_deployment"], role="*"),
    task("netconfig", requires=["hiera"], required_for=["pre_deployment"], role="*"),
    group("controller", requires=["pre_deployment"], required_for=["deploy"]),
    group("compute", requires=["controller"], required_for=["deploy"]),
    task("galera", requires=["netconfig"], groups=["controller"]),
    task("nova", groups=["compute"]),
    task("report", requires=["deploy"], role="*"),
)
EVERY = set(GRAPH.tasks)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        pytest.param({}, EVERY, id="everything"),
        pytest.param({"end": "pre_deployment"}, {"hiera", "netconfig", "pre_deployment"}, id="end at a stage"),
        pytest.param({"end": "netconfig"}, {"hiera", "netconfig"}, id="end at a task"),
        pytest.param(
            {"end": "controller"},
            {"hiera", "netconfig", "pre_deployment", "galera", "controller"},
            id="a group ends when its tasks have ended",
        ),
        pytest.param(
            {"start": "galera"},
            {"galera", "controller", "compute", "deploy", "report"},
            id="start keeps later groups, not their tasks",
        ),
        pytest.param(
            {"start": "controller"},
            {"controller", "compute", "deploy", "report"},
            id="the tasks of a group are before it",
        ),
        pytest.param({"start": "netconfig", "end": "galera"}, {"netconfig", "galera"}, id="start and end"),
        pytest.param({"start": "galera", "end": "galera"}, {"galera"}, id="one task"),
        pytest.param(
            {"end": "deployment", "start": "nova"}, {"nova", "compute", "deploy"}, id="the other name of a stage"
        ),
        pytest.param(
            {"skip": ("netconfig", "nowhere")},
            EVERY - {"netconfig"},
            id="skip drops one task, unknown ones are ignored",
        ),
        pytest.param({"skip": ("controller", "deploy")}, EVERY, id="groups and stages cannot be skipped"),
        pytest.param({"end": "netconfig", "skip": ("hiera",)}, {"netconfig"}, id="end and skip"),
        pytest.param({"tasks": ("netconfig", "hiera")}, {"netconfig", "hiera"}, id="tasks, without their dependencies"),
        pytest.param({"tasks": ()}, set(), id="no tasks"),
    ],
)
def test_a_selection_keeps(chosen: dict[str, Any], expected: set[str]) -> None:
    assert check_selection(GRAPH, Selection(**chosen)) == ()
    assert select(GRAPH, Selection(**chosen)) == expected


@pytest.mark.parametrize(
    ("chosen", "path", "words"),
    [
        ({"start": "x"}, "/start", "'x' is not in the task graph"),
        ({"end": "x"}, "/end", "'x' is not in the task graph"),
        ({"tasks": ("hiera", "x")}, "/tasks/1", "'x' is not in the task graph"),
        ({"start": "nova", "end": "galera"}, "/end", "'galera' does not depend on 'nova'"),
    ],
)
def test_a_selection_that_means_nothing_is_refused(chosen: dict[str, Any], path: str, words: str) -> None:
    (finding,) = check_selection(GRAPH, Selection(**chosen))

    assert finding.path == path
    assert words in finding.message


def pairs(entries: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return (earlier, later) as the document says, worked out without the code under test."""
    groups = [entry["id"] for entry in entries if entry["type"] == "group"]
    found = set()
    for entry in entries:
        found |= {(name, entry["id"]) for name in entry.get("requires", [])}
        found |= {(entry["id"], name) for name in entry.get("required_for", [])}
        found |= {(entry["id"], name) for name in entry.get("groups", []) if name in groups}
        if "/.*/" in entry.get("groups", []):
            found |= {(entry["id"], name) for name in groups}
        if entry["type"] == "group":
            found |= {(name, entry["id"]) for name in entry.get("tasks", [])}
    return found


def closure(found: set[tuple[str, str]], start: str) -> set[str]:
    seen = {start}
    while more := {later for earlier, later in found if earlier in seen} - seen:
        seen |= more
    return seen


@pytest.mark.parametrize("name", ["6.1", "7.0", "8.0", "9.0", "9.2"])
def test_a_selection_of_a_real_graph_is_what_can_be_reached(name: str) -> None:
    entries = real_graph(name)
    made = graph(*entries)
    forwards = pairs(entries)
    backwards = {(later, earlier) for earlier, later in forwards}
    ids = [entry["id"] for entry in entries]

    for start, end in zip(ids[::9], ids[4::9], strict=False):
        later, earlier = closure(forwards, start), closure(backwards, end)
        assert select(made, Selection(start=start)) == later
        assert select(made, Selection(end=end)) == earlier
        both = Selection(start=start, end=end)
        if end in later:
            assert select(made, both) == later & earlier
        else:
            assert [finding.name for finding in check_selection(made, both)] == ["EndNotReachable"]
    real = {entry["id"] for entry in entries if entry["type"] not in ("group", "stage")}
    assert select(made, Selection(skip=tuple(ids[::3]))) == set(ids) - (set(ids[::3]) & real)
