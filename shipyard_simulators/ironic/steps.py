"""Deploy steps: the steps that the hardware offers, the validation of a request, and the order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from shipyard_simulators.ironic.errors import IronicError, invalid
from shipyard_simulators.ironic.node import Node

INTERFACES = ("vendor", "power", "management", "firmware", "deploy", "bios", "raid")
"""The interfaces that have steps; their order decides between steps of equal priority."""

_DISALLOWED = {("vendor", "send_raw")}
_NAMES_OF_IRONIC = {"power_on", "power_off", "reboot", "wait", "hold"}
_LARGEST_PRIORITY = 2**31 - 1

Requested = Mapping[str, Any]
"""A requested step: interface, step, args, priority."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A step that the hardware offers. ``args``: its arguments, each with whether it is required."""

    interface: str
    step: str
    priority: int = 0
    args: Mapping[str, bool] = field(default_factory=dict)
    core: bool = False
    in_band: bool = False
    """Offered by the agent, so unknown before the agent runs."""

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the step."""
        return self.interface, self.step

    def view(self) -> dict[str, Any]:
        """Return the step with its defaults, as the conductor stores it."""
        argsinfo = {name: {"required": required} for name, required in self.args.items()} or None
        return {"interface": self.interface, "step": self.step, "priority": self.priority, "argsinfo": argsinfo}


_DEPLOY = (
    Offered("deploy", "boot_instance", 20),
    Offered("deploy", "deploy", 100, core=True),
    Offered("deploy", "prepare_instance_boot", 60),
    Offered("deploy", "switch_to_tenant_network", 30),
    Offered("deploy", "tear_down_agent", 40),
    Offered("deploy", "write_image", 80),
)
_RAID = Offered(
    "raid",
    "apply_configuration",
    args={"raid_config": True, "create_root_volume": False, "create_nonroot_volumes": False, "delete_existing": False},
)
_SETTINGS = {"settings": True}
_BOARD = (
    Offered("bios", "apply_configuration", args=_SETTINGS),
    Offered("bios", "factory_reset"),
    _RAID,
    Offered("raid", "delete_configuration"),
    Offered("management", "clear_secure_boot_keys"),
    Offered("management", "reset_secure_boot_keys_to_default"),
    Offered("firmware", "update", args=_SETTINGS),
)
_AGENT = (
    Offered("deploy", "erase_devices", in_band=True),
    Offered("deploy", "erase_devices_metadata", in_band=True),
    Offered("deploy", "inject_files", args={"files": False}, in_band=True),
)
_RESERVED = {"power_on", "power_off", "reboot", "wait", "hold"}
_BURN_IN = {("deploy", f"burnin_{part}") for part in ("cpu", "gpu", "memory", "network")}
_CLEAN_BURN_IN = {*_BURN_IN, ("deploy", "burnin_disk")}
_BURN_IN_SECONDS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "burnin_cpu": ("agent_burnin_cpu_timeout", 86400),
        "burnin_memory": ("agent_burnin_vm_timeout", 86400),
        "burnin_disk": ("agent_burnin_fio_disk_runtime", 0),
        "burnin_network": ("agent_burnin_fio_network_runtime", 21600),
    }
)
_CLEAN = {
    ("deploy", "erase_devices"),
    ("deploy", "erase_devices_metadata"),
    ("bios", "apply_configuration"),
    ("bios", "factory_reset"),
    ("raid", "create_configuration"),
    ("raid", "delete_configuration"),
    ("firmware", "update"),
}
_AGENT_RAID = Offered("raid", "apply_configuration", args={"raid_config": True, "delete_existing": False})
_BY_DRIVER: Mapping[str, tuple[Offered, ...]] = MappingProxyType(
    {
        "fake-hardware": _DEPLOY + _BOARD,
        "redfish": _DEPLOY + _BOARD + _AGENT,
        "ipmi": (*_DEPLOY, _AGENT_RAID, Offered("vendor", "send_raw", args={"raw_bytes": True}), *_AGENT),
    }
)


def check_shape(steps: object, what: str = "deploy_steps") -> list[dict[str, Any]]:
    """Return the steps of a request; None is no steps. Raises the first error in their structure."""
    if steps is None:
        return []
    if not isinstance(steps, list):
        raise invalid(f"Expected types <class 'NoneType'>, <class 'list'> for {what}: {steps}")
    for step in steps:
        _check_step(step, what)
    return steps


def _check_step(step: object, what: str) -> None:
    if not isinstance(step, dict):
        raise invalid(f"Invalid {what}: {step!r} is not of type 'object'")
    for key in ("args", "interface", "priority", "step"):
        if key not in step:
            raise invalid(f"Invalid {what}: '{key}' is a required property")
    unknown = sorted(set(step) - {"args", "interface", "priority", "step"})
    if unknown:
        raise invalid(f"Invalid {what}: Additional properties are not allowed ('{unknown[0]}' was unexpected)")
    if step["interface"] not in INTERFACES:
        raise invalid(f"Invalid {what}: {step['interface']!r} is not one of {list(INTERFACES)}")
    if not isinstance(step["step"], str) or not step["step"]:
        raise invalid(f"Invalid {what}: {step['step']!r} is no name of a step")
    if not isinstance(step["args"], dict):
        raise invalid(f"Invalid {what}: {step['args']!r} is not of type 'object'")
    priority = step["priority"]
    if isinstance(priority, float) and priority.is_integer():
        priority = int(priority)
    if isinstance(priority, str) and not (priority.isdecimal() and priority.isascii()):
        raise invalid(f"Invalid {what}: {priority!r} does not match '^[0-9]+$'")
    if isinstance(priority, bool) or not isinstance(priority, int | str):
        raise invalid(f"Invalid {what}: {priority!r} is not valid under any of the given schemas")
    if not 0 <= int(priority) <= _LARGEST_PRIORITY:
        raise invalid(f"Invalid {what}: {priority!r} is less than the minimum of 0")


def check_allowed(requested: Sequence[Requested]) -> None:
    """Raise what the API finds in steps before it calls the conductor."""
    if any(isinstance(step["priority"], str) for step in requested):
        # A real Ironic compares the text with a number and fails.
        raise IronicError(500, "'>' not supported between instances of 'str' and 'int'")
    for step in requested:
        if key_of(step) in _DISALLOWED:
            raise invalid(
                f"deploy step '{'.'.join(key_of(step))}' is not allowed. "
                "Disallowed by operator configuration [api]disallow_deploy_steps."
            )


def check_request(
    node: Node, requested: Sequence[Requested], templates: Sequence[Mapping[str, Any]], *, agent: bool
) -> None:
    """Raise all faults of the steps of a deployment, in one text.

    ``agent``: all steps are known, so an unknown one is an error. Without it, unknown steps are ignored.
    """
    prefix = "Validation of deploy steps from "
    named = ", ".join(template["name"] for template in templates)
    findings = _findings(node, _steps_of(templates), agent=agent)
    if findings:
        raise invalid(
            f"{prefix}deploy templates matching this node's instance traits failed. "
            f"Matching deploy templates: {named}. Errors: {'; '.join(findings)}"
        )
    findings = _findings(node, requested, agent=agent)
    if findings:
        raise invalid(f'{prefix}"deploy steps" argument failed.{"; ".join(findings)}')


def check_service_shape(steps: object) -> list[dict[str, Any]]:
    """Return the steps of a service, which have no priority. Raises the first error in their structure."""
    if not isinstance(steps, list) or not steps:
        raise invalid('"service_steps" is required when setting target provision state to service')
    for step in steps:
        if isinstance(step, dict) and "priority" in step:
            raise invalid("Invalid service_steps: Additional properties are not allowed ('priority' was unexpected)")
        _check_step({"args": {}, **step, "priority": 0} if isinstance(step, dict) else step, "service_steps")
    return steps


def offers(node: Node, step: Requested) -> bool:
    """Return whether a deployed node can run the step: none of an installation, but burn-in if it has an agent."""
    offered = _BY_DRIVER[node.values["driver"]]
    if key_of(step)[1] in _RESERVED:
        return True
    if key_of(step) in _BURN_IN:
        return any(known.in_band for known in offered)
    return any(known.key == key_of(step) and known.interface != "deploy" for known in offered)


def burn_in_seconds(node: Node, steps: Iterable[Mapping[str, Any]]) -> float:
    """Return how long burn-in steps last, as the node's driver_info says, or else by their defaults."""
    named = (_BURN_IN_SECONDS.get(str(step.get("step"))) for step in steps)
    return sum(float(node.values["driver_info"].get(option, usual)) for option, usual in filter(None, named))


