"""Start, end, skip and tasks (seed 001, CLI; contract: fuel-task-graph, 3.6)."""

from typing import Any

from shipyard_api.domain.task_graph.selection import Selection, check_selection, select
from tests.task_graphs import graph, group, real_graph, stage, task
from tests.unit.tables import every_row

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


@every_row(
    {
        "end at a stage": ({"end": "pre_deployment"}, {"hiera", "netconfig", "pre_deployment"}),
        "a group ends when its tasks have ended": (
            {"end": "controller"},
            {"hiera", "netconfig", "pre_deployment", "galera", "controller"},
        ),
        "start keeps later groups, not their tasks": (
            {"start": "galera"},
            {"galera", "controller", "compute", "deploy", "report"},
        ),
        "the tasks of a group are before it": ({"start": "controller"}, {"controller", "compute", "deploy", "report"}),
        "start and end": ({"start": "netconfig", "end": "galera"}, {"netconfig", "galera"}),
        "the other name of a stage": ({"end": "deployment", "start": "nova"}, {"nova", "compute", "deploy"}),
        "skip drops one task, unknown ones are ignored": ({"skip": ("netconfig", "nowhere")}, EVERY - {"netconfig"}),
        "groups and stages cannot be skipped": ({"skip": ("controller", "deploy")}, EVERY),
        "end and skip": ({"end": "netconfig", "skip": ("hiera",)}, {"netconfig"}),
        "tasks, without their dependencies": ({"tasks": ("netconfig", "hiera")}, {"netconfig", "hiera"}),
    },
)
def test_a_selection_keeps(chosen: dict[str, Any], expected: set[str]) -> None:
    assert check_selection(GRAPH, Selection(**chosen)) == ()
    assert select(GRAPH, Selection(**chosen)) == expected


@every_row(
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


@every_row(["6.1", "9.2"])
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
