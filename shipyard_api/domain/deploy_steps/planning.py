"""The deploy steps of all nodes of a design, planned once for nodes that are alike (product, section 8)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.merge import (
    RUNBOOK,
    PlannedStep,
    clean_steps,
    plan_node,
    requested_steps,
    service_steps,
    trait_faults,
)
from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Runbook, TemplateStep
from shipyard_api.domain.deploy_steps.traits import NodeTraits, TraitName, in_words
from shipyard_api.domain.findings import Finding, error, errors, in_short, warning
from shipyard_api.domain.nodes import NodeName

"""Nodes that a finding names."""

RequestedSteps = Mapping[NodeName, tuple[TemplateStep, ...]]
"""The steps that the templates of each node ask for, those with priority 0 too; others are left out."""


class PlannedNodes(Struct, frozen=True):
    """Nodes with the same deploy steps, in order of name.

    ``requested``: the steps that their templates request. ``steps``: what runs, in order; empty if ``findings`` has an
    error, or if the provisioner does not know the nodes.
    """

    nodes: tuple[NodeName, ...]
    requested: tuple[TemplateStep, ...] = ()
    steps: tuple[PlannedStep, ...] = ()
    findings: tuple[Finding, ...] = ()


def nodes_with_templates(
    traits: Mapping[NodeName, NodeTraits], templates: Sequence[DeployTemplate]
) -> frozenset[NodeName]:
    """Return the nodes for which any template counts: one of a trait that they have."""
    names = frozenset(template.name for template in templates)
    return frozenset(node for node, node_traits in traits.items() if not names.isdisjoint(node_traits.has))


def plan_nodes(
    traits: Mapping[NodeName, NodeTraits],
    templates: Sequence[DeployTemplate],
    supported: Mapping[NodeName, SupportedSteps],
) -> tuple[PlannedNodes, ...]:
    """Return the steps of every node that has templates, and the errors of nodes that request traits they lack.

    ``supported``: of the nodes with templates that the provisioner knows. Nodes are grouped, the first node by name
    decides the order.
    """
    planned = nodes_with_templates(traits, templates)
    kinds: list[SupportedSteps] = []
    alike: defaultdict[tuple[NodeTraits, int | None, bool], list[NodeName]] = defaultdict(list)
    for node in sorted(traits):
        node_traits = traits[node]
        if node not in planned and not node_traits.missing:
            continue
        alike[node_traits, _kind(kinds, supported.get(node)), node in planned].append(node)
    return tuple(
        _plan(tuple(nodes), node_traits, templates if with_templates else (), None if kind is None else kinds[kind])
        for (node_traits, kind, with_templates), nodes in alike.items()
    )


def without_template(traits: Mapping[NodeName, NodeTraits], templates: Sequence[DeployTemplate]) -> tuple[Finding, ...]:
    """Return a warning for each requested trait that has no template: nothing runs for it, which may be a typo."""
    names = {template.name for template in templates}
    lacking: defaultdict[TraitName, list[NodeName]] = defaultdict(list)
    for node in sorted(traits):
        for trait in (traits[node].requested & traits[node].has) - names:
            lacking[trait].append(node)
    return tuple(
        warning(
            "TraitWithoutTemplate",
            f"{in_short(tuple(nodes))}: the requested trait {trait} has no deploy template, so no step runs for it. "
            "Correct its name, or create the template.",
        )
        for trait, nodes in sorted(lacking.items())
    )


def _plan(
    nodes: tuple[NodeName, ...],
    traits: NodeTraits,
    templates: Sequence[DeployTemplate],
    supported: SupportedSteps | None,
) -> PlannedNodes:
    named = in_short(nodes)
    requested = requested_steps(traits, templates)
    if templates and supported is not None:
        steps = plan_node(named, traits, templates, supported)
        return PlannedNodes(nodes, () if errors(steps.findings) else requested, steps.steps, steps.findings)
    faults = list(trait_faults(named, traits))
    if templates:
        message = f"{named}: the provisioner does not know the nodes, so it is unknown whether they have these steps."
        faults.append(warning("DeployStepsNotChecked", message))
    return PlannedNodes(nodes, () if errors(faults) else requested, (), tuple(faults))


def plan_service(
    nodes: Collection[NodeName],
    template: DeployTemplate,
    supported: Mapping[NodeName, SupportedSteps],
    kind: str = "template",
) -> tuple[PlannedNodes, ...]:
    """Return the steps that a service runs on deployed nodes, grouped as ``plan_nodes`` does."""
    return _plan_alike(nodes, supported, lambda named, support: service_steps(named, template, support, kind))


def _plan_alike(
    nodes: Collection[NodeName],
    supported: Mapping[NodeName, SupportedSteps],
    chosen: Callable[[str, SupportedSteps], tuple[tuple[TemplateStep, ...], tuple[Finding, ...]]],
) -> tuple[PlannedNodes, ...]:
    """Return the steps that are chosen for nodes that are alike, by their names and by what they support."""
    kinds: list[SupportedSteps] = []
    alike: defaultdict[int | None, list[NodeName]] = defaultdict(list)
    for node in sorted(nodes):
        alike[_kind(kinds, supported.get(node))].append(node)
    planned = []
    for at, names in alike.items():
        named = in_short(names)
        if at is None:
            faults = (error("NodeNotInProvisioner", f"{named}: the provisioner does not know these nodes."),)
            planned.append(PlannedNodes(tuple(names), findings=faults))
            continue
        steps, findings = chosen(named, kinds[at])
        planned.append(PlannedNodes(tuple(names), steps, running(steps), findings))
    return tuple(planned)


def plan_runbook(
    nodes: Collection[NodeName], runbook: Runbook, supported: Mapping[NodeName, SupportedSteps]
) -> "StepPlan":
    """Return the steps of a runbook on deployed nodes, with an error for what keeps it from running there."""
    planned = plan_service(nodes, runbook.steps, supported, RUNBOOK)
    return StepPlan(
        planned,
        (*_runbook_faults(runbook), *(finding for nodes_planned in planned for finding in nodes_planned.findings)),
    )


def plan_cleaning(
    nodes: Collection[NodeName], runbook: Runbook, supported: Mapping[NodeName, SupportedSteps]
) -> "StepPlan":
    """Return the steps of a runbook that clean nodes before their deployment, with the errors of ``plan_runbook``."""
    planned = _plan_alike(nodes, supported, lambda named, support: clean_steps(named, runbook.steps, support))
    faults = (*_runbook_faults(runbook), *(finding for nodes_planned in planned for finding in nodes_planned.findings))
    return StepPlan(findings=faults, cleaning=planned)


def _runbook_faults(runbook: Runbook) -> list[Finding]:
    name, faults = runbook.steps.name, list[Finding]()
    if runbook.unsuitable:
        message = f"{in_short(sorted(runbook.unsuitable))}: no trait of the runbook {name} is on the nodes."
        faults.append(error("RunbookNotForNode", f"{message} Give them one, or name other nodes."))
    if runbook.masked:
        message = f"The provisioner hides arguments of {in_words(map(str, runbook.masked))} in the runbook {name}"
        faults.append(error("RunbookMasked", f"{message}, so they cannot be sent. Write a deploy template instead."))
    return faults


def running(steps: Sequence[TemplateStep]) -> tuple[PlannedStep, ...]:
    """Return the steps of a service or of a cleaning as a plan shows them: nothing else runs."""
    return tuple(
        PlannedStep(deploy_step.interface, deploy_step.step, deploy_step.args, deploy_step.priority, name)
        for name, deploy_step in steps
    )


def without(planned: Sequence[PlannedNodes], skipped: Collection[NodeName]) -> tuple[PlannedNodes, ...]:
    """Return the steps of the nodes that are not skipped."""
    rest = (replace(plan, nodes=tuple(node for node in plan.nodes if node not in skipped)) for plan in planned)
    return tuple(plan for plan in rest if plan.nodes)


def _kind(kinds: list[SupportedSteps], supported: SupportedSteps | None) -> int | None:
    """Return the number of the kind of a node, None if it is not known."""
    if supported is None:
        return None
    if supported not in kinds:
        kinds.append(supported)
    return kinds.index(supported)


def requested_of(planned: Sequence[PlannedNodes]) -> RequestedSteps:
    """Return what the templates ask for, by node."""
    return {node: plan.requested for plan in planned for node in plan.nodes if plan.requested}


def requested_to_json(requested: RequestedSteps) -> list[dict[str, Any]]:
    """Return the stored form: the steps, once for all nodes that share them."""
    return [
        {"nodes": list(nodes), "steps": [step.to_json() for step in steps]} for nodes, steps in shared_steps(requested)
    ]


def requested_from_json(stored: Sequence[Mapping[str, Any]]) -> RequestedSteps:
    """Return the steps from their stored form."""
    requested: dict[NodeName, tuple[TemplateStep, ...]] = {}
    for entry in stored:
        steps = tuple(map(TemplateStep.from_json, entry["steps"]))
        requested.update(dict.fromkeys((NodeName(node) for node in entry["nodes"]), steps))
    return requested


def work_steps(requested: RequestedSteps) -> Mapping[NodeName, tuple[DeployStep, ...]]:
    """Return the steps as the provisioner gets them."""
    return {node: tuple(template_step.step for template_step in steps) for node, steps in requested.items()}


def only(requested: RequestedSteps, nodes: Collection[NodeName]) -> RequestedSteps:
    """Return what the templates of some of the nodes ask for."""
    return {node: requested[node] for node in nodes if node in requested} if requested else {}


def shared_steps(requested: RequestedSteps) -> Iterator[tuple[tuple[NodeName, ...], tuple[TemplateStep, ...]]]:
    """Yield the steps with all nodes that share them."""
    # Planned nodes share one tuple; arguments of steps have no hash.
    alike: defaultdict[int, list[NodeName]] = defaultdict(list)
    for node, steps in requested.items():
        alike[id(steps)].append(node)
    for nodes in alike.values():
        yield tuple(nodes), requested[nodes[0]]


class StepPlan(Struct, frozen=True):
    """The deploy steps of the nodes that have templates; with an error among the findings, deploy none of them.

    ``deployed``: the nodes that the provisioner shows as deployed, None if it was not asked. A deployment of the site
    leaves them alone. ``cleaning``: what a runbook runs on nodes before their deployment. ``whole``: whether the design
    was read for all of the nodes.
    """

    nodes: Sequence[PlannedNodes] = ()
    findings: Sequence[Finding] = ()
    deployed: frozenset[NodeName] | None = None
    cleaning: Sequence[PlannedNodes] = ()
    whole: bool = False

    @property
    def applied(self) -> Sequence[PlannedNodes]:
        """The steps that run: those of the nodes that are not left alone."""
        return without(self.nodes, self.deployed) if self.deployed else self.nodes

    @property
    def requested(self) -> RequestedSteps:
        """What the templates ask for, by node."""
        return requested_of(self.nodes)

    @property
    def chosen(self) -> RequestedSteps | None:
        """What the templates ask for: nodes without an entry have none; None if that is not known of every node."""
        return None if errors(self.findings) or not self.whole else self.requested


NO_STEPS = StepPlan()
