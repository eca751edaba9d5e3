"""Validation, maintenance, inventory and history of a node."""

from typing import Any

import falcon

from shipyard_simulators.ironic import queries, steps
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import IronicError, unexpected_arguments
from shipyard_simulators.ironic.fields import links
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.node_resources import ident_of
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.versions import need
from shipyard_simulators.ironic.wire import accepted, object_of


class Validate:
    """Whether the node's interfaces have all the settings they need."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return the result per interface; that of deploy covers instance traits and their templates."""
        queries.parameters(req, ())
        resp.media = self._conductor.look(lambda registry: _validation(registry, registry.node(ident_of(req, ident))))


def _validation(registry: Registry, node: Node) -> dict[str, dict[str, Any]]:
    names = ("boot", "deploy", "management", "network", "power", "bios", "console", "firmware", "inspect", "raid")
    findings: dict[str, dict[str, Any]] = {name: {"result": True} for name in (*names, "rescue", "storage")}
    for name in ("bios", "console", "firmware", "rescue"):
        if str(node.values[f"{name}_interface"]).startswith("no-"):
            reason = f"Driver {node.values['driver']} does not support {name} (disabled or not implemented)."
            findings[name] = {"result": None, "reason": reason}
    try:
        traits = steps.check_instance_traits(node)
        steps.check_request(node, [], registry.templates_for(traits), agent=False)
    except IronicError as refusal:
        findings["deploy"] = {"result": False, "reason": refusal.text}
    return findings


class Maintenance:
    """The maintenance flag of a node."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_put(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Set it. A person asked for it, so no fault is recorded."""
        body = object_of(req)
        unknown = [name for name in body if name != "reason"]
        if unknown:
            raise unexpected_arguments(unknown)
        self._set(req, ident, {"maintenance": True, "maintenance_reason": body.get("reason"), "fault": None})
        accepted(req, resp)

    def on_delete(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Clear it."""
        self._set(req, ident, {"maintenance": False, "maintenance_reason": None, "fault": None})
        accepted(req, resp)

    def _set(self, req: falcon.Request, ident: str, values: dict[str, Any]) -> None:
        def change(node: Node) -> None:
            node.values.update(values)
            self._conductor.touch(node)
            self._conductor.note("maintenance", node, maintenance=values["maintenance"])

        self._conductor.locked(ident_of(req, ident), change)


class Inventory:
    """The inventory of a node, from its inspection."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return it."""
        need(req, 81)
        node = self._conductor.look(lambda registry: registry.node(ident_of(req, ident)))
        if node.inventory is None:
            raise IronicError(404, f"Node inventory record for node {node.number} could not be found.")
        resp.media = {"inventory": node.inventory, "plugin_data": node.plugin_data}


class Bios:
    """The settings of a node's board."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return all settings, by name."""
        need(req, 40)
        queries.parameters(req, ("detail", "fields"))

        def read(registry: Registry) -> list[dict[str, Any]]:
            node = registry.node(ident_of(req, ident))
            path = f"nodes/{node.uuid}/bios"
            return [
                {"name": name, "value": node.bios[name], "links": links(req.prefix, f"{path}/{name}")}
                for name in sorted(node.bios)
            ]

        resp.media = {"bios": self._conductor.look(read)}


class Firmware:
    """The firmware of a node's components."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return all components, by name."""
        need(req, 86)
        queries.parameters(req, ("detail", "fields"))
        found = self._conductor.look(lambda registry: dict(registry.node(ident_of(req, ident)).firmware))
        same = {"initial_version": "1.0", "last_version_flashed": None}
        resp.media = {
            "firmware": [{"component": name, "current_version": found[name], **same} for name in sorted(found)]
        }


class History:
    """The history of a node."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return all entries, oldest first."""
        need(req, 78)
        queries.parameters(req, ("detail", "limit", "marker"))

        def read(registry: Registry) -> list[dict[str, Any]]:
            node = registry.node(ident_of(req, ident))
            path = f"nodes/{node.uuid}/history"
            return [{**each, "links": links(req.prefix, f"{path}/{each['uuid']}")[:1]} for each in node.history]

        resp.media = {"history": self._conductor.look(read)}
