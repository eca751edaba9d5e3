"""The deploy steps of a node, by its hardware interfaces; pure (contract ironic-deploy-templates, section 15).

Ironic lists the deploy steps of a node nowhere. What follows is what its own interfaces have; a file of the
operator adds those of other drivers, and those that agents have on top.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import HIGHEST_PRIORITY, Interface, StepKey
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName

from .client import SYSTEM

StepTable = Mapping[Interface, Mapping[str, tuple[SupportedStep, ...]]]
"""Steps by interface, and by what Ironic calls the implementation of the interface."""

SETTING = "[ironic] deploy_steps_file"
_FIRMWARE_SINCE = 86
_DISALLOWED = frozenset({StepKey(Interface.VENDOR, "send_raw")})
_ANY = "*"


class UnreadableSteps(ValueError):
    """The operator's file does not describe deploy steps; the text follows the name of the file."""


def _steps(interface: Interface, *steps: SupportedStep | str) -> tuple[SupportedStep, ...]:
    return tuple(SupportedStep(interface, step) if isinstance(step, str) else step for step in steps)


_DEPLOY = SupportedStep(Interface.DEPLOY, "deploy", 100, core=True)
_AGENT_TAIL = (
    SupportedStep(Interface.DEPLOY, "switch_to_tenant_network", 30),
    SupportedStep(Interface.DEPLOY, "tear_down_agent", 40),
)
_BOOT = SupportedStep(Interface.DEPLOY, "boot_instance", 20)
# Steps of one priority run in the order of their names.
_IMAGE = (
    _BOOT,
    _DEPLOY,
    SupportedStep(Interface.DEPLOY, "prepare_instance_boot", 60),
    *_AGENT_TAIL,
    SupportedStep(Interface.DEPLOY, "write_image", 80),
)
_BOOTC = (
    _BOOT,
    _DEPLOY,
    SupportedStep(Interface.DEPLOY, "execute_bootc_install", 80),
    SupportedStep(Interface.DEPLOY, "set_boot_to_disk", 60),
    *_AGENT_TAIL,
)
_OPTIONAL = dict.fromkeys(("create_root_volume", "create_nonroot_volumes", "delete_existing"), False)
_RAID = SupportedStep(Interface.RAID, "apply_configuration", arguments={"raid_config": True, **_OPTIONAL})


def _settings(interface: Interface, step: str) -> SupportedStep:
    return SupportedStep(interface, step, arguments={"settings": True})


KNOWN: StepTable = {
    Interface.VENDOR: {
        "ipmitool": _steps(
            Interface.VENDOR, SupportedStep(Interface.VENDOR, "send_raw", arguments={"raw_bytes": True})
        ),
        "redfish": (),
    },
    Interface.POWER: {_ANY: ()},
    Interface.MANAGEMENT: {
        "redfish": _steps(Interface.MANAGEMENT, "clear_secure_boot_keys", "reset_secure_boot_keys_to_default"),
        "ipmitool": (),
    },
    Interface.FIRMWARE: {"redfish": (_settings(Interface.FIRMWARE, "update"),)},
    Interface.DEPLOY: {
        "direct": _IMAGE,
        "ansible": (_DEPLOY,),
        "ramdisk": (_DEPLOY,),
        "bootc": _BOOTC,
        "fake": (_DEPLOY,),
    },
    Interface.BIOS: {
        "redfish": (_settings(Interface.BIOS, "apply_configuration"), *_steps(Interface.BIOS, "factory_reset")),
    },
    Interface.RAID: {"redfish": (_RAID, *_steps(Interface.RAID, "delete_configuration")), "agent": (_RAID,)},
}


def fields(version: int) -> tuple[str, ...]:
    """Return the fields of a node that name its interfaces, in version 1.N of the API."""
    return tuple(
        f"{one.value}_interface" for one in Interface if one is not Interface.FIRMWARE or version >= _FIRMWARE_SINCE
    )


