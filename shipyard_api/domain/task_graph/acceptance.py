"""Acceptance tasks: tasks of the graph that a deployed node must pass before it counts (product, section 3 and 7).

A group of the deployment strategy lists them under ``accept``. They run on every node of the group in that order; their
own roles, groups, dependencies and conditions order the software stage and do not matter here.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType

from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.strategy.strategy import GroupName, Strategy
from shipyard_api.domain.task_graph.commands import CommandError, filled, remote_task
from shipyard_api.domain.task_graph.tasks import TaskId


def accepting_groups(strategy: Strategy) -> Mapping[GroupName, tuple[TaskId, ...]]:
    """Return the acceptance tasks of each group that has any."""
    return {group.name: tuple(map(TaskId, group.accept)) for group in strategy.groups if group.accept}


def check_acceptance(
    strategy: Strategy, documents: Sequence[JsonObject], keys: Mapping[str, str] = MappingProxyType({})
) -> tuple[Finding, ...]:
    """Return an error for each acceptance task that is not in the task graph, or cannot run on a node.

    ``keys``: the values of ``{NAME}``.
    """
    entries = {str(entry.get("id")): entry for entry in documents}
    findings: list[Finding] = []
    for index, group in enumerate(strategy.groups):
        for position, task in enumerate(group.accept):
            where = f"/groups/{index}/accept/{position}"
            if task not in entries:
                close = get_close_matches(task, entries, n=1)
                hint = f" Did you mean '{close[0]}'?" if close else ""
                message = f"Deployment group '{group.name}' accepts nodes by '{task}', which is not in the task graph."
                findings.append(error("UnknownAcceptanceTask", message + hint, path=where))
                continue
            try:
                remote_task(filled(entries[task], keys))
            except CommandError as fault:
                message = f"Deployment group '{group.name}' accepts nodes by '{task}', which cannot run: {fault}."
                findings.append(error("AcceptanceTaskCannotRun", message, path=where))
    return tuple(findings)
