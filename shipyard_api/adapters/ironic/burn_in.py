"""Burn-in steps of the agent, whose options are in driver_info; pure (Ironic's admin guide, Hardware Burn-in)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shipyard_api.domain.burn_in import SECONDS, burn_in_part
from shipyard_api.domain.deploy_steps.templates import DeployStep
from shipyard_api.domain.json_types import JsonObject

from .translate import Mark

_OPTIONS: Mapping[str, str] = {
    "cpu": "agent_burnin_cpu_timeout",
    "memory": "agent_burnin_vm_timeout",
    "disk": "agent_burnin_fio_disk_runtime",
    "network": "agent_burnin_fio_network_runtime",
}


def options(steps: Sequence[DeployStep]) -> Iterator[JsonObject]:
    """Yield the changes of a node that set how long these steps last, in seconds."""
    for step in steps:
        if part := burn_in_part(step):
            yield {"op": "add", "path": f"/driver_info/{_OPTIONS[part]}", "value": step.args[SECONDS]}


def sent(step: DeployStep) -> dict[str, Any]:
    """Return a step as Ironic gets it: those of a burn-in take no arguments."""
    return step.to_json() | ({"args": {}} if burn_in_part(step) else {})


def passed(steps: Sequence[DeployStep]) -> str:
    """Return the text with which a mark remembers that a node has passed its burn-in; empty for other steps."""
    return " ".join(f"{step.step}={step.args[SECONDS]}" for step in steps if burn_in_part(step))


def has_passed(mark: Mark | None, steps: Sequence[DeployStep]) -> bool:
    """Return whether a node needs none of these steps: there is none, or it has passed this burn-in."""
    return not steps or (mark is not None and bool(mark.burned_in) and mark.burned_in == passed(steps))
