"""The software stage from the configured systems: plan it, run it (product, section 7; seeds 001 and 002)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from shipyard_api.actions.site_checks import RemoteAccess, SiteChecks
from shipyard_api.actions.steps.acceptance import Acceptance, PlanAcceptance
from shipyard_api.actions.steps.software.software_stage import NoPlan, PlanSoftware, SoftwareStage
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.actions.steps.software.task_item import TaskItem
from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.addressing import networks_of
from shipyard_api.domain.documents import Rendering, Revision, secret_texts
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import Strategy
from shipyard_api.domain.task_graph.acceptance import accepting_groups, check_acceptance
from shipyard_api.domain.task_graph.command_run import connect_timeout
from shipyard_api.domain.task_graph.commands import NodeFiles, filled, secrets_in
from shipyard_api.domain.task_graph.execution import kept
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.node_facts import SiteFacts, node_faults, read_settings
from shipyard_api.domain.task_graph.roles import MASTER, facts_of
from shipyard_api.domain.task_graph.run_values import RunValues
from shipyard_api.domain.task_graph.site_plan import SiteRun, plan_site
from shipyard_api.domain.task_graph.tasks import TaskId, parse_tasks
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.ports.state.software import SoftwareSite
from shipyard_api.storage.unit_of_work import Transaction
from shipyard_api.workflow.step import AnyStep, Json

SOFTWARE = StepId("software.run_task_graph")
TESTS = StepId("software.run_tests")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SoftwareSteps:
    """The step of the software stage, as it is configured."""

    checks: SiteChecks

    def steps(self, inputs: Json, step: StepId = SOFTWARE, *, deploys: bool = False) -> tuple[AnyStep, ...]:
        """Return the step; none for an action of a site without a task graph.

        ``deploys``: only on the nodes that the action has deployed.
        """
        if "software" not in inputs:
            return ()
        access = self.checks.systems.access
        item = TaskItem(access.tasks if access else None, splits=True, facts=self._facts)
        return (SoftwareStage(step, partial(self.plan, deploys=deploys), item),)

    def _facts(self, action: str, nodes: Sequence[NodeName]) -> Mapping[NodeName, NodeFiles]:
        with self.checks.store.begin() as tx:
            software = StageSoftware.find(tx.task_results.step_texts(ActionId(action)))
        return {node: software.facts.files(node) for node in nodes} if software else {}

    def plan(self, question: PlanSoftware, *, deploys: bool = False) -> StageSoftware | NoPlan:
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
        names = rendering.machines.nodes
        store = self.checks.store
        with store.begin() as tx:
            site = tx.software.site(SITE, names)
            deployed = frozenset(tx.actions.deployed(ActionId(question.action))) if deploys else None
        plan_or_refusal = _plan(access, site, rendering, deployed, question.selection or {})
        if isinstance(plan_or_refusal, StageSoftware) and question.retried:
            with store.begin() as tx:
                plan_or_refusal = keeping(tx, plan_or_refusal, ActionId(question.retried))
        if isinstance(plan_or_refusal, StageSoftware) and plan_or_refusal.flow.cells and not plan_or_refusal.noop:
            with store.begin() as tx:
                tx.software.keep_primaries(SITE, site.primaries)
        return plan_or_refusal

    @property
    def acceptance(self) -> PlanAcceptance:
        """How acceptance tasks of groups run."""
        access = self.checks.systems.access
        return PlanAcceptance(self._acceptance, TaskItem(access.tasks if access else None))

    def _acceptance(
        self, action: str, revision: int, strategy: Strategy, nodes: Collection[NodeName]
    ) -> Acceptance | NoPlan:
        access = self.checks.systems.access
        if access is None:
            return NoPlan("Shipyard cannot reach the nodes: configure [ssh].")
        try:
            rendering = self.checks.designs.rendered(Revision(revision))
        except RenderingFailed as failed:
            return _refused(failed.findings)
        except UnknownRevision as unknown:
            return NoPlan(str(unknown))
        with self.checks.store.begin() as tx:
            site = tx.software.site(SITE, ())
        hosts, unreachable = access.hosts(rendering, sorted(nodes))
        keys = _keys(site, hosts)
        if faults := (*check_acceptance(strategy, site.tasks, keys), *unreachable):
            return _refused(faults)
        tasks = accepting_groups(strategy)
        used = {task for ids in tasks.values() for task in ids}
        entries = {TaskId(entry["id"]): filled(entry, keys) for entry in site.tasks if entry["id"] in used}
        return Acceptance(action, tasks, entries, {node: hosts[node] for node in nodes}, _secrets(rendering, entries))


def _plan(
    access: RemoteAccess, site: SoftwareSite, rendering: Rendering, deployed: frozenset[NodeName] | None, written: Json
) -> StageSoftware | NoPlan:
    keys = _keys(site, access.hosts(rendering, ())[0])
    run = SiteRun(site.tasks, site.nodes, site.primaries, site.status, site.models, written, deployed, keys)
    site_plan = plan_site(run)
    if site_plan.plan is None or site_plan.rules is None:
        return _refused(site_plan.findings)
    hosts, unknown = access.hosts(rendering, sorted(site_plan.nodes))
    facts = site_facts(site, rendering, written)
    lacking = node_faults(site_plan.documents, site_plan.plan.flow.nodes_of, facts)
    findings = (*unknown, *access.sources(site_plan), *lacking, *site_plan.findings)
    if faults := errors(findings):
        return _refused(faults)
    warnings = tuple(finding.message for finding in findings)
    secrets = tuple(sorted({*_secrets(rendering, site_plan.documents), *facts.values.secret_texts}))
    return StageSoftware(
        site_plan.plan.flow,
        site_plan.rules,
        site_plan.documents,
        hosts,
        warnings,
        secrets,
        facts=facts,
        noop=bool(written.get("noop")),
        connect_timeout=connect_timeout(written),
    )


def site_facts(site: SoftwareSite, rendering: Rendering, written: Json) -> SiteFacts:
    """Return what tasks may know of the site. ``written``: the limits of the run, with its values."""
    read = facts_of((), (), status=site.status, models=site.models)
    return SiteFacts.of(
        site.nodes,
        site.primaries,
        networks_of(rendered.document for rendered in rendering.documents),
        read_settings(parse_tasks(site.tasks), read),
        secret_texts(rendering.secrets),
        RunValues.read(written.get("values")),
    )


def keeping(tx: Transaction, software: StageSoftware, retried: ActionId) -> StageSoftware:
    """Return the run without the tasks that an action, or an action that it retried, has done already.

    A task that was changed since runs again, and all tasks do on nodes that were deployed since.
    """
    record, earlier = tx.actions.get(retried), StageSoftware.find(tx.task_results.step_texts(retried))
    if record is None or earlier is None:
        return software
    succeeded = {*tx.task_results.succeeded(retried), *earlier.kept_tasks}
    again = tx.nodes.touched_since(record.created_at, {node for node, _ in succeeded})
    same = {task for task, entry in software.documents.items() if earlier.documents.get(task) == entry}
    done = {(node, task) for node, task in succeeded if node not in again and task in same}
    return replace(software, kept=kept(software.flow, done))


def _secrets(rendering: Rendering, entries: Mapping[TaskId, Json]) -> tuple[str, ...]:
    known = secret_texts(rendering.secrets)
    return tuple(sorted({text for entry in entries.values() for text in secrets_in(entry, known)})) if known else ()


def _keys(site: SoftwareSite, hosts: Mapping[NodeName, Host]) -> Mapping[str, str]:
    return {
        **site.keys,
        **({"MASTER_IP": hosts[MASTER].address} if MASTER in hosts else {}),
    }


def _refused(findings: Iterable[Finding]) -> NoPlan:
    texts = [finding.message for finding in findings]
    omitted = f" (and {len(texts) - _SHOWN} more)" if len(texts) > _SHOWN else ""
    return NoPlan(" ".join(texts[:_SHOWN]) + omitted)
