"""A file with the state of a region, so that machines survive a restart of the simulator."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.places import Place, Tag

_PLAIN = ("events", "history", "settings", "counter", "script_sets")


class State:
    """Everything in the file."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self.tags: dict[str, Tag] = {}
        self.pools = {"default": Place(0, "default", "Default pool")}
        self.zones = {"default": Place(1, "default", "")}
        self.events: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = []
        self.settings: dict[str, Any] = {}
        self.counter = self.script_sets = 0


def save(path: Path, state: State) -> None:
    """Write the state, atomically."""
    content: dict[str, Any] = {name: getattr(state, name) for name in _PLAIN}
    content["machines"] = [machine.to_json() for machine in state.machines.values()]
    for name in ("tags", "pools", "zones"):
        content[name] = [asdict(each) for each in getattr(state, name).values()]
    written = path.with_name(f"{path.name}.{os.getpid()}")
    written.write_text(json.dumps(content), encoding="utf-8")
    written.replace(path)


def restore(path: Path, state: State) -> bool:
    """Fill the state from the file; return whether there was one. Raises OSError."""
    if not path.exists():
        return False
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        machines = [Machine.from_json(each) for each in content["machines"]]
        tags = [Tag(**each) for each in content["tags"]]
        pools, zones = ([Place(**each) for each in content[name]] for name in ("pools", "zones"))
        plain = {name: content[name] for name in _PLAIN}
    except (ValueError, KeyError, TypeError) as cause:
        raise OSError(f"{path} holds no state of this simulator: {cause}") from cause
    state.machines = {each.system_id: each for each in machines}
    state.tags = {each.name: each for each in tags}
    state.pools = {each.name: each for each in pools}
    state.zones = {each.name: each for each in zones}
    for name, value in plain.items():
        setattr(state, name, value)
    return True
