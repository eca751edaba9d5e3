"""Check the acceptance tasks that the groups of a design name (product, section 7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.strategy import strategy
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.task_graph.acceptance import check_acceptance
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.ports.documents import RenderingFailed
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.plan_software import Hosts
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns


@dataclass(frozen=True, slots=True)
class CheckAcceptance:
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
    groups = data.get("groups") if isinstance(data, Mapping) else None
    return isinstance(groups, list) and any(isinstance(group, Mapping) and group.get("accept") for group in groups)
