"""The software stage from the configured systems: plan it, run it (product, section 7; seeds 001 and 002)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shipyard_api.actions.site_checks import RemoteAccess, SiteChecks
from shipyard_api.actions.steps.software.software_stage import NoPlan, PlanSoftware, SoftwareStage
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.actions.steps.software.task_item import TaskItem
from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.documents import Rendering, Revision, inventory
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.checks import check_tasks
from shipyard_api.domain.task_graph.commands import check_command
from shipyard_api.domain.task_graph.execution import Rules
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.plan import Plan, Site, plan
from shipyard_api.domain.task_graph.roles import ClusterNode, facts_of
from shipyard_api.domain.task_graph.selection import Selection
from shipyard_api.domain.task_graph.stages import TEST_STAGE, tasks_of_stage
from shipyard_api.domain.task_graph.tasks import TaskId, parse_tasks
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.state.software import SoftwareSite
from shipyard_api.workflow.step import AnyStep, Json

SOFTWARE = StepId("software.run_task_graph")
TESTS = StepId("software.run_tests")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SoftwareParts:
    """The step of the software stage, as it is configured."""

    checks: SiteChecks

    def steps(self, inputs: Json, step: StepId = SOFTWARE) -> tuple[AnyStep, ...]:
        """Return the step; none for an action of a site without a task graph."""
        if "software" not in inputs:
            return ()
        access = self.checks.systems.access
        return (SoftwareStage(step, self.plan, TaskItem(access.tasks if access else None)),)

    def plan(self, question: PlanSoftware) -> StageSoftware | NoPlan:
        """Plan the run, and keep its primaries. Raises ports.errors."""
        access = self.checks.systems.access
        if access is None:
            return NoPlan("The site has a task graph, and Shipyard cannot reach its nodes: configure [ssh].")
        try:
            rendering = self.checks.designs.rendered(Revision(question.revision))
        except RenderingFailed as failed:
            return _refused(failed.findings)
        except UnknownRevision as unknown:
            return NoPlan(str(unknown))
        names = inventory(each.document for each in rendering.documents).nodes
        store = self.checks.store
        with store.begin() as tx:
            site = tx.software.site(SITE, names)
            deployed = frozenset(tx.actions.deployed(ActionId(question.action)))
        made = _plan(access, site, rendering, deployed, question.selection or {})
        if isinstance(made, StageSoftware) and made.batches:
            with store.begin() as tx:
                tx.software.keep_primaries(SITE, site.primaries)
        return made


def _plan(
    access: RemoteAccess, site: SoftwareSite, rendering: Rendering, deployed: frozenset[NodeName], written: Json
) -> StageSoftware | NoPlan:
    documents = list(site.tasks)
    if wrong := errors(check_tasks(documents)):
        return _refused(wrong)
    graph = TaskGraph.of(parse_tasks(documents))
    run = _nodes_of_run(site.nodes, deployed, written)
    if isinstance(run, NoPlan):
        return run
    facts = facts_of(site.nodes, run, status=site.status, models=site.models)
    made, findings = plan(graph, Site(run, site.primaries, facts), _selection(graph, written))
    if made is None:
        return _refused(findings)
    used = {TaskId(entry["id"]): entry for entry in documents if TaskId(entry["id"]) in _tasks(made)}
    if faults := [fault for entry in used.values() for fault in check_command(entry)]:
        return _refused(faults)
    hosts, unknown = access.hosts(rendering, sorted(_nodes(made)))
    if unknown:
        return _refused(unknown)
    warnings = tuple(finding.message for finding in findings)
    return StageSoftware(tuple(batch.runs for batch in made.batches), Rules.of(graph, made), used, hosts, warnings)


def _nodes_of_run(
    nodes: Sequence[ClusterNode], deployed: frozenset[NodeName], written: Json
) -> tuple[ClusterNode, ...] | NoPlan:
    """Return the nodes that the action names, else those that it deployed, else all that were ever deployed."""
    if "nodes" in written:
        known = {node.name: node for node in nodes}
        missing = [name for name in written["nodes"] if name not in known]
        if missing:
            return NoPlan(f"The design has no node {', '.join(missing[:_SHOWN])}.")
        return tuple(known[name] for name in written["nodes"])
    if deployed:
        return tuple(node for node in nodes if node.name in deployed)
    return tuple(node for node in nodes if node.ready)


def _selection(graph: TaskGraph, written: Json) -> Selection:
    """Return the limits of a run. Tests run in an action of their own only."""
    tests = tasks_of_stage(graph, TEST_STAGE)
    if written.get("tests"):
        return Selection(tasks=tuple(sorted(tests)))
    tasks = written.get("tasks")
    skip = (*written.get("skip", ()), *(tests if tasks is None else ()))
    return Selection(
        written.get("start"), written.get("end"), tuple(sorted(skip)), None if tasks is None else tuple(tasks)
    )


def _tasks(made: Plan) -> frozenset[TaskId]:
    return frozenset(task for batch in made.batches for run in batch.runs for task in run.tasks)


def _nodes(made: Plan) -> frozenset[NodeName]:
    return frozenset(node for batch in made.batches for run in batch.runs for node in run.nodes)


def _refused(findings: Iterable[Finding]) -> NoPlan:
    texts = [finding.message for finding in findings]
    more = f" (and {len(texts) - _SHOWN} more)" if len(texts) > _SHOWN else ""
    return NoPlan(" ".join(texts[:_SHOWN]) + more)
