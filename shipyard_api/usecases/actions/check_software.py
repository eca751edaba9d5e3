"""Check the nodes and tasks that a run of the task graph is limited to (seed 001, CLI; product, section 7)."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.errors import InvalidParameters, UnknownNodes
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject, member
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import NODES, VALUES
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.strategy import strategy
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.task_graph.command_run import COMMAND
from shipyard_api.domain.task_graph.errors import NothingToRun
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.selection import check_selection
from shipyard_api.domain.task_graph.site_plan import SiteRun, check_acceptance, plan_site, selection_of
from shipyard_api.domain.task_graph.tasks import parse_tasks
from shipyard_api.ports.documents import RenderingFailed
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.plan_software import Hosts
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns


class CheckSoftware(Struct, frozen=True):
    """The use case; changes nothing."""

    store: Store
    rendered: RenderedDesigns

    def __call__(self, revision: Revision, limits: JsonObject) -> ShipyardError | None:
        """Return the refusal of a run with these limits: unknown nodes or tasks, an empty plan; None if it may run.

        A site without a task graph has no run, so its action does the rest. ``limits``: as in ``Parameters.software``.
        ``CheckAction`` reports an unreadable design.
        """
        try:
            known = self.rendered.inventory(revision).nodes
        except RenderingFailed:
            return None
        named = (*limits.get(NODES, ()), *limits.get(VALUES, {}).get("nodes", {}))
        if unknown := [node for node in dict.fromkeys(named) if node not in known]:
            return UnknownNodes([error("UnknownNode", f"Revision {revision} has no node {node}.") for node in unknown])
        if COMMAND in limits:
            return self._nothing_to_run(known, limits)
        cluster = self.store.read(lambda tx: tx.software.cluster(SITE))
        if cluster is None or not cluster.layer.tasks:
            if not limits:
                return None
            message = "The site has no task graph, so there are no tasks to choose: upload one."
            return InvalidParameters([error("NoTaskGraph", message, path="/parameters")])
        graph = TaskGraph.of(parse_tasks(cluster.layer.tasks))
        faults = check_selection(graph, selection_of(graph, limits))
        if faults:
            return InvalidParameters([replace(fault, path=f"/parameters{fault.path}") for fault in faults])
        return self._nothing_to_run(known, limits)

    def _nothing_to_run(self, names: Collection[NodeName], limits: JsonObject) -> ShipyardError | None:
        site = self.store.read(lambda tx: tx.software.site(SITE, names))
        run = SiteRun(site.tasks, site.nodes, site.primaries, site.status, site.models, limits, None, site.keys)
        site_plan = plan_site(run)
        if site_plan.plan is None or site_plan.plan.batches:
            return None
        why = " ".join(finding.message for finding in site_plan.findings) or "No node of the run is deployed."
        return NothingToRun(why)


class CheckAcceptance(Struct, frozen=True):
    """The use case; changes nothing. ``hosts``: as of ``PlanSoftware``."""

    store: Store
    rendered: RenderedDesigns
    rules: DesignRules
    hosts: Hosts | None

    def __call__(self, revision: int) -> Sequence[Finding]:
        """Return errors about acceptance tasks that cannot run: unknown ones, and nodes that SSH does not reach.

        A design that cannot be read has none; others report that. Raises UnknownRevision.
        """
        try:
            rendering = self.rendered.of(Revision(revision))
        except RenderingFailed:
            return ()
        written = (rendered.document for rendered in rendering.documents)
        if not any(_accepts(document.data) for document in written if document.schema == strategy.SCHEMA):
            return ()
        inputs, _ = self.rules.read(revision, rendering)
        groups = [group for group in inputs.strategy.groups if group.accept] if inputs else []
        if inputs is None or not groups:
            return ()
        cluster = self.store.read(lambda tx: tx.software.cluster(SITE))
        findings = check_acceptance(inputs.strategy, cluster.layer.tasks if cluster else ())
        if self.hosts is None:
            message = "The strategy has acceptance tasks, and Shipyard cannot reach the nodes: configure [ssh]."
            return (*findings, error("NoSsh", message, path="/groups"))
        machines = self.rendered.inventory(Revision(revision))
        nodes = frozenset[NodeName]().union(*(select(group.selectors, machines) for group in groups))
        return (*findings, *self.hosts(rendering, sorted(nodes))[1])


def _accepts(data: object) -> bool:
    groups = member(data, "groups")
    return isinstance(groups, list) and any(isinstance(group, Mapping) and group.get("accept") for group in groups)
