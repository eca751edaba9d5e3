"""Preview the software stage of an action, without running anything (product, section 7)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.documents import inventory as nodes_of
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.plan import Batch, SkipReason
from shipyard_api.domain.task_graph.site_plan import SiteRun, plan_site
from shipyard_api.domain.task_graph.tag_check import check_tags
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.ports.state.store import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns

Hosts = Callable[[Rendering, Sequence[NodeName]], tuple[Mapping[NodeName, Host], Sequence[Finding]]]


@dataclass(frozen=True, slots=True)
class SoftwarePlan:
    """What the software stage would run. Errors among the findings: it would fail, and why."""

    batches: Sequence[Batch] = ()
    skipped: Sequence[tuple[TaskId, SkipReason]] = ()
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True)
class PlanSoftware:
    """The use case. ``hosts``: where SSH reaches nodes, and findings about the others; None without SSH."""

    store: Store
    rendered: RenderedDesigns
    hosts: Hosts | None

    def __call__(
        self, revision: Revision, deployed: Collection[NodeName] | None, written: JsonObject
    ) -> SoftwarePlan | None:
        """Return the plan of a run on a revision, None for a site without a task graph.

        ``deployed`` and ``written``: as of ``SiteRun``. Design nodes that have no roles yet are planned as such.
        """
        cluster = self.store.read(lambda tx: tx.software.cluster(SITE))
        if cluster is None or not cluster.layer.tasks:
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
        made = plan_site(run)
        findings = [*made.findings, *self._unreachable(rendering, sorted(made.nodes))]
        if not written.get("tests"):
            findings += check_tags(site.cluster.layer, site.nodes)
        if made.plan is None:
            return SoftwarePlan(findings=findings)
        return SoftwarePlan(made.plan.batches, sorted(made.plan.skipped.items()), findings)

    def _unreachable(self, rendering: Rendering, nodes: Sequence[NodeName]) -> Sequence[Finding]:
        if self.hosts is None:
            return [error("NoSsh", "Shipyard cannot reach the nodes: configure [ssh].")]
        return self.hosts(rendering, nodes)[1]
