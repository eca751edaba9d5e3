"""A file with all nodes, so that they survive a restart of the program."""

import json
import os
from pathlib import Path

from shipyard_simulators.ironic import deploy, operations, power_sync
from shipyard_simulators.ironic.conductor import Conductor, Operation
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.registry import Registry


class StateUnreadable(ValueError):
    """A file that no simulator wrote."""


def save(conductor: Conductor, path: Path) -> None:
    """Write everything into the file, atomically."""

    def written(registry: Registry) -> str:
        nodes = [
            {
                key: getattr(node, key)
                for key in ("number", "values", "inventory", "plugin_data", "history", "bios", "firmware")
            }
            for node in registry.nodes.values()
        ]
        return json.dumps(
            {
                "nodes": nodes,
                "ports": registry.ports,
                "allocations": registry.allocations,
                "templates": registry.templates,
                "runbooks": registry.runbooks,
            }
        )

    text = conductor.look(written)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text + "\n", encoding="utf-8")
    fresh.replace(path)


def load(conductor: Conductor, path: Path) -> bool:
    """Read the file as a restarting conductor does; return whether there was one."""
    if not path.exists():
        return False
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        nodes = [Node(**each) for each in content["nodes"]]
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise StateUnreadable(f"{path} cannot be read: {cause}") from cause
    registry = conductor.registry
    for kind in ("ports", "allocations", "templates", "runbooks"):
        setattr(registry, kind, content.get(kind, {}))
    for node in nodes:
        registry.nodes[node.uuid] = node
        registry.last_number = max(registry.last_number, node.number)
        if node.values["name"]:
            registry.names[node.values["name"]] = node.uuid
    conductor.restart()
    for node in nodes:
        power_sync.watch(conductor, node)
        operation = _waiting(conductor, node)
        if operation is not None:
            conductor.begin(node, operation)
    return True


def _waiting(conductor: Conductor, node: Node) -> Operation | None:
    """Return how the operation of a node that waits for its agent continues. A restart does not stop it."""
    if node.state == "wait call-back":
        return deploy.resume(conductor, node)
    if node.state == "clean wait":
        return operations.unhold(conductor, node)
    return operations.inspect_again(conductor, node) if node.state == "inspect wait" else None
