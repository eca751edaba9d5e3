"""The routes below ``/simulator``, for tests. A real Ironic has none of them."""

import json
from typing import Any

import falcon

from shipyard_simulators.control import refuse
from shipyard_simulators.ironic import operations, power_sync
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.fields import FIELDS
from shipyard_simulators.ironic.node import HOST
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.site import put
from shipyard_simulators.scenario import Scenario


class Log:
    """The event log."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return all events, or those of one node."""
        events, node = self._conductor.events(), req.get_param("node")
        resp.media = [event for event in events if node is None or event.get("node") == node]

    def on_get_requests(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return the requests only."""
        resp.media = [event for event in self._conductor.events() if event["event"] == "request"]

    def on_get_transitions(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return every state transition of every node, with its time and cause."""
        found: dict[str, list[dict[str, Any]]] = {}
        for event in self._conductor.events():
            if event["event"] == "node_state":
                kept = {key: event[key] for key in ("time", "before", "state", "cause")}
                found.setdefault(event["node"], []).append(kept)
        resp.media = found


class NodeControl:
    """Changes to a node that the API does not offer."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_put(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Set the fields of the body directly."""
        try:
            body = json.loads(req.bounded_stream.read() or b"{}")
        except ValueError:
            body = None
        unknown = sorted(set(body) - set(FIELDS)) if isinstance(body, dict) else ["an object is needed"]
        if unknown:
            refuse(resp, [f"not a field: {name}" for name in unknown])
            return
        self._conductor.look(lambda _registry: put(self._conductor, ident, body))
        resp.status = falcon.HTTP_204

    def on_put_bios(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Replace the settings of its board, as a person at the machine does."""
        body = json.loads(req.bounded_stream.read() or b"{}")

        def change(registry: Registry) -> None:
            registry.node(ident).bios = {str(name): str(value) for name, value in body.items()}

        self._conductor.look(change)
        resp.status = falcon.HTTP_204

    def on_put_firmware(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Replace the versions of its components, as a technician does."""
        body = json.loads(req.bounded_stream.read() or b"{}")

        def change(registry: Registry) -> None:
            registry.node(ident).firmware = {str(name): str(version) for name, version in body.items()}

        self._conductor.look(change)
        resp.status = falcon.HTTP_204

    def on_post_lock(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Lock the node for this many nominal seconds, as a background operation does."""
        seconds = req.get_param_as_float("seconds", default=1e9)
        host = req.get_param("host", default=HOST)

        def lock(registry: Registry) -> None:
            node = registry.node(ident)
            self._conductor.begin(node, operations.hold_lock(node, host, seconds), "lock")

        self._conductor.look(lock)
        resp.status = falcon.HTTP_204

    def on_delete_lock(self, _req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Release its lock."""

        def unlock(registry: Registry) -> None:
            node = registry.node(ident)
            self._conductor.end(node, "lock")
            operations.release(node)

        self._conductor.look(unlock)
        resp.status = falcon.HTTP_204


class Restart:
    """A crash of the conductor."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_post(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Crash and start again; return the nodes whose operation was interrupted."""
        resp.media = {"failed": self._conductor.restart()}


def play(conductor: Conductor, scenario: Scenario) -> None:
    """Replace the scenario; management controllers follow it at once."""
    conductor.play(scenario)

    def watch(registry: Registry) -> None:
        for node in registry.nodes.values():
            power_sync.watch(conductor, node)

    conductor.look(watch)
