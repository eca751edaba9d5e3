"""The deploy steps of a node: the provisioner's defaults, changed by the templates of the requested traits.

Seed 003, Deploy Templates; contract: Ironic deploy templates, 14. Where Ironic silently leaves a step out, the node has
an error instead.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from msgspec import Struct

from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import (
    HIGHEST_PRIORITY,
    DeployStep,
    DeployTemplate,
    Interface,
    StepKey,
    TemplateStep,
)
from shipyard_api.domain.deploy_steps.traits import NodeTraits, TraitName, in_words
from shipyard_api.domain.findings import Finding, error, errors, warning
from shipyard_api.domain.json_types import JsonObject

RESERVED = frozenset({"power_on", "power_off", "reboot", "wait", "hold"})
"""Step names that mean something when Ironic cleans a node, and that it leaves out of a deployment."""

RUNBOOK = "runbook"

_RANK = {interface: place for place, interface in enumerate(Interface)}
_IMAGE = frozenset(
    {StepKey(Interface.DEPLOY, "write_image"), StepKey(Interface.DEPLOY, "execute_bootc_install")},
)
_BEFORE_IMAGE = (Interface.RAID, Interface.BIOS)


class PlannedStep(Struct, frozen=True):
    """A step that runs on a node; ``template``: which asks for it, None for a default step."""

    interface: Interface
    step: str
    args: JsonObject
    priority: int
    template: TraitName | None = None

    @property
    def key(self) -> StepKey:
        """What identifies the step."""
        return StepKey(self.interface, self.step)


class NodeSteps(Struct, frozen=True):
    """The steps of a node in the order in which they run; none if there is an error among the findings."""

    steps: tuple[PlannedStep, ...]
    findings: tuple[Finding, ...] = ()


def plan_node(
    node: str, traits: NodeTraits, templates: Iterable[DeployTemplate], supported: SupportedSteps
) -> NodeSteps:
    """Return the deploy steps of a node, and every finding about its traits and templates.

    Templates of all traits of the node are checked; only those of the requested ones are applied. Neither the order of
    traits nor that of templates has an effect. ``node``: its name, or those of several that are alike, for findings.
    """
    by_name: dict[TraitName, list[DeployTemplate]] = defaultdict(list)
    for template in sorted(templates, key=lambda entry: entry.name):
        if template.name in traits.has:
            by_name[template.name].append(template)
    findings = [*trait_faults(node, traits), *_name_faults(node, by_name)]
    enabled = [same_name[0] for same_name in by_name.values()]
    known = supported.by_key()
    for template in enabled:
        findings += [
            error(name, f"{node}: template {template.name}: {fault}.")
            for step in template.steps
            for name, fault in _step_faults(step, known, supported)
        ]
    asked = requested_steps(traits, enabled)
    findings += _clashes(node, asked, repeats=supported.repeats)
    planned = merged(asked, supported)
    if not planned and not errors(findings):
        findings.append(error("NoDeploySteps", f"{node}: the templates disable every deploy step."))
    findings += _late_steps(node, planned)
    return NodeSteps(() if errors(findings) else planned, tuple(findings))


def requested_steps(traits: NodeTraits, templates: Iterable[DeployTemplate]) -> tuple[TemplateStep, ...]:
    """Return the steps of the templates of requested traits: by template name, then as written. 0 disables a step."""
    applied = sorted(
        (candidate for candidate in templates if candidate.name in traits.requested),
        key=lambda candidate: candidate.name,
    )
    return tuple(TemplateStep(template.name, step) for template in applied for step in template.steps)


def service_steps(
    nodes: str, template: DeployTemplate, supported: SupportedSteps, kind: str = "template"
) -> tuple[tuple[TemplateStep, ...], tuple[Finding, ...]]:
    """Return the steps of a template that run on deployed nodes, in order, and every finding; with an error, none.

    The same rules as for a deployment, but no step of an installation can run. ``nodes``: their names, for findings.
    ``kind``: what the steps are kept in; only a runbook may switch the power and wait.
    """
    known, findings = supported.service_by_key(), list[Finding]()
    of_deploy = {key: step for key, step in supported.by_key().items() if key.interface is Interface.DEPLOY}
    installs = _IMAGE | {key for key, step in of_deploy.items() if step.priority or key not in known}
    for step in template.steps:
        about = f"{nodes}: {kind} {template.name}"
        if kind == RUNBOOK and step.step in RESERVED:
            continue
        if step.priority > 0 and step.key in installs:
            message = f"{about}: {step.key} is part of an installation, and a service leaves the system installed."
            findings.append(error("StepOfInstallation", message))
        else:
            findings += [error(name, f"{about}: {fault}.") for name, fault in _step_faults(step, known, supported)]
    running = [step for step in template.steps if step.priority > 0]
    if not running:
        findings.append(error("NoServiceSteps", f"The {kind} {template.name} has no step with a priority above 0."))
    return () if errors(findings) else _in_order(template.name, running), tuple(findings)


def clean_steps(
    nodes: str, runbook: DeployTemplate, supported: SupportedSteps
) -> tuple[tuple[TemplateStep, ...], tuple[Finding, ...]]:
    """Return the steps of a runbook that clean nodes before they are deployed, in order, and every finding; with an
    error, none. ``nodes``: their names, for findings.
    """
    known = supported.clean_by_key()
    findings = [
        error(name, f"{nodes}: {RUNBOOK} {runbook.name}: {fault}.")
        for step in runbook.steps
        if step.step not in RESERVED
        for name, fault in _step_faults(step, known, supported, "clean step")
    ]
    return () if errors(findings) else _in_order(runbook.name, runbook.steps), tuple(findings)


def _in_order(name: TraitName, steps: Iterable[DeployStep]) -> tuple[TemplateStep, ...]:
    ordered = sorted(steps, key=lambda step: (-step.priority, _RANK[step.interface]))
    return tuple(TemplateStep(name, step) for step in ordered)


def merged(asked: Sequence[TemplateStep], supported: SupportedSteps) -> tuple[PlannedStep, ...]:
    """Return the steps that run, in order. A template's step replaces the default one: arguments and priority."""
    replaced = {step.key for _, step in asked}
    default = [
        PlannedStep(step.interface, step.step, {}, step.priority)
        for step in supported.steps
        if step.key not in replaced
    ]
    from_templates = [
        PlannedStep(deploy_step.interface, deploy_step.step, deploy_step.args, deploy_step.priority, name)
        for name, deploy_step in asked
    ]
    running = [
        step for step in (*default, *from_templates) if step.priority > 0 and step.key not in supported.disallowed
    ]
    # The sort is stable: default steps stay in the provisioner's order, then templates by name, each as written.
    return tuple(sorted(running, key=lambda step: (-step.priority, _RANK[step.interface])))


