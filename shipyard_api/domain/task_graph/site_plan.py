"""Plan a run of the software stage of a site: which of its nodes and tasks, in which order (product, section 7)."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from shipyard_api.domain.findings import Finding, Level, error, errors
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import GroupName, Strategy
from shipyard_api.domain.task_graph.checks import check_tasks
from shipyard_api.domain.task_graph.command_run import ROLE, command_graph
from shipyard_api.domain.task_graph.commands import CommandError, check_command, filled, remote_task
from shipyard_api.domain.task_graph.execution import Rules
from shipyard_api.domain.task_graph.graph import TEST_STAGE, TaskGraph, tasks_of_stage
from shipyard_api.domain.task_graph.plan import Plan, Site, plan, unknown_settings
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries, facts_of
from shipyard_api.domain.task_graph.selection import Selection
from shipyard_api.domain.task_graph.tasks import TaskId, parse_tasks

_SHOWN = 5


class SiteRun(Struct, frozen=True):
    """What a run depends on. ``nodes``: all of the cluster. ``status`` and ``models``: of ``roles.facts_of``.

    ``written``: the limits of the run, as in the inputs of an action. ``deployed``: the nodes that the action has
    deployed, perhaps none; None for an action that deploys no node. ``keys``: the values of ``{NAME}`` in parameters.
    """

    documents: Sequence[JsonObject]
    nodes: Sequence[ClusterNode]
    primaries: Primaries
    status: str
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    written: JsonObject = field(default_factory=dict)
    deployed: Collection[NodeName] | None = None
    keys: Mapping[str, str] = field(default_factory=dict)


class SitePlan(Struct, frozen=True):
    """The plan of a run; ``plan`` is None if there is none, and then ``findings`` have the errors.

    ``documents``: the entries of the task graph that run, by id, with their keys filled.
    """

    plan: Plan | None
    findings: tuple[Finding, ...]
    rules: Rules | None = None
    documents: Mapping[TaskId, JsonObject] = field(default_factory=dict)

    @property
    def nodes(self) -> frozenset[NodeName]:
        """The nodes on which a task runs."""
        batches = self.plan.batches if self.plan else ()
        return frozenset(node for batch in batches for run in batch.runs for node in run.nodes)


def plan_site(site: SiteRun) -> SitePlan:
    """Return the plan of a run of the software stage."""
    command = command_graph(site.written)
    documents = list(site.documents if command is None else command)
    checked = check_tasks(documents)
    if wrong := errors(checked):
        return SitePlan(None, tuple(wrong))
    graph = TaskGraph.of(parse_tasks(documents))
    run, unknown = _nodes_of_run(site)
    if unknown:
        return SitePlan(None, (error("UnknownNode", f"The design has no node {', '.join(unknown[:_SHOWN])}."),))
    if command is not None:
        # No role and no tag of a node has to do with it.
        run = tuple(ClusterNode(node.name, roles=(ROLE,)) for node in run)
    facts = facts_of(site.nodes, run, status=site.status, models=site.models)
    site_plan, findings = plan(graph, Site(run, site.primaries, facts), selection_of(graph, site.written))
    if site_plan is None:
        return SitePlan(None, findings)
    ran = frozenset(task for batch in site_plan.batches for candidate in batch.runs for task in candidate.tasks)
    runs = [entry for entry in documents if TaskId(entry["id"]) in ran]
    if faults := tuple(fault for entry in runs for fault in check_command(entry, site.keys, of_site=True)):
        return SitePlan(None, faults)
    used = {TaskId(entry["id"]): filled(entry, site.keys) for entry in runs}
    return SitePlan(site_plan, (*findings, *checked), Rules.of(graph, site_plan.groups), used)


def graph_warnings(
    documents: Sequence[JsonObject], status: str, models: Mapping[str, Mapping[str, Any]]
) -> Sequence[Finding]:
    """Return the warnings about a sound graph, and about the values that its conditions read in a cluster."""
    facts = facts_of((), (), status=status, models=models)
    findings = (*check_tasks(list(documents)), *unknown_settings(TaskGraph.of(parse_tasks(documents)), facts))
    return [finding for finding in findings if finding.level is Level.WARNING]


def _nodes_of_run(site: SiteRun) -> tuple[tuple[ClusterNode, ...], Sequence[str]]:
    """Return the nodes that the action names, or has deployed; of one that does neither, all that were deployed.

    The second value: named nodes that there are not.
    """
    if "nodes" in site.written:
        known = {str(node.name): node for node in site.nodes}
        named = site.written["nodes"]
        return tuple(known[name] for name in named if name in known), [name for name in named if name not in known]
    if site.deployed is not None:
        return tuple(node for node in site.nodes if node.name in site.deployed), ()
    return tuple(node for node in site.nodes if node.ready), ()


def selection_of(graph: TaskGraph, written: JsonObject) -> Selection:
    """Return the limits of a run. Tests run in an action of their own only."""
    tests = tasks_of_stage(graph, TEST_STAGE)
    if written.get("tests"):
        return Selection(tasks=tuple(sorted(tests)))
    tasks = written.get("tasks")
    skip = (*written.get("skip", ()), *(tests if tasks is None else ()))
    return Selection(
        written.get("start"), written.get("end"), tuple(sorted(skip)), None if tasks is None else tuple(tasks)
    )


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
