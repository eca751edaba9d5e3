"""Preview the software stage of an action, without running anything (product, section 7)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from shipyard_api.actions.software_steps import keeping, site_facts
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.documents import inventory as nodes_of
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.command_run import COMMAND
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.node_facts import node_faults
from shipyard_api.domain.task_graph.plan import Batch, Run, SkipReason
from shipyard_api.domain.task_graph.site_plan import SitePlan, SiteRun, plan_site
from shipyard_api.domain.task_graph.tag_check import check_tags
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns

Hosts = Callable[[Rendering, Sequence[NodeName]], tuple[Mapping[NodeName, Host], Sequence[Finding]]]
Sources = Callable[[SitePlan], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class SoftwarePlan:
    """What the software stage would run. Errors among the findings: it would fail, and why."""

    batches: Sequence[Batch] = ()
    skipped: Sequence[tuple[TaskId, SkipReason]] = ()
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True)
class Retried:
    """The action that a run goes on with. ``nodes``: those that are not deployed again; None for all."""

    action: ActionId
    nodes: Collection[NodeName] | None = None

    def keeps(self, node: NodeName) -> bool:
        """Return whether the node is not deployed again."""
        return self.nodes is None or node in self.nodes


@dataclass(frozen=True, slots=True)
class PlanSoftware:
    """The use case. ``hosts``: where SSH reaches nodes, and findings about the others; None without SSH.

    ``sources``: findings about the files that tasks copy to nodes.
    """

    store: Store
    rendered: RenderedDesigns
    hosts: Hosts | None
    sources: Sources = lambda _made: ()

    def __call__(
        self,
        revision: Revision,
        deployed: Collection[NodeName] | None,
        written: JsonObject,
        retried: Retried | None = None,
    ) -> SoftwarePlan | None:
        """Return the plan of a run on a revision, None for a site without a task graph.

        ``deployed`` and ``written``: as of ``SiteRun``. Design nodes that have no roles yet are planned as such.
        ``retried``: the action whose run continues; the plan lists only tasks that run now.
        """
        cluster = self.store.read(lambda tx: tx.software.cluster(SITE))
        if cluster is None or not (cluster.layer.tasks or COMMAND in written):
            return None
        try:
            rendering = self.rendered.of(revision)
        except RenderingFailed as failed:
            return SoftwarePlan(findings=failed.findings)
        except UnknownRevision as unknown:
            return SoftwarePlan(findings=[error("RevisionNotFound", str(unknown))])
        names = nodes_of(each.document for each in rendering.documents).nodes
        site = self.store.read(lambda tx: tx.software.site(SITE, names))
        run = SiteRun(site.tasks, site.nodes, site.primaries, site.status, site.models, written, deployed, site.keys)
        site_plan = plan_site(run)
        findings = [*site_plan.findings, *self._unreachable(rendering, sorted(site_plan.nodes))]
        findings += self.sources(site_plan)
        if not {"tests", COMMAND} & written.keys():
            findings += check_tags(site.cluster.layer, site.nodes)
        if site_plan.plan is None:
            return SoftwarePlan(findings=findings)
        facts = site_facts(site, rendering, written)
        findings += node_faults(site_plan.documents, site_plan.plan.flow.nodes_of, facts)
        batches: Sequence[Batch] = site_plan.plan.batches
        if retried is not None and site_plan.rules is not None:
            software = StageSoftware(site_plan.plan.flow, site_plan.rules, site_plan.documents, {})
            done = self.store.read(lambda tx: keeping(tx, software, retried.action)).kept_tasks
            batches = _without(batches, {(node, task) for node, task in done if retried.keeps(node)})
        return SoftwarePlan(batches, sorted(site_plan.plan.skipped.items()), findings)

    def _unreachable(self, rendering: Rendering, nodes: Sequence[NodeName]) -> Sequence[Finding]:
        if self.hosts is None:
            return [error("NoSsh", "Shipyard cannot reach the nodes: configure [ssh].")]
        return self.hosts(rendering, nodes)[1]


def _without(batches: Sequence[Batch], done: Collection[tuple[NodeName, TaskId]]) -> Sequence[Batch]:
    """Return the batches without tasks that were done on nodes; nodes with the same tasks left stay together."""
    kept = []
    for batch in batches:
        runs = []
        for run in batch.runs:
            alike: dict[tuple[TaskId, ...], list[NodeName]] = {}
            for node in run.nodes:
                alike.setdefault(tuple(task for task in run.tasks if (node, task) not in done), []).append(node)
            runs += [Run(run.unit, tuple(nodes), tasks) for tasks, nodes in alike.items() if tasks]
        if runs:
            kept.append(replace(batch, runs=tuple(runs)))
    return kept
