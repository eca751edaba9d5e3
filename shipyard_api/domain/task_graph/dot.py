"""The graph as DOT, for Graphviz (contract: fuel-task-graph, 5.3)."""

import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.tasks import Kind, TaskId

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_KEYWORDS = frozenset({"node", "edge", "graph", "digraph", "subgraph", "strict"})
_STYLES = {
    Kind.STAGE: "color=red, shape=rect, style=filled",
    Kind.GROUP: 'color=lightskyblue, shape=box, style="filled, rounded"',
    Kind.SKIPPED: "color=gray95",
}
_TASK = "color=yellowgreen, style=filled"


class Drawing(Struct, frozen=True):
    """The content of a drawing.

    ``tasks``: the others are drawn as skipped; None for all. ``parents_for``: only this id and its direct predecessors.
    ``remove``: kinds of entries that are left out.
    """

    tasks: tuple[str, ...] | None = None
    parents_for: str | None = None
    remove: tuple[str, ...] = ()


def check_drawing(graph: TaskGraph, drawing: Drawing) -> tuple[Finding, ...]:
    """Return the faults of a request for a drawing, in the words of Fuel."""
    findings = []
    unknown = [name for name in drawing.tasks or () if name not in graph.tasks]
    if unknown:
        findings.append(error("UnknownTask", f"Tasks {','.join(unknown)} are not present in deployment graph"))
    if drawing.parents_for is not None and drawing.parents_for not in graph.tasks:
        findings.append(error("UnknownTask", f"Task {drawing.parents_for} is not present in graph"))
    kinds = {kind.value for kind in Kind}
    unknown = [name for name in drawing.remove if name not in kinds]
    if unknown:
        findings.append(error("UnknownType", f"Task types {','.join(unknown)} do not exist"))
    return tuple(findings)


def dot(graph: TaskGraph, drawing: Drawing = Drawing()) -> str:  # noqa: B008  # immutable
    """Return the graph in the DOT language, always the same text for the same graph."""
    drawn = set(graph.tasks)
    if drawing.parents_for is not None:
        wanted = TaskId(drawing.parents_for)
        drawn = {wanted, *graph.before[wanted]}
    kinds = {task: _kind(graph, task, drawing) for task in drawn}
    drawn = {task for task in drawn if kinds[task].value not in drawing.remove}
    lines = [f"{_id(task)} [{_STYLES.get(kinds[task], _TASK)}];" for task in graph.tasks if task in drawn]
    lines += _edges(graph, drawn, drawing)
    return "\n".join(["strict digraph G {", *lines, "}", ""])


def _kind(graph: TaskGraph, task: TaskId, drawing: Drawing) -> Kind:
    kind = graph.tasks[task].kind
    chosen = drawing.tasks is None or task in drawing.tasks or kind in (Kind.GROUP, Kind.STAGE)
    return kind if chosen else Kind.SKIPPED


def _edges(graph: TaskGraph, drawn: Collection[TaskId], drawing: Drawing) -> Iterator[str]:
    for task in graph.tasks:
        for earlier in sorted(graph.before[task], key=graph.order.__getitem__):
            shown = drawing.parents_for is None or task == drawing.parents_for
            if shown and task in drawn and earlier in drawn:
                yield f"{_id(earlier)} -> {_id(task)};"


def _id(task: TaskId) -> str:
    if _PLAIN.match(task) and task.lower() not in _KEYWORDS:
        return task
    escaped = task.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
