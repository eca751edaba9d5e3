"""``/simulator``: what tests may see and change, and a real Ironic does not have."""

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
    """What happened so far."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer all events, or those of the node that the query names."""
        events, node = self._conductor.events(), req.get_param("node")
        resp.media = [event for event in events if node is None or event.get("node") == node]

    def on_get_requests(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer the requests alone."""
        resp.media = [event for event in self._conductor.events() if event["event"] == "request"]

    def on_get_transitions(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer every change of state of every node, with its time and its cause."""
        found: dict[str, list[dict[str, Any]]] = {}
        for event in self._conductor.events():
            if event["event"] == "node_state":
                kept = {key: event[key] for key in ("time", "before", "state", "cause")}
                found.setdefault(event["node"], []).append(kept)
        resp.media = found


class NodeControl:
    """A node, beyond what the API lets anybody do to it."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_put(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Give it the fields of the body as if it had always had them."""
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

    def on_post_lock(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Hold its lock for so many nominal seconds, as background operation does."""
        seconds = req.get_param_as_float("seconds", default=1e9)
        host = req.get_param("host", default=HOST)

        def lock(registry: Registry) -> None:
            node = registry.node(ident)
            self._conductor.begin(node, operations.hold_lock(node, host, seconds), "lock")

        self._conductor.look(lock)
        resp.status = falcon.HTTP_204

    def on_delete_lock(self, _req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Let go of its lock."""

        def unlock(registry: Registry) -> None:
            node = registry.node(ident)
            self._conductor.end(node, "lock")
            operations.release(node)

        self._conductor.look(unlock)
        resp.status = falcon.HTTP_204


class Restart:
    """The death of the conductor."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_post(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Let it die in the middle of everything and come back; answer the nodes whose operation broke off."""
        resp.media = {"failed": self._conductor.restart()}


def play(conductor: Conductor, scenario: Scenario) -> None:
    """Play another scenario from now on; management controllers follow it at once."""
    conductor.play(scenario)

    def watch(registry: Registry) -> None:
        for node in registry.nodes.values():
            power_sync.watch(conductor, node)

    conductor.look(watch)
