"""Choose the tasks of a run: start, end, skip and tasks (seed 001, CLI; contract: fuel-task-graph, 3.6)."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.task_graph.graph import TaskGraph, stage_name
from shipyard_api.domain.task_graph.tasks import Kind, TaskId


class Selection(Struct, frozen=True):
    """What a run is limited to. ``tasks``: exactly these; None for no limit. Unknown ids in ``skip`` are ignored."""

    start: str | None = None
    end: str | None = None
    skip: tuple[str, ...] = ()
    tasks: tuple[str, ...] | None = None


EVERYTHING = Selection()


def check_selection(graph: TaskGraph, selection: Selection) -> tuple[Finding, ...]:
    """Return the faults of a selection: unknown ids, and an end that does not depend on the start."""
    findings = [
        error("UnknownTask", f"'{name}' is not in the task graph.", path=f"/{field}")
        for field, name in (("start", selection.start), ("end", selection.end))
        if name is not None and stage_name(name, graph.tasks) not in graph.tasks
    ]
    findings += [
        error("UnknownTask", f"'{name}' is not in the task graph.", path=f"/tasks/{position}")
        for position, name in enumerate(selection.tasks or ())
        if stage_name(name, graph.tasks) not in graph.tasks
    ]
    both = selection.start is not None and selection.end is not None
    if not findings and both and not between(graph, selection.start, selection.end):
        message = f"'{selection.end}' does not depend on '{selection.start}', so no task lies between them."
        findings.append(error("EndNotReachable", message, path="/end"))
    return tuple(findings)


def select(graph: TaskGraph, selection: Selection) -> frozenset[TaskId]:
    """Return the ids that a selection without findings keeps; groups and stages are never skipped.

    The rest of the tasks is skipped, not removed: paths through a skipped task still order the others.
    """
    kept = between(graph, selection.start, selection.end)
    if selection.tasks is not None:
        kept &= {stage_name(name, graph.tasks) for name in selection.tasks}
    skipped = {
        TaskId(name)
        for name in selection.skip
        if name in graph.tasks and graph.tasks[TaskId(name)].kind not in (Kind.GROUP, Kind.STAGE)
    }
    return frozenset(kept - skipped)


def between(graph: TaskGraph, start: str | None, end: str | None) -> frozenset[TaskId]:
    """Return the ids on some path from start to end, both included; without one of them, no limit on that side."""
    kept = frozenset(graph.tasks)
    if end is not None:
        kept &= _reachable([stage_name(end, graph.tasks)], graph.before)
    if start is not None:
        kept &= _reachable([stage_name(start, graph.tasks)], graph.after())
    return kept


def _reachable(starts: Sequence[TaskId], following: Mapping[TaskId, Collection[TaskId]]) -> frozenset[TaskId]:
    """Return the starts and everything that can be reached from them."""
    reached = set(starts)
    waiting: list[Iterable[TaskId]] = [starts]
    while waiting:
        for task in waiting.pop():
            following_tasks = [other for other in following[task] if other not in reached]
            reached.update(following_tasks)
            if following_tasks:
                waiting.append(following_tasks)
    return frozenset(reached)
