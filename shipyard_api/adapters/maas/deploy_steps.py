"""The deploy steps that MAAS's API has, as its forms; pure (contract maas, 7).

MAAS deploys a machine in one piece: what changes the machine comes before it. A machine is commissioned before its
storage layout is set, because commissioning reads its disks.
"""

from collections.abc import Sequence
from typing import Any

from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface

from .client import SYSTEM, Fields

DEPLOY = SupportedStep(Interface.DEPLOY, "deploy", 100, core=True, needed=True)
_SIZES = ("boot_disk", "root_device", "root_size", "vg_name", "lv_name", "lv_size", "cache_device", "cache_mode")
LAYOUT = SupportedStep(
    Interface.DEPLOY,
    "set_storage_layout",
    arguments={"storage_layout": True, **dict.fromkeys((*_SIZES, "cache_size", "cache_no_part"), False)},
    lowest=101,
    highest=199,
)
SCRIPTS = SupportedStep(
    Interface.MANAGEMENT,
    "run_commissioning_scripts",
    arguments={"commissioning_scripts": True, "testing_scripts": False},
    lowest=200,
)
SUPPORTED = SupportedSteps(
    (DEPLOY, LAYOUT, SCRIPTS),
    system=SYSTEM,
    hints=dict.fromkeys(Interface, f"MAAS has {DEPLOY.key}, {LAYOUT.key} and {SCRIPTS.key}"),
)


def fault(steps: Sequence[DeployStep]) -> str:
    """Return why MAAS cannot run these steps of a node, as part of a sentence; empty if it can."""
    known = SUPPORTED.by_key()
    if unknown := [str(step.key) for step in steps if step.key not in known]:
        return f"MAAS does not run {', '.join(unknown)}"
    if any(step.key == DEPLOY.key for step in steps):
        return f"MAAS cannot do without {DEPLOY.key}"
    return ""


def form_of(steps: Sequence[DeployStep], wanted: SupportedStep) -> Fields | None:
    """Return the form of a step, None if it does not run."""
    for step in steps:
        if step.key == wanted.key and step.priority:
            return [(name, _text(value)) for name, value in step.args.items()]
    return None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(_text, value))
    return str(value)