def cleans(node: Node, step: Mapping[str, Any]) -> bool:
    """Return whether a step of manual cleaning is known to the node; burn-in is its agent's."""
    key = step.get("interface", ""), step.get("step", "")
    return key in _CLEAN or key[1] in _RESERVED or (key in _CLEAN_BURN_IN and node.has_agent)


def apply(node: Node, step: Requested) -> None:
    """Do what a step does to the settings of the board."""
    if key_of(step) == ("bios", "factory_reset"):
        node.bios.clear()
    elif key_of(step) == ("bios", "apply_configuration"):
        node.bios |= {str(one["name"]): str(one["value"]) for one in (step.get("args") or {}).get("settings") or ()}
    elif key_of(step) == ("firmware", "update"):
        for one in (step.get("args") or {}).get("settings") or ():
            node.firmware[str(one["component"])] = PurePosixPath(str(one["url"])).stem.rpartition("-")[2]


def merge(
    node: Node, requested: Sequence[Requested], templates: Sequence[Mapping[str, Any]], *, agent: bool
) -> list[dict[str, Any]]:
    """Return the steps to run, in order; steps that are not offered (yet) are skipped."""
    offered = {step.key: step for step in _BY_DRIVER[node.values["driver"]] if agent or not step.in_band}
    chosen: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {key: (0, step.view()) for key, step in offered.items()}
    for rank, steps in ((2, _steps_of(templates)), (1, requested)):
        for step in steps:
            if key_of(step) in offered:
                chosen[key_of(step)] = (rank, {**step, "priority": int(step["priority"])})
    # The sort is stable: equal steps keep the order of the driver, then of the request.
    ordered = sorted(
        (each for each in chosen.values() if each[1]["priority"] > 0 and key_of(each[1]) not in _DISALLOWED),
        key=lambda each: (-each[1]["priority"], INTERFACES.index(each[1]["interface"]), each[0]),
    )
    return [step for _, step in ordered]


