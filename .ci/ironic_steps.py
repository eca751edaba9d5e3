"""Write which deploy, service and clean steps the interfaces of the installed Ironic have, or check what is written.

Run it with the Python of an environment that has ironic, and ironic-python-agent for the steps that agents add:
``python .ci/ironic_steps.py`` adds or replaces the installed release in the adapter's data file; with ``--check`` it
exits 1 if the file says something else of that release. Only facts are taken: names, priorities, and which arguments
are required.
"""

import inspect
import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "shipyard_api" / "adapters" / "ironic" / "steps.json"
INTERFACES = ("vendor", "power", "management", "firmware", "deploy", "bios", "raid")
KINDS = ("deploy", "service", "clean")
CORE = ("deploy", "deploy")


def step(interface: str, name: str, priority: int, arguments: Any) -> dict[str, Any]:
    """Return a step as it is written; what is usual is left out."""
    args = {argument: bool(info.get("required")) for argument, info in (arguments or {}).items()}
    usual = {"priority": priority, "args": args, "core": (interface, name) == CORE}
    return {"interface": interface, "step": name, **{key: value for key, value in usual.items() if value}}


def own_steps(interface: str, implementation: type, kind: str) -> list[dict[str, Any]]:
    """Return the steps that a class declares itself. No instance is made: some need programs that are missing here."""
    declared = [
        method
        for _, method in inspect.getmembers(implementation, callable)
        if getattr(method, f"_is_{kind}_step", False)
    ]
    return [
        step(
            interface,
            method.__name__,
            getattr(method, f"_{kind}_step_priority", 0),
            getattr(method, f"_{kind}_step_argsinfo", None),
        )
        for method in declared
    ]


def agent_steps() -> dict[str, Any]:
    """Return the release of the agent in this environment and its steps; it cannot share a process with Ironic."""
    try:
        release = version("ironic-python-agent")
    except PackageNotFoundError:
        return {"release": "", **{kind: [] for kind in KINDS}}
    code = (
        "import json, ironic_python_agent.config\n"
        "from ironic_python_agent.hardware import GenericHardwareManager as Manager\n"
        f"print(json.dumps([getattr(Manager(), f'get_{{kind}}_steps')({{}}, []) for kind in {KINDS}]))"
    )
    printed = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    found = json.loads(printed.stdout)
    listed = {
        kind: [step(one["interface"], one["step"], one["priority"], one.get("argsinfo")) for one in steps]
        for kind, steps in zip(KINDS, found, strict=True)
    }
    return {"release": release, **listed}


def of_release() -> dict[str, Any]:
    """Return everything about the installed Ironic."""
    from ironic.api.controllers.v1.versions import MINOR_MAX_VERSION
    from ironic.drivers import base

    agent = agent_steps()
    table: dict[str, Any] = {kind: {} for kind in KINDS}
    for interface in INTERFACES:
        entries = entry_points(group=f"ironic.hardware.interfaces.{interface}")
        # Interfaces of other packages, such as those of a demonstration, are not Ironic's.
        own = (entry for entry in entries if entry.dist is not None and entry.dist.name == "ironic")
        for entry in sorted(own, key=lambda one: one.name):
            implementation = entry.load()
            for kind in KINDS:
                steps = own_steps(interface, implementation, kind)
                asks_agent = getattr(implementation, f"get_{kind}_steps") is not getattr(
                    base.BaseInterface, f"get_{kind}_steps"
                )
                # Agents give their steps by interface, but all their service steps to the deploy interface.
                offered = [one for one in agent[kind] if kind == "service" or one["interface"] == interface]
                keys = {(one["interface"], one["step"]) for one in steps}
                steps += [one for one in offered if asks_agent and (one["interface"], one["step"]) not in keys]
                steps.sort(key=lambda one: (one["interface"], one["step"]))
                table[kind].setdefault(interface, {})[entry.name] = steps
    return {"api": MINOR_MAX_VERSION, "agent": agent["release"], **table}


def without_steps_of_agents(written: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what is written without the steps that Ironic's classes lack; another default of theirs still shows."""
    kept: dict[str, Any] = {"api": written["api"], "agent": ""}
    for kind in KINDS:
        kept[kind] = {
            interface: {
                name: [one for one in steps if one in found[kind].get(interface, {}).get(name, ())]
                for name, steps in implementations.items()
            }
            for interface, implementations in written[kind].items()
        }
    return kept


def main() -> int:
    """Write or check; return the exit code."""
    release, found = version("ironic"), of_release()
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    if "--check" not in sys.argv[1:]:
        FILE.write_text(json.dumps(known | {release: found}, indent=1, sort_keys=True) + "\n")
        return 0
    written = known.get(release, {})
    if not found["agent"] and written:
        sys.stdout.write(f"no ironic-python-agent beside Ironic {release}: the steps of agents are not compared\n")
        written = without_steps_of_agents(written, found)
    if written != found:
        sys.stdout.write(f"{FILE.name} differs from Ironic {release}: run {Path(__file__).name} in its environment\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
