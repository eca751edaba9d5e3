"""Burn-in: stress tests that a server passes before its first deployment (product, section 8)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface, TemplateStep
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.rollout.policy.lateness import Usual
from shipyard_api.domain.stored import ByFields

PARTS = ("cpu", "memory", "disk", "network")
"""The parts of a server that are tested, in the order in which they are."""

SECONDS = "seconds"
"""The argument of a step of a burn-in: the duration."""

Durations = Mapping[Phase, Sequence[float]]
"""How long phases took, in seconds and in ascending order."""

_SOURCE = TraitName("burn_in")
_PREFIX = "burnin_"


class BurnIn(ByFields, Struct, frozen=True):
    """How long each part is tested, in seconds as the design writes them; ``scale``: of a simulated site."""

    parts: Mapping[str, int]
    scale: float = 1.0

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> "BurnIn | None":
        """Return the burn-in of a configuration; None if no part is tested."""
        parts = {part: int(written[part]) for part in PARTS if written.get(part)}
        return cls(parts) if parts else None

    def scaled(self, factor: float) -> "BurnIn":
        """Return the burn-in of a simulated site where a second lasts ``factor`` seconds."""
        return replace(self, scale=self.scale * factor)

    @property
    def length(self) -> float:
        """How long all tests last together, in seconds."""
        return self.scale * sum(self.parts.values())

    @property
    def steps(self) -> tuple[TemplateStep, ...]:
        """The steps of the preparation of a node, in order."""
        ordered = [(part, self.parts[part]) for part in PARTS if part in self.parts]
        numbered = zip(range(len(ordered), 0, -1), ordered, strict=True)
        return tuple(
            TemplateStep(_SOURCE, DeployStep(Interface.DEPLOY, f"{_PREFIX}{part}", {SECONDS: seconds}, priority))
            for priority, (part, seconds) in numbered
        )

    def prolonged(self, seconds: Sequence[float]) -> Sequence[float]:
        """Return durations of preparations with the burn-in added to those that had none, in ascending order.

        A preparation that took less time than the burn-in had none.
        """
        return sorted(moment if moment >= self.length else moment + self.length for moment in seconds)

    def measured(self, ask: Callable[[], Durations]) -> Callable[[], Durations]:
        """Return a question for the durations of phases that adds the burn-in to them."""

        def asked() -> Durations:
            durations = ask()
            return {**durations, Phase.PREPARE: self.prolonged(durations.get(Phase.PREPARE, ()))}

        return asked

    def learnt(self, ask: Callable[[Mapping[NodeName, str]], Usual]) -> Callable[[Mapping[NodeName, str]], Usual]:
        """Return a question for usual durations that adds the burn-in to those of preparations."""

        def asked(models: Mapping[NodeName, str]) -> Usual:
            by_phase = ask(models)
            usual = {model: self.prolonged([seconds])[0] for model, seconds in by_phase.get(Phase.PREPARE, {}).items()}
            return {**by_phase, Phase.PREPARE: usual} if usual else by_phase

        return asked


def check_burn_in(limits: ProvisionerLimits) -> Iterator[Finding]:
    """Yield an error for a burn-in if the provisioner has none."""
    if limits.no_clean:
        message = f"{limits.system} cannot burn servers in: {limits.no_clean}. Leave burn_in out."
        yield error("NoBurnIn", message, path="/physical_provisioner/burn_in")


def burn_in_part(step: DeployStep) -> str:
    """Return the part that a step of a burn-in tests; empty for any other step, also of a runbook."""
    part = step.step.removeprefix(_PREFIX)
    ours = step.interface is Interface.DEPLOY and step.step == f"{_PREFIX}{part}" and step.args.keys() == {SECONDS}
    return part if ours and part in PARTS else ""