def check_instance_traits(node: Node) -> list[str]:
    """Return the traits of the instance, or raise their faults."""
    traits = node.values["instance_info"].get("traits")
    if not traits:
        return []
    if not isinstance(traits, list) or not all(isinstance(trait, str) for trait in traits):
        raise invalid(f"Error parsing traits from Node {node.uuid} instance_info field. A list of strings is expected.")
    missing = sorted(set(traits) - set(node.values["traits"]))
    if missing:
        raise invalid(
            "Cannot specify instance traits that are not also set on the node. "
            f"Node {node.uuid} is missing traits {', '.join(missing)}"
        )
    return traits


def key_of(step: Requested) -> tuple[str, str]:
    """Return the identity of a step."""
    return step["interface"], step["step"]


def _steps_of(templates: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [step for template in templates for step in template["steps"]]


def _findings(node: Node, steps: Sequence[Requested], *, agent: bool) -> list[str]:
    offered = {step.key: step for step in _BY_DRIVER[node.values["driver"]] if agent or not step.in_band}
    findings: list[str] = []
    seen: set[tuple[str, str]] = set()
    duplicates: list[str] = []
    for step in steps:
        key = key_of(step)
        if key in seen:
            duplicates.append(".".join(key))
        seen.add(key)
        known = offered.get(key)
        if known is not None:
            findings += _wrong_with(step, known)
        elif agent and key[1] not in _NAMES_OF_IRONIC:
            findings.append(f"node does not support this deploy step: {dict(step)}")
    if duplicates:
        findings.append(
            "deploy steps from all deploy templates matching this node's instance traits cannot have the same "
            f"interface and step. Duplicate deploy steps for {', '.join(duplicates)}"
        )
    return findings


def _wrong_with(step: Requested, known: Offered) -> list[str]:
    findings = []
    unexpected = sorted(set(step["args"]) - set(known.args))
    if unexpected:
        findings.append(f"deploy step {dict(step)} has these unexpected arguments: {', '.join(unexpected)}")
    wanted = int(step["priority"]) > 0
    if known.core and wanted:
        findings.append(
            f"deploy step {known.step} on interface {known.interface} is a core step and cannot be overridden by "
            "user steps. It may be disabled by setting the priority to 0"
        )
    missing = [name for name, required in known.args.items() if required and name not in step["args"]]
    if missing and wanted:
        findings.append(f"deploy step {dict(step)} is missing these required arguments: {', '.join(missing)}")
    return findings
