"""The deploy steps of a node, by its hardware interfaces; pure (contract ironic-deploy-templates, section 15).

Ironic lists the deploy steps of a node nowhere. ``steps.json`` has the steps of its own interfaces and of its agent,
generated from their classes; a file of the operator adds the steps of other drivers and agents.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from shipyard_api.domain.burn_in import SECONDS, burn_in_part
from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import HIGHEST_PRIORITY, DeployStep, Interface, StepKey
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName

from .client import SYSTEM
from .translate import Mark

StepTable = Mapping[Interface, Mapping[str, tuple[SupportedStep, ...]]]
"""Steps by interface, and by what Ironic calls the implementation of the interface."""

SETTING = "[ironic] deploy_steps_file"
_FIRMWARE_SINCE = 86
_DISALLOWED = frozenset({StepKey(Interface.VENDOR, "send_raw")})
_ANY = "*"


class UnreadableSteps(ValueError):
    """The operator's file does not describe deploy steps; the text follows the name of the file."""


class Release(Struct, frozen=True):
    """The steps of one release of Ironic: in deployments, on deployed nodes, and in cleanings.

    ``api``: N of its newest 1.N.
    """

    api: int
    deploy: StepTable
    service: StepTable
    clean: StepTable


@cache
def releases() -> tuple[Release, ...]:
    """Return the known releases, oldest first, as ``.ci/ironic_steps.py`` has written them."""
    written: dict[str, Any] = json.loads((Path(__file__).parent / "steps.json").read_text(encoding="utf-8"))
    kinds = ("deploy", "service", "clean")
    tables = (Release(table["api"], *(_generated(table[kind]) for kind in kinds)) for table in written.values())
    return tuple(sorted(tables, key=lambda release: release.api))


def release_of(version: int) -> Release:
    """Return the first release that speaks version 1.N of the API; the newest for later ones."""
    known = releases()
    return next((release for release in known if release.api >= version), known[-1])


def _generated(written: Mapping[str, Any]) -> StepTable:
    return {
        Interface(interface): {name: tuple(map(_generated_step, steps)) for name, steps in implementations.items()}
        for interface, implementations in written.items()
    }


def _generated_step(written: Mapping[str, Any]) -> SupportedStep:
    args, core = written.get("args", {}), written.get("core", False)
    return SupportedStep(Interface(written["interface"]), written["step"], written.get("priority", 0), args, core=core)


def fields(version: int) -> tuple[str, ...]:
    """Return the fields of a node that name its interfaces, in version 1.N of the API."""
    return tuple(
        f"{interface.value}_interface"
        for interface in Interface
        if interface is not Interface.FIRMWARE or version >= _FIRMWARE_SINCE
    )


def supported(
    listed: Iterable[JsonObject], nodes: Collection[NodeName], further: StepTable, version: int
) -> Mapping[NodeName, SupportedSteps]:
    """Return the steps of those nodes that are listed. ``further`` overrides the known steps of an implementation.

    ``version``: N of the API's version 1.N in use.
    """
    release = release_of(version)
    wanted = frozenset(nodes)
    kinds: dict[tuple[str, ...], SupportedSteps] = {}
    steps_by_node: dict[NodeName, SupportedSteps] = {}
    for node in listed:
        name = NodeName(str(node.get("name")))
        if name in wanted:
            kind = tuple(str(node.get(f"{interface.value}_interface") or "") for interface in Interface)
            if kind not in kinds:
                kinds[kind] = _of_kind(dict(zip(Interface, kind, strict=True)), further, release)
            steps_by_node[name] = kinds[kind]
    return steps_by_node


def _of_kind(chosen: Mapping[Interface, str], further: StepTable, release: Release) -> SupportedSteps:
    hints = {
        interface: f"its {interface.value} interface is {name}: name the steps of that in {SETTING}"
        for interface, name in chosen.items()
        if name and name not in {*release.deploy[interface], *further.get(interface, {})}
    }
    return SupportedSteps(
        _chosen_steps(chosen, further, release.deploy),
        disallowed=_DISALLOWED,
        system=SYSTEM,
        hints=hints,
        service=_chosen_steps(chosen, further, release.service),
        clean=_chosen_steps(chosen, further, release.clean),
    )


def _chosen_steps(chosen: Mapping[Interface, str], further: StepTable, known: StepTable) -> tuple[SupportedStep, ...]:
    """Return the steps of these implementations, each once: the agent may have those of another interface too."""
    steps: dict[StepKey, SupportedStep] = {}
    for interface, name in chosen.items():
        of_file = further.get(interface, {})
        for step in (*of_file.get(name, known[interface].get(name, ())), *of_file.get(_ANY, ())):
            if step.key not in steps or step.interface is interface:
                steps[step.key] = step
    return tuple(steps.values())


def read_table(written: object) -> StepTable:
    """Return the steps in a file: interface, implementation (``*``: any), a list of steps. Raises UnreadableSteps."""
    if not isinstance(written, Mapping):
        raise UnreadableSteps("is not an object of interfaces")
    interfaces = {interface.value: interface for interface in Interface}
    table: dict[Interface, dict[str, tuple[SupportedStep, ...]]] = {}
    for name, implementations in written.items():
        if name not in interfaces:
            raise UnreadableSteps(f"has the interface {name!r}; write one of {', '.join(interfaces)}")
        if not isinstance(implementations, Mapping):
            raise UnreadableSteps(f"{name} is not an object of implementations")
        table[interfaces[name]] = {
            str(implementation): _read_steps(steps, interfaces[name], f"{name}.{implementation}")
            for implementation, steps in implementations.items()
        }
    return table


def _read_steps(written: object, interface: Interface, place: str) -> tuple[SupportedStep, ...]:
    if not isinstance(written, list):
        raise UnreadableSteps(f"{place} is not a list of steps")
    steps = tuple(_read_step(entry, interface, f"{place}[{number}]") for number, entry in enumerate(written))
    names = [deploy_step.step for deploy_step in steps]
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
