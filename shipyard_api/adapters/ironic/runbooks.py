"""Ironic's runbooks: steps with a name, for nodes with one of its traits (contract ironic-provisioner, "Since then").

The steps are sent as those of a template are, and not the name: an action runs on its last node what it ran on its
first, even if the runbook has changed meanwhile. Ironic hides secret arguments, so such steps cannot be sent.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface, Runbook
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Refused

from .client import SYSTEM

SINCE = 92
"""N of the first version 1.N with runbooks."""

_TRAITS_SINCE = 112  # before, the name of a runbook was its only trait
_MASK = "******"


def read(runbook: JsonObject, listed: Iterable[JsonObject], nodes: Collection[NodeName], version: int) -> Runbook:
    """Return a runbook for these nodes. ``listed``: nodes and their traits. Raises Refused for an unknown interface."""
    name = str(runbook.get("name"))
    traits = frozenset(runbook.get("traits") or ()) if version >= _TRAITS_SINCE else {name}
    has = {runbook.get("name"): frozenset(runbook.get("traits") or ()) for runbook in listed}
    written = sorted(runbook.get("steps") or (), key=lambda step: int(step.get("order", 0)))
    steps = tuple(_step(step, priority) for priority, step in zip(range(len(written), 0, -1), written, strict=True))
    return Runbook(
        DeployTemplate(TraitName(name), steps),
        frozenset(node for node in nodes if node in has and not traits & has[node]),
        tuple(step.key for step in steps if _is_masked(step.args)),
    )


def _step(written: JsonObject, priority: int) -> DeployStep:
    try:
        interface = Interface(written.get("interface"))
    except ValueError as error:
        why = f"a step of the runbook has the interface {written.get('interface')}"
        raise Refused(SYSTEM, "runbook", why, whole_site=True) from error
    return DeployStep(interface, str(written.get("step")), dict(written.get("args") or {}), priority)


def _is_masked(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_masked, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(map(_is_masked, value))
    return value == _MASK
