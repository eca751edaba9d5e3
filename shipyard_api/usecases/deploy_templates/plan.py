"""Plan the deploy steps of nodes: traits of the design, our templates, the provisioner's steps (product, section 8)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.specifications import Specifications, deployed_of
from shipyard_api.domain.deploy_steps.merge import merged
from shipyard_api.domain.deploy_steps.planning import (
    PlannedNodes,
    RequestedSteps,
    StepPlan,
    nodes_with_templates,
    plan_cleaning,
    plan_nodes,
    plan_runbook,
    plan_service,
    shared_steps,
    without_template,
)
from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.deploy_steps.templates import Runbook
from shipyard_api.domain.deploy_steps.traits import TraitName, read_node_traits
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.errors import NodeNotInProvisioner
from shipyard_api.domain.findings import Finding, error, errors, in_short, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.remedies import remedies
from shipyard_api.domain.specification.given import STEPS
from shipyard_api.ports.documents import RenderingFailed
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns

Differing = Mapping[NodeName, Collection[str] | None]


def templates_not_applied(
    planned: Sequence[PlannedNodes], differing: Differing, *, services: bool
) -> tuple[Finding, ...]:
    """Return a warning for nodes that are not deployed again and lack steps of their templates, with the way back.

    ``differing``: all aspects in which each node was given something else, None where that is unknown. ``services``:
    whether the provisioner can run steps on deployed nodes.
    """
    known = {node: aspects for node, aspects in differing.items() if aspects is not None}
    findings = []
    for plan in planned:
        templates = list(dict.fromkeys(name for name, _ in plan.requested))
        lacking = {node: _lacking(templates, differing[node]) for node in plan.nodes if node in differing}
        for remedy in remedies([node for node, names in lacking.items() if names], known, services=services):
            alike: defaultdict[str, list[NodeName]] = defaultdict(list)
            for node in remedy.nodes:
                alike[remedy.template or ", ".join(lacking[node])].append(node)
            for names, nodes in alike.items():
                already = f"{in_short(nodes)}: already deployed, so there is nothing to do"
                findings.append(warning("TemplatesNotApplied", f"{already}; {names} would need {remedy.way.value}."))
    return tuple(findings)


def _lacking(templates: Sequence[str], aspects: Collection[str] | None) -> Sequence[str]:
    return [name for name in templates if aspects is None or f"{STEPS}{name}" in aspects]


_PlanRunbook = Callable[[Collection[NodeName], Runbook, Mapping[NodeName, SupportedSteps]], StepPlan]


class PlanDeploySteps(Struct, frozen=True):
    """The use case; changes nothing. ``check``: checks a value against a schema that ships with Shipyard.

    The provisioner is asked only for nodes with a trait that has a template.
    """

    store: Store
    rendered: RenderedDesigns
    provisioner: Provisioner
    check: Callable[[str, object], tuple[Finding, ...]]

    @property
    def specifications(self) -> Specifications:
        """The comparison with what nodes were given."""
        return Specifications(self.store, self.rendered.of, self.rendered.fingerprint, self.provisioner, self.check)

    def __call__(self, revision: int, only: Collection[NodeName] | None = None) -> StepPlan:
        """Return the steps of the nodes of a revision, or only of some of them.

        Raises UnknownRevision, and ports.errors if the provisioner does not answer.
        """
        try:
            rendering = self.rendered.of(Revision(revision))
        except RenderingFailed as failed:
            return StepPlan(findings=failed.findings)
        traits, findings = read_node_traits(rendering, self.check)
        if only is not None:
            traits = {node: node_traits for node, node_traits in traits.items() if node in only}
        names = frozenset[TraitName]().union(*(node_traits.has for node_traits in traits.values()))
        if not traits or errors(findings):
            return StepPlan(findings=findings, whole=True)
        templates = self.store.read(lambda tx: tx.deploy_templates.of_traits(names))
        nodes = plan_nodes(traits, templates, self._supported(nodes_with_templates(traits, templates)))
        unused = without_template(traits, templates)
        every = (*findings, *unused, *(finding for planned in nodes for finding in planned.findings))
        return StepPlan(nodes, every, whole=True)

    def skip_deployed(self, revision: int) -> StepPlan:
        """Return the plan of a deployment of the site, which skips deployed nodes. Raises as the call itself."""
        plan = self(revision)
        if not plan.nodes or errors(plan.findings):
            return plan
        deployed = self.deployed([node for planned in plan.nodes for node in planned.nodes])
        services = not self.provisioner.capabilities.limits.no_service
        differing = self.specifications.differing(self.specifications.wanted(revision, deployed, plan.requested))
        unused = templates_not_applied(plan.nodes, differing, services=services)
        return replace(plan, findings=(*plan.findings, *unused), deployed=deployed)

    def deployed(self, nodes: Collection[NodeName]) -> frozenset[NodeName]:
        """Return those of the nodes that the provisioner shows as deployed. Raises ports.errors."""
        return deployed_of(self.provisioner, nodes)

    def service(self, template: str, runbook: str, nodes: Collection[NodeName]) -> StepPlan:
        """Return the steps of a template, or of a runbook, on these deployed nodes.

        Raises ports.errors if the provisioner does not answer.
        """
        if runbook:
            return self._runbook(runbook, nodes, plan_runbook)
        templates = self.store.read(lambda tx: tx.deploy_templates.of_traits([TraitName(template)]))
        if not templates:
            message = f"There is no deploy template {template[:80]}."
            return StepPlan(findings=[error("DeployTemplateNotFound", message, path="/parameters/template")])
        planned = plan_service(nodes, templates[0], self._supported(nodes))
        return StepPlan(planned, tuple(finding for plan in planned for finding in plan.findings))

    def cleaning(self, runbook: str, nodes: Collection[NodeName]) -> StepPlan:
        """Return the steps of a runbook that clean these nodes before their deployment. Raises ports.errors."""
        return self._runbook(runbook, nodes, plan_cleaning)

    def _runbook(self, name: str, nodes: Collection[NodeName], plan: _PlanRunbook) -> StepPlan:
        read = self.provisioner.capabilities.runbook
        stored = read(name, nodes) if read else None
        if stored is None:
            message = f"{self.provisioner.name} has no runbook {name[:80]} that we may see."
            return StepPlan(findings=[error("RunbookNotFound", message, path="/parameters/runbook")])
        return plan(nodes, stored, self._supported(nodes))

    def frozen(self, requested: RequestedSteps) -> StepPlan:
        """Return the plan of steps that an action has frozen. Raises ports.errors."""
        supported = self._supported(requested)
        planned = []
        for nodes, steps in shared_steps(requested):
            known = supported.get(nodes[0])
            planned.append(PlannedNodes(nodes, steps, merged(steps, known) if known else ()))
        return StepPlan(planned)

    def supported(self, node: str) -> SupportedSteps:
        """Return the deploy steps that a node supports. Raises NodeNotInProvisioner, and ports.errors."""
        by_node = self.provisioner.supported_steps([NodeName(node)])
        if not by_node:
            raise NodeNotInProvisioner(node, self.provisioner.name)
        return by_node[NodeName(node)]

    def _supported(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        return self.provisioner.supported_steps(nodes) if nodes else {}
