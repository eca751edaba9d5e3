"""The objects of the cluster, and the machines that will become nodes: when each joins, and how its state changes.

Nothing runs between requests: each request first applies every change that is due, with its own time.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from shipyard_simulators.clock import Clock
from shipyard_simulators.deployments import Deployments
from shipyard_simulators.events import EventLog
from shipyard_simulators.kubernetes.errors import already_exists, not_found
from shipyard_simulators.kubernetes.kinds import Kind, kinds
from shipyard_simulators.kubernetes.node import LOST, READY, Object, registered, report, stamp
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind
from shipyard_simulators.scenario import Scenario

T = TypeVar("T")

_SLOW_FACTOR = 10
_SHORTEST_FLAP = 0.01  # seconds; a shorter one would make a request replay the past for too long
_KEPT_LISTS = 32


@dataclass
class ExpectedMachine:
    """A machine whose kubelet registers a node. ``due``: the time of its next change, ``then``.

    ``stopped``: when its kubelet stopped, None while it runs.
    """

    name: str
    outcomes: Mapping[str, NodeOutcome]
    due: float
    then: str = "join"
    stopped: float | None = None


class SimulatedCluster:
    """The whole state under one lock: every read and every change goes through ``look``.

    ``policy``: the version of the API group of budgets and evictions. ``deployments``: machines to expect.
    """

    def __init__(
        self,
        scenario: Scenario,
        clock: Clock,
        log: EventLog,
        *,
        policy: str = "v1",
        deployments: Deployments | None = None,
    ) -> None:
        self.scenario, self.clock, self._log = scenario, clock, log
        self._deployments = deployments
        self.policy = policy
        self.kinds = kinds(policy)
        self._lock = threading.RLock()
        self._version = 1000
        self.nodes: dict[str, Object] = {}
        self.machines: dict[str, ExpectedMachine] = {}
        # Everything but nodes, by resource, namespace and name.
        self.store: dict[str, dict[tuple[str, str], Object]] = {kind.resource: {} for kind in self.kinds}
        # Lists that clients read page by page, by version and path. Objects are replaced, never changed.
        self.kept: dict[tuple[int, str], list[Object]] = {}
        self.settle_workloads: Callable[[float], None] = lambda _now: None

    def look(self, do: Callable[[], T]) -> T:
        """Apply due changes, call the function, and apply its consequences, all under the lock."""
        with self._lock:
            self._settle()
            try:
                return do()
            finally:
                self.settle_workloads(self.clock.now())

    @property
    def version(self) -> int:
        """The resource version of the whole cluster."""
        return self._version

    # For the API

    def node(self, name: str) -> Object:
        """Return a node, not to be changed. Raises ApiError."""
        if name not in self.nodes:
            raise not_found(name)
        return self.nodes[name]

    def add(self, node: Object) -> Object:
        """Add a node without a version. Raises ApiError if its name is taken."""
        if node["metadata"]["name"] in self.nodes:
            raise already_exists(node["metadata"]["name"])
        self.note("node_added", node["metadata"]["name"])
        return self._put(node)

    def replace(self, name: str, node: Object) -> Object:
        """Replace a node by its changed object, unless nothing was changed."""
        before = self.nodes[name]
        if node == before:
            return before
        cordoned = {"cordoned": bool(node["spec"].get("unschedulable"))}
        labels, former = node["metadata"].get("labels") or {}, before["metadata"].get("labels") or {}
        changed = {key: labels.get(key) for key in labels | former if labels.get(key) != former.get(key)}
        if changed or cordoned["cordoned"] != bool(before["spec"].get("unschedulable")):
            self.note("node_changed", name, **cordoned, labels=changed)
        return self._put(node)

    def remove(self, name: str) -> None:
        """Remove a node. Its machine stays out of the cluster until ``join``."""
        self._version += 1
        self.nodes.pop(name, None)
        self.store["leases"].pop(("kube-node-lease", name), None)
        if name in self.machines:
            self.machines[name].due = inf
        self.note("node_removed", name)

    def objects(self, kind: Kind) -> dict[tuple[str, str], Object]:
        """Return the objects of a kind other than nodes, by namespace and name."""
        return self.store[kind.resource]

    def put(self, kind: Kind, item: Object) -> Object:
        """Add or replace an object of such a kind; it gets a new version."""
        self._version += 1
        metadata = item["metadata"]
        metadata["resourceVersion"] = str(self._version)
        self.store[kind.resource][metadata.get("namespace", ""), metadata["name"]] = item
        return item

    def drop(self, kind: Kind, item: Object, moment: float | None = None) -> None:
        """Delete an object of such a kind."""
        self._version += 1
        metadata = item["metadata"]
        self.store[kind.resource].pop((metadata.get("namespace", ""), metadata["name"]), None)
        if "nodeName" in item.get("spec", {}):
            self.note("pod_ended", item["spec"]["nodeName"], moment, pod=f"{metadata['namespace']}/{metadata['name']}")

    def keep(self, key: tuple[int, str], listed: list[Object]) -> None:
        """Keep a list for its next pages; drop the oldest if there are too many."""
        self.kept.pop(key, None)
        self.kept[key] = listed
        while len(self.kept) > _KEPT_LISTS:
            del self.kept[next(iter(self.kept))]

    # For the control routes

    def expect(self, names: Iterable[str], outcomes: Mapping[str, NodeOutcome] | None = None) -> None:
        """Expect machines to join, from now on. ``outcomes``: by phase, instead of those of the scenario."""
        for name in names:
            own = dict(outcomes or {})
            for phase in ("join", "ready"):
                own.setdefault(phase, self.scenario.node_outcome(name, phase))
            machine = ExpectedMachine(name, own, inf)
            self.machines[name] = machine
            self._plan(machine, "ready" if name in self.nodes else "join", self.clock.now())

    def join(self, name: str) -> None:
        """Make a machine join now, even if its outcome is never to join."""
        machine = self.machines.setdefault(name, ExpectedMachine(name, {}, inf))
        if name not in self.nodes:
            machine.outcomes = {"ready": self.scenario.node_outcome(name, "ready"), **machine.outcomes}
            machine.due, machine.then, machine.stopped = self.clock.now(), "join", None
            self._settle()

    def stop_kubelet(self, name: str, moment: float | None = None) -> None:
        """Stop the kubelet of a node: it renews no lease, and starts and ends no pod."""
        machine = self.machines.setdefault(name, ExpectedMachine(name, {}, inf))
        if machine.stopped is None:
            machine.stopped = self.clock.now() if moment is None else moment
            machine.due = machine.stopped + self.clock.scaled(self.scenario.durations["lose_nodes"])
            machine.then = "lost"
            self.note("kubelet_stopped", name, machine.stopped)

    def start_kubelet(self, name: str) -> None:
        """Start the kubelet of a node again."""
        if name in self.machines:
            self.machines[name].stopped, self.machines[name].due = None, inf
        self.say(name, READY)

    def say(self, name: str, ready: tuple[str, str, str]) -> None:
        """Set what a node reports about itself from now on."""
        self.join(name)
        self.machines[name].due = inf
        self._report(name, self.clock.now(), ready)

    def forget(self, name: str) -> None:
        """Delete a machine and its node without a trace."""
        if name in self.nodes:
            self.remove(name)
        self.machines.pop(name, None)

    def _settle(self) -> None:
        if self._deployments is not None:
            self.expect(self._deployments.new())
        now = self.clock.now()
        for machine in sorted(self.machines.values(), key=lambda each: each.due):
            while machine.due <= now:
                self._happen(machine)
        self.settle_workloads(now)

    def _happen(self, machine: ExpectedMachine) -> None:
        moment = machine.due
        if machine.then == "join":
            if machine.name not in self.nodes:
                self._put(registered(machine.name, moment))
                self.note("node_joined", machine.name, moment)
            self._plan(machine, "ready", moment)
            return
        self._report(machine.name, moment, READY if machine.then == "ready" else LOST)
        outcome = machine.outcomes.get("ready")
        flaps = outcome is not None and outcome.kind is NodeOutcomeKind.FLAPS
        if flaps and machine.stopped is None:
            self._plan(machine, "lost" if machine.then == "ready" else "ready", moment)
        else:
            machine.due = inf

    def _plan(self, machine: ExpectedMachine, then: str, moment: float) -> None:
        """Plan the next change, as the outcome of the phase asks."""
        phase = "join" if then == "join" else "ready"
        outcome = machine.outcomes.get(phase, NodeOutcome(NodeOutcomeKind.OK))
        if outcome.kind is NodeOutcomeKind.NEVER:
            machine.due = inf
            return
        nominal = self.scenario.durations[f"{phase}_nodes"] if outcome.seconds is None else outcome.seconds
        if outcome.kind is NodeOutcomeKind.SLOW and outcome.seconds is None:
            nominal *= _SLOW_FACTOR
        pause = self.clock.scaled(nominal)
        if outcome.kind is NodeOutcomeKind.FLAPS:
            pause = max(pause, _SHORTEST_FLAP)
        machine.due, machine.then = moment + pause, then

    def _report(self, name: str, moment: float, ready: tuple[str, str, str]) -> None:
        if name not in self.nodes:
            return
        node = deepcopy(self.nodes[name])
        report(node, moment, ready)
        self._put(node)
        self.note("node_reported", name, moment, status=ready[0], reason=ready[1])

    def _put(self, node: Object) -> Object:
        self._version += 1
        metadata = node["metadata"]
        metadata["resourceVersion"] = str(self._version)
        self.nodes[metadata["name"]] = node
        return node

    def note(self, event: str, name: str, moment: float | None = None, **fields: Any) -> None:
        """Log an event of a node."""
        self._log.write(self.clock.now() if moment is None else moment, event, node=name, **fields)

    def stamp(self) -> str:
        """Return the present moment as Kubernetes writes it."""
        return stamp(self.clock.now())
