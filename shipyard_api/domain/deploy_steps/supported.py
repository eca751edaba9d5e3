"""The deploy steps that a provisioner runs on a node, by default or for a template (contract: Ironic templates, 14)."""

from collections.abc import Mapping

from msgspec import Struct, field

from shipyard_api.domain.deploy_steps.templates import HIGHEST_PRIORITY, Interface, StepKey


class SupportedStep(Struct, frozen=True):
    """A step of the provisioner. ``priority``: of a deployment that no template changes; 0: it runs only if asked for.

    ``arguments``: each name, and whether the step needs it. A ``core`` step can be disabled and not moved; one that is
    ``needed`` not even that. ``lowest``, ``highest``: the priorities with which it can run.
    """

    interface: Interface
    step: str
    priority: int = 0
    arguments: Mapping[str, bool] = field(default_factory=dict)
    core: bool = False
    needed: bool = False
    lowest: int = 1
    highest: int = HIGHEST_PRIORITY

    @property
    def key(self) -> StepKey:
        """What identifies the step."""
        return StepKey(self.interface, self.step)


class SupportedSteps(Struct, frozen=True):
    """The steps of a node in the provisioner's order.

    ``repeats``: whether a step can run more than once (seed 003, Deploy Templates); Ironic's cannot. ``disallowed``:
    steps that the provisioner never runs, whatever asks for them. ``system``: the provisioner's name. ``hints``: why
    steps of an interface may be missing here. ``service``: the steps that run on deployed nodes; None: the same ones.
    ``clean``: those that can run before a deployment.
    """

    steps: tuple[SupportedStep, ...]
    repeats: bool = False
    disallowed: frozenset[StepKey] = frozenset()
    system: str = "the provisioner"
    hints: Mapping[Interface, str] = field(default_factory=dict)
    service: tuple[SupportedStep, ...] | None = None
    clean: tuple[SupportedStep, ...] = ()

    @classmethod
    def none(cls, system: str, why: str) -> "SupportedSteps":
        """Return what a provisioner supports that runs no steps of templates; ``why``: as part of a sentence."""
        return cls((), system=system, hints=dict.fromkeys(Interface, why))

    def service_by_key(self) -> Mapping[StepKey, SupportedStep]:
        """Return each step of a service by what identifies it."""
        return {step.key: step for step in (self.steps if self.service is None else self.service)}

    def clean_by_key(self) -> Mapping[StepKey, SupportedStep]:
        """Return each step of a cleaning by what identifies it."""
        return {step.key: step for step in self.clean}

    def by_key(self) -> Mapping[StepKey, SupportedStep]:
        """Return each step by what identifies it."""
        return {step.key: step for step in self.steps}