def supported(
    listed: Iterable[JsonObject], nodes: Collection[NodeName], further: StepTable
) -> Mapping[NodeName, SupportedSteps]:
    """Return the steps of those nodes that are listed. ``further`` overrides the known steps of an implementation."""
    wanted = frozenset(nodes)
    kinds: dict[tuple[str, ...], SupportedSteps] = {}
    found: dict[NodeName, SupportedSteps] = {}
    for one in listed:
        name = NodeName(str(one.get("name")))
        if name in wanted:
            kind = tuple(str(one.get(f"{interface.value}_interface") or "") for interface in Interface)
            if kind not in kinds:
                kinds[kind] = _of_kind(dict(zip(Interface, kind, strict=True)), further)
            found[name] = kinds[kind]
    return found


def _of_kind(chosen: Mapping[Interface, str], further: StepTable) -> SupportedSteps:
    steps: list[SupportedStep] = []
    hints: dict[Interface, str] = {}
    for interface, name in chosen.items():
        known = KNOWN[interface]
        of_file = further.get(interface, {})
        own = of_file.get(name, known.get(name, known.get(_ANY)))
        steps += [*(own or ()), *of_file.get(_ANY, ())]
        if own is None and name and not name.startswith("no-") and name != "fake":
            hints[interface] = f"its {interface.value} interface is {name}: name the steps of that in {SETTING}"
    return SupportedSteps(tuple(steps), disallowed=_DISALLOWED, system=SYSTEM, hints=hints)


def read_table(written: object) -> StepTable:
    """Return the steps in a file: interface, implementation (``*``: any), a list of steps. Raises UnreadableSteps."""
    if not isinstance(written, Mapping):
        raise UnreadableSteps("is not an object of interfaces")
    interfaces = {one.value: one for one in Interface}
    table: dict[Interface, dict[str, tuple[SupportedStep, ...]]] = {}
    for name, implementations in written.items():
        if name not in interfaces:
            raise UnreadableSteps(f"has the interface {name!r}; write one of {', '.join(interfaces)}")
        if not isinstance(implementations, Mapping):
            raise UnreadableSteps(f"{name} is not an object of implementations")
        table[interfaces[name]] = {
            str(one): _read_steps(steps, interfaces[name], f"{name}.{one}") for one, steps in implementations.items()
        }
    return table


def _read_steps(written: object, interface: Interface, place: str) -> tuple[SupportedStep, ...]:
    if not isinstance(written, list):
        raise UnreadableSteps(f"{place} is not a list of steps")
    steps = tuple(_read_step(one, interface, f"{place}[{number}]") for number, one in enumerate(written))
    names = [one.step for one in steps]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UnreadableSteps(f"{place} has {', '.join(twice)} more than once")
    return steps


def _read_step(written: Any, interface: Interface, place: str) -> SupportedStep:
    if not isinstance(written, Mapping) or not isinstance(written.get("step"), str) or not written["step"]:
        raise UnreadableSteps(f"{place} is not an object with the name of a step in `step`")
    if unknown := sorted(map(str, written.keys() - {"step", "priority", "args", "core"})):
        raise UnreadableSteps(f"{place} has the unknown key {unknown[0]}; a step has step, priority, args and core")
    priority, args, core = written.get("priority", 0), written.get("args", {}), written.get("core", False)
    if type(priority) is not int or not 0 <= priority <= HIGHEST_PRIORITY:
        raise UnreadableSteps(f"{place} needs a priority from 0 to {HIGHEST_PRIORITY}")
    if not isinstance(args, Mapping) or not all(isinstance(needed, bool) for needed in args.values()):
        raise UnreadableSteps(f"{place} needs args that say of each argument whether it is required: true or false")
    if not isinstance(core, bool):
        raise UnreadableSteps(f"{place} needs true or false for core")
    return SupportedStep(interface, written["step"], priority, {str(name): args[name] for name in args}, core=core)