def trait_faults(node: str, traits: NodeTraits) -> Iterator[Finding]:
    """Yield an error that names the requested traits which the node does not have."""
    if missing := traits.missing:
        message = f"{node}: the deployment requests traits that the node does not have: {in_words(missing)}."
        yield error("TraitNotOnNode", f"{message} Give them to the node, or do not request them.")


def _name_faults(node: str, by_name: Mapping[TraitName, Sequence[DeployTemplate]]) -> Iterator[Finding]:
    for name, same_name in by_name.items():
        if len(same_name) > 1:
            yield error(
                "DuplicateDeployTemplate", f"{node}: {len(same_name)} deploy templates are named {name}; keep one."
            )


def _step_faults(
    step: DeployStep, known: Mapping[StepKey, SupportedStep], supported: SupportedSteps, kind: str = "deploy step"
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each fault of one step of a template."""
    supported_step = known.get(step.key)
    if supported_step is None or step.step in RESERVED:
        close = get_close_matches(str(step.key), [str(key) for key in known], n=1)
        hint = supported.hints.get(step.interface) or (f"did you mean {close[0]}?" if close else "")
        text = f"{step.key} is not a {kind} that {supported.system} runs on this node"
        yield "UnsupportedDeployStep", f"{text}; {hint}".removesuffix("; ")
        return
    if unexpected := sorted(step.args.keys() - supported_step.arguments.keys()):
        takes = (
            f"it takes {in_words(sorted(supported_step.arguments))}" if supported_step.arguments else "it takes none"
        )
        yield "UnexpectedStepArguments", f"{step.key} has no argument {in_words(unexpected)}; {takes}"
    if step.priority == 0:
        if supported_step.needed:
            yield "DeployStepNeeded", f"{step.key} cannot be disabled: {supported.system} does not deploy without it"
        return
    if missing := sorted(name for name, needed in supported_step.arguments.items() if needed and name not in step.args):
        yield "MissingStepArguments", f"{step.key} needs {in_words(missing)}"
    if supported_step.core:
        yield (
            "CoreStepReordered",
            f"{step.key} is a core step, which can be disabled with priority 0 and not moved to {step.priority}",
        )
    elif not supported_step.lowest <= step.priority <= supported_step.highest:
        allowed = (
            f"{supported_step.lowest} or more"
            if supported_step.highest >= HIGHEST_PRIORITY
            else f"{supported_step.lowest} to {supported_step.highest}"
        )
        text = f"{step.key} cannot run with priority {step.priority}: {supported.system} takes {allowed}"
        yield "DeployStepOutOfOrder", text
    if step.key in supported.disallowed:
        yield "DisallowedDeployStep", f"{step.key} is among the steps that the provisioner never runs"


def _clashes(node: str, asked: Iterable[TemplateStep], *, repeats: bool) -> Iterator[Finding]:
    """Yield a finding for each step that several templates ask for, if that has no meaning."""
    places: dict[StepKey, list[tuple[TraitName, DeployStep]]] = defaultdict(list)
    for name, step in asked:
        places[step.key].append((name, step))
    for key, users in places.items():
        names = in_words(dict.fromkeys(name for name, _ in users))
        if len(users) > 1 and not repeats:
            message = f"{node}: {key} is requested {len(users)} times, by {names}; the provisioner runs a step once."
            yield error("DuplicateDeployStep", message)
        elif len({step.priority > 0 for _, step in users}) > 1:
            message = f"{node}: {key} is both requested and disabled, by {names}."
            yield error("ContradictoryDeploySteps", message)


def _late_steps(node: str, planned: Sequence[PlannedStep]) -> Iterator[Finding]:
    """Yield a warning for each step that changes disks or firmware after the image is written (contract, 1)."""
    image = next((place for place, step in enumerate(planned) if step.key in _IMAGE), len(planned))
    for step in planned[image:]:
        if step.template and step.interface in _BEFORE_IMAGE:
            message = (
                f"{node}: template {step.template}: {step.key} with priority {step.priority} runs after "
                f"{planned[image].key} ({planned[image].priority}), so it may destroy what was installed."
            )
            yield warning("StepAfterImage", f"{message} Give it a higher priority.")
