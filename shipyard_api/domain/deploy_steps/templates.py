"""Deploy templates and their steps (seed 003, Deploy Templates; contract: Ironic deploy templates, 6)."""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from msgspec import Struct

from shipyard_api.domain.deploy_steps.traits import TraitName, in_words
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName


class Interface(Enum):
    """The hardware interfaces that have deploy steps, in the order of their steps with one priority."""

    VENDOR = "vendor"
    POWER = "power"
    MANAGEMENT = "management"
    FIRMWARE = "firmware"
    DEPLOY = "deploy"
    BIOS = "bios"
    RAID = "raid"


class StepKey(NamedTuple):
    """What identifies a deploy step of a node."""

    interface: Interface
    step: str

    def __str__(self) -> str:
        return f"{self.interface.value}.{self.step}"


class DeployStep(Struct, frozen=True):
    """A step as a template asks for it. Steps with a higher ``priority`` run first; one with 0 does not run."""

    interface: Interface
    step: str
    args: JsonObject
    priority: int

    @property
    def key(self) -> StepKey:
        """The step of a node that this one asks for."""
        return StepKey(self.interface, self.step)

    def to_json(self) -> dict[str, Any]:
        """Return the step as templates write it."""
        return {"interface": self.interface.value, "step": self.step, "args": self.args, "priority": self.priority}


class TemplateStep(NamedTuple):
    """A step that a node's deployment asks for, and the template that it comes from."""

    template: TraitName
    step: DeployStep

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"template": self.template, **self.step.to_json()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "TemplateStep":
        """Return the step from its stored form."""
        step = DeployStep(Interface(stored["interface"]), stored["step"], stored["args"], stored["priority"])
        return cls(TraitName(stored["template"]), step)


class DeployTemplate(Struct, frozen=True):
    """The steps that a trait asks for, as they are written. No two templates have one name."""

    name: TraitName
    steps: tuple[DeployStep, ...]


class Runbook(Struct, frozen=True):
    """Steps that the provisioner keeps, in their order: the first has the highest priority.

    ``unsuitable``: the nodes asked about that have none of its traits. ``masked``: the steps of which the provisioner
    hides arguments, so that no other user can send them.
    """

    steps: DeployTemplate
    unsuitable: frozenset[NodeName] = frozenset()
    masked: tuple[StepKey, ...] = ()


DUPLICATE_STEP = "DuplicateStep"
"""Name of the finding that a template asks for a step twice."""

LONGEST_STEP = 255
"""Characters of a step's name."""

HIGHEST_PRIORITY = 2**31 - 1
"""What a column of the database holds."""

_KEYS = ("interface", "step", "args", "priority")
_INTERFACES = {interface.value: interface for interface in Interface}
_SHOWN = 60


def read_steps(written: object, path: str = "/steps") -> tuple[tuple[DeployStep, ...], tuple[Finding, ...]]:
    """Return the steps of a template, and an error for each fault: then there are no steps.

    ``path``: JSON pointer to the list. A template asks for a step once: Ironic refuses more (contract, 6).
    """
    if not isinstance(written, list):
        return (), (error("InvalidSteps", "steps is not a list.", path=path),)
    if not written:
        return (), (error("NoSteps", "steps is empty: a template has at least one step.", path=path),)
    findings = [
        error("InvalidStep", f"steps[{place}] {fault}.", path=f"{path}/{place}")
        for place, entry in enumerate(written)
        for fault in _faults(entry)
    ]
    if findings:
        return (), tuple(findings)
    steps = tuple(
        DeployStep(_INTERFACES[entry["interface"]], entry["step"], entry["args"], int(entry["priority"]))
        for entry in written
    )
    first: dict[StepKey, int] = {}
    for place, step in enumerate(steps):
        if (earlier := first.setdefault(step.key, place)) != place:
            message = (
                f"Duplicate deploy steps: steps[{earlier}] and steps[{place}] are both {step.key}; ask for it once."
            )
            findings.append(error(DUPLICATE_STEP, message, path=f"{path}/{place}"))
    return (() if findings else steps), tuple(findings)


def _faults(step: object) -> Iterator[str]:
    if not isinstance(step, Mapping):
        yield "is not an object"
        return
    if missing := [key for key in _KEYS if key not in step]:
        yield f"has no {in_words(missing)}"
    if unknown := [str(key)[:_SHOWN] for key in step if key not in _KEYS]:
        yield f"has the unknown key {in_words(unknown)}; a step has {in_words(_KEYS)}"
    interface, name = step.get("interface", "deploy"), step.get("step", "-")
    if not isinstance(interface, str) or interface not in _INTERFACES:
        yield f"has the interface {str(interface)[:_SHOWN]!r}; write one of {in_words(_INTERFACES)}"
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_STEP:
        yield f"needs a step that is text of 1 to {LONGEST_STEP} characters"
    if not isinstance(step.get("args", {}), Mapping):
        yield "needs args that are an object; write {} for none"
    if not _is_priority(step.get("priority", 0)):
        yield f"needs a priority from 0 (does not run) to {HIGHEST_PRIORITY}"


def _is_priority(written: object) -> bool:
    """Return whether a priority is a whole number in range: 1, 1.0 or "1"."""
    if isinstance(written, bool):
        return False
    if isinstance(written, str):
        return written.isascii() and written.isdigit() and len(written) <= 10 and int(written) <= HIGHEST_PRIORITY
    return isinstance(written, int | float) and 0 <= written <= HIGHEST_PRIORITY and written == int(written)
