"""The software stage: plan and progress of tasks. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.api import entities
from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.printout import Printout, TextTable, sections, table
from shipyard_api.cli.output.shapes import JsonObject, as_entity, list_at, object_at, objects_at, parse_object, required
from shipyard_api.cli.output.status_text import message_lines

_FAILED_SHOWN = 5
_STATUSES = ("running", "success", "failed", "left")


@dataclass(frozen=True, slots=True)
class Progress:
    """How the tasks of an action go: the action, the counts of each task, and nodes that failed, by task."""

    action: JsonObject
    totals: Sequence["entities.tasks.TaskTotals"]
    failed: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, action: JsonObject, page: JsonObject) -> "Progress":
        """Return it from the action and a page of its failed tasks."""
        failed: dict[str, list[str]] = {}
        for result in as_entity(page.get("tasks"), list[entities.tasks.TaskResult]):
            failed.setdefault(result.task, []).append(result.node)
        return cls(action, as_entity(page.get("totals"), list[entities.tasks.TaskTotals]), failed)

    @property
    def lifecycle(self) -> str:
        """The lifecycle of the action, such as Processing."""
        return str(self.action.get("action_lifecycle") or "Pending")

    @property
    def lines(self) -> Sequence[str]:
        """The same as a line of text for each task."""
        return [
            f"task {total.task}: "
            + ", ".join(
                f"{number} {'ok' if status == 'success' else status}" for status, number in counts.items() if number
            )
            + (f" ({nodes})" if (nodes := self.failed_nodes(total)) else "")
            for total in self.totals
            if any((counts := numbers(total)).values())
        ]

    def failed_nodes(self, total: "entities.tasks.TaskTotals") -> str:
        """Return the nodes on which a task failed, the first ones by name."""
        failed, number = self.failed.get(total.task, ()), total.failed
        omitted = f" and {number - _FAILED_SHOWN} more" if number > _FAILED_SHOWN else ""
        return ", ".join(failed[:_FAILED_SHOWN]) + omitted if failed else ""


def numbers(total: "entities.tasks.TaskTotals") -> Mapping[str, int]:
    """Return the numbers of nodes by status."""
    return {status: getattr(total, status) for status in _STATUSES}


def stage(plan: JsonObject) -> Sequence[TextTable | str]:
    """Return the software stage of a plan as a table, with skipped tasks and findings."""
    software = object_at(plan, "software")
    if not software:
        return ()
    rows = [
        (
            required(batch, "priority"),
            required(run, "group"),
            listed(list_at(run, "tasks")),
            listed(list_at(run, "nodes")),
        )
        for batch in objects_at(software, "batches")
        for run in objects_at(batch, "runs")
    ]
    shown = table(rows, ("Priority", "Group", "Tasks", "Nodes"), gap=4) if rows else "No task runs."
    return [shown, *_remarks(software)]


def tasks(plan: JsonObject) -> Sequence[TextTable]:
    """Return what each task of a plan runs: what a person approves."""
    rows = [
        (required(task, "id"), task.get("type"), name, value if isinstance(value, str) else json.dumps(value))
        for task in objects_at(plan, "tasks")
        for name, value in object_at(task, "parameters").items()
    ]
    return [table(rows, ("Task", "Type", "Parameter", "Value"), gap=4)] if rows else ()


def tree(text: str) -> Printout:
    """Return the software stage of a plan as a tree: batches, groups with their nodes, tasks in order."""
    plan = parse_object(text)
    refused, software = object_at(plan, "refused"), object_at(plan, "software")
    parts: list[str | TextTable] = []
    if refused:
        parts.append(f"Refused: {refused.get('title')}: {refused.get('reason')}")
        parts += _lines(message_lines(objects_at(refused, "messages")))
    if not software:
        return sections(*parts, "The site has no task graph, so no software is installed.")
    batches = objects_at(software, "batches")
    parts.append("\n".join(_branches(batches)) if batches else "No task runs.")
    return sections(*parts, *_remarks(software))


def _branches(batches: Iterable[JsonObject]) -> Iterable[str]:
    for batch in batches:
        yield str(required(batch, "priority"))
        runs = objects_at(batch, "runs")
        for number, run in enumerate(runs, 1):
            last = number == len(runs)
            yield f"{'`--' if last else '|--'} {required(run, 'group')}: {listed(list_at(run, 'nodes'))}"
            tasks = list_at(run, "tasks")
            for place, task in enumerate(tasks, 1):
                yield f"{'   ' if last else '|  '} {'`--' if place == len(tasks) else '|--'} {task}"


def _remarks(entity: JsonObject) -> list[str]:
    skipped = [f"  {required(task, 'task')}: {required(task, 'reason')}" for task in objects_at(entity, "skipped")]
    parts = ["\n".join(["Skipped tasks:", *skipped])] if skipped else []
    return [*parts, *_lines(message_lines(objects_at(entity, "findings")))]


def _lines(lines: Sequence[str]) -> list[str]:
    return ["\n".join(lines)] if lines else []
