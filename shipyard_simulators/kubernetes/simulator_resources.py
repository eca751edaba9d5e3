"""The routes below ``/simulator``, for tests and demonstrations. A real cluster has none of them."""

import json
from collections.abc import Mapping
from math import isinf
from typing import Any

import falcon
import yaml

from shipyard_simulators.clock import stamp
from shipyard_simulators.control import refuse
from shipyard_simulators.events import EventLog
from shipyard_simulators.kubernetes.cluster import ExpectedMachine, SimulatedCluster
from shipyard_simulators.kubernetes.manifests import add_manifests
from shipyard_simulators.kubernetes.node import LOST, READY, STARTING
from shipyard_simulators.kubernetes.wire import object_of
from shipyard_simulators.outcomes import NodeOutcome
from shipyard_simulators.scenario import ScenarioInvalid, parse_scenario

_STATUSES = {"True": READY, "False": STARTING, "Unknown": LOST}


class Log:
    """The event log."""

    def __init__(self, cluster: SimulatedCluster, log: EventLog) -> None:
        self._cluster, self._log = cluster, log

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return all events, or those of one node."""
        events, node = self._cluster.look(self._log.events), req.get_param("node")
        resp.media = [event for event in events if node is None or event.get("node") == node]


class Machines:
    """The machines that will become nodes."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return each with its outcomes and its next change."""
        resp.media = self._cluster.look(
            lambda: {name: self._shown(each) for name, each in sorted(self._cluster.machines.items())}
        )

    def on_put_one(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Expect it from now on, with the outcomes of the body, else with those of the scenario."""
        outcomes = _outcomes(req, resp)
        if outcomes is not None:
            self._cluster.look(lambda: self._cluster.expect([name.lower()], outcomes))
            resp.status = falcon.HTTP_204

    def on_delete_one(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Delete it and its node without a trace."""
        self._cluster.look(lambda: self._cluster.forget(name.lower()))
        resp.status = falcon.HTTP_204

    def on_post_join(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Make it join now, even if its outcome is never to join."""
        self._cluster.look(lambda: self._cluster.join(name.lower()))
        resp.status = falcon.HTTP_204

    def on_put_ready(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Let it join and report the status of the body, until the next such request."""
        try:
            body = json.loads(req.bounded_stream.read() or b"{}")
            status, reason, message = _STATUSES[body.get("status", "True")]
            ready = (status, str(body.get("reason", reason)), str(body.get("message", message)))
        except (ValueError, AttributeError, KeyError, TypeError):
            refuse(resp, [f"status: should be one of {', '.join(_STATUSES)}; reason and message are texts"])
            return
        self._cluster.look(lambda: self._cluster.say(name.lower(), ready))
        resp.status = falcon.HTTP_204

    def on_put_kubelet(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Stop its kubelet, or start it again: ``{"running": false}``."""
        running = object_of(req).get("running")
        if not isinstance(running, bool):
            refuse(resp, ["running: should be true or false"])
            return
        change = self._cluster.start_kubelet if running else self._cluster.stop_kubelet
        self._cluster.look(lambda: change(name.lower()))
        resp.status = falcon.HTTP_204

    def _shown(self, machine: ExpectedMachine) -> dict[str, Any]:
        following = None if isinf(machine.due) else {"what": machine.then, "at": stamp(machine.due)}
        outcomes = {phase: outcome.kind.value for phase, outcome in machine.outcomes.items()}
        return {"in_cluster": machine.name in self._cluster.nodes, "outcomes": outcomes, "next": following}


class Manifests:
    """Objects that a test adds as they should be, with their status."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Add the ``items`` of the body."""
        items = object_of(req).get("items")
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            refuse(resp, ["items: should be a list of objects"])
            return
        resp.media = {"items": self._cluster.look(lambda: add_manifests(self._cluster, items))}


class Compaction:
    """The expiry of lists that are being read page by page."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def on_post(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Expire all of them; clients that continue get the error for an expired list."""
        self._cluster.look(self._cluster.kept.clear)
        resp.status = falcon.HTTP_204


def _outcomes(req: falcon.Request, resp: falcon.Response) -> Mapping[str, NodeOutcome] | None:
    """Return the outcomes of a body, in the format of a scenario; None if it was rejected."""
    try:
        rule = yaml.safe_load(req.bounded_stream.read())
        [read] = parse_scenario(yaml.safe_dump({"nodes": {"node": rule}})).nodes if rule else [None]
    except ScenarioInvalid as cause:
        refuse(resp, [fault.removeprefix("nodes.node.") for fault in cause.faults])
        return None
    except yaml.YAMLError as cause:
        refuse(resp, [f"not YAML that can be read: {' '.join(str(cause).split())}"])
        return None
    return read.outcomes if read else {}
