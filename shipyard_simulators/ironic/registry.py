"""All data of this Ironic: nodes, ports, allocations, deploy templates and runbooks."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from shipyard_simulators.ironic.errors import IronicError, node_not_found
from shipyard_simulators.ironic.fields import is_uuid
from shipyard_simulators.ironic.node import Node


@dataclass(slots=True)
class Registry:
    """All rows, each kind in order of creation and by UUID. Not thread-safe: the conductor's lock guards it."""

    nodes: dict[str, Node] = field(default_factory=dict)
    ports: dict[str, dict[str, Any]] = field(default_factory=dict)
    allocations: dict[str, dict[str, Any]] = field(default_factory=dict)
    templates: dict[str, dict[str, Any]] = field(default_factory=dict)
    runbooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    last_number: int = 0
    names: dict[str, str] = field(default_factory=dict)
    """The uuid of every node that has a name."""

    def node(self, ident: str) -> Node:
        """Return a node by its name or UUID. Raises the 404."""
        found = self.nodes.get(ident.lower() if is_uuid(ident) else self.names.get(ident, ""))
        if found is None:
            raise node_not_found(ident)
        return found

    def add(self, values: dict[str, Any]) -> Node:
        """Add a node with these fields. Its name and UUID must be free."""
        self.check_name(values["name"])
        if values["uuid"] in self.nodes:
            raise IronicError(409, f"A node with UUID {values['uuid']} already exists.")
        if values["instance_uuid"]:
            self.check_instance(values["instance_uuid"], values["uuid"])
        self.last_number += 1
        node = Node(self.last_number, values)
        self.nodes[node.uuid] = node
        if values["name"]:
            self.names[values["name"]] = node.uuid
        return node

    def remove(self, node: Node) -> None:
        """Delete a node and its ports."""
        del self.nodes[node.uuid]
        self.names.pop(str(node.values["name"]), None)
        self.ports = {uuid: port for uuid, port in self.ports.items() if port["node_uuid"] != node.uuid}

    def rename(self, node: Node, name: str | None) -> None:
        """Set or clear the name of a node. Raises an error if the name is taken."""
        if name == node.values["name"]:
            return
        self.check_name(name)
        self.names.pop(str(node.values["name"]), None)
        if name:
            self.names[name] = node.uuid

    def check_name(self, name: str | None) -> None:
        """Reject a name that is taken."""
        if name in self.names:
            raise IronicError(409, f"A node with name {name} already exists.")

    def check_instance(self, instance: str, node_uuid: str) -> None:
        """Reject an instance that another node has."""
        if any(node.values["instance_uuid"] == instance for node in self.nodes.values()):
            raise IronicError(
                409,
                f"Instance {instance} is already associated with a node, "
                f"it cannot be associated with this other node {node_uuid}",
            )

    def in_states(self, states: Iterable[str]) -> int:
        """Return how many nodes are in these states."""
        wanted = set(states)
        return sum(node.state in wanted for node in self.nodes.values())

    def templates_for(self, traits: Iterable[str]) -> list[dict[str, Any]]:
        """Return the deploy templates of these traits, by name."""
        asked = set(traits)
        found = [each for each in self.templates.values() if each["name"] in asked]
        return sorted(found, key=lambda each: str(each["name"]))
