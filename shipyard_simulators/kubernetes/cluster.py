"""The nodes of the cluster, and the machines that will become nodes: when each joins, and how its state changes.

Nothing runs between requests: whatever is due by the time of a request has happened at its own moment.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.kubernetes.errors import already_exists, not_found
from shipyard_simulators.kubernetes.node import LOST, READY, Object, registered, report, stamp
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind
from shipyard_simulators.scenario import Scenario

T = TypeVar("T")

_SLOW_FACTOR = 10
_SHORTEST_FLAP = 0.01  # seconds; a shorter one would make a request replay the past for too long
_KEPT_LISTS = 32


@dataclass
class ExpectedMachine:
    """A machine whose kubelet registers a node. ``due``: the time of its next change, ``then``."""

    name: str
    outcomes: Mapping[str, NodeOutcome]
    due: float
    then: str = "join"


class SimulatedCluster:
    """The whole state under one lock: every read and every change goes through ``look``."""

    def __init__(self, scenario: Scenario, clock: Clock, log: EventLog) -> None:
        self.scenario, self._clock, self._log = scenario, clock, log
        self._lock = threading.RLock()
        self._version = 1000
        self.nodes: dict[str, Object] = {}
        self.machines: dict[str, ExpectedMachine] = {}
        # Lists that clients read page by page, by version. Nodes are replaced, never changed.
        self.kept: dict[int, list[Object]] = {}

    def look(self, do: Callable[[], T]) -> T:
        """Apply what is due, then call the function; no other thread runs in between."""
        with self._lock:
            self._settle()
            return do()

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
        self._note("node_added", node["metadata"]["name"])
        return self._put(node)

    def replace(self, name: str, node: Object) -> Object:
        """Replace a node by its changed object, unless nothing was changed."""
        return self.nodes[name] if node == self.nodes[name] else self._put(node)

    def remove(self, name: str) -> None:
        """Remove a node. Its machine stays out of the cluster until ``join``."""
        self._version += 1
        self.nodes.pop(name, None)
        if name in self.machines:
            self.machines[name].due = inf
        self._note("node_removed", name)

    def keep(self, version: int, listed: list[Object]) -> None:
        """Keep a list for its next pages; drop the oldest if there are too many."""
        self.kept.pop(version, None)
        self.kept[version] = listed
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
            self._plan(machine, "ready" if name in self.nodes else "join", self._clock.now())

    def join(self, name: str) -> None:
        """Let a machine join now, whatever its outcome."""
        machine = self.machines.setdefault(name, ExpectedMachine(name, {}, inf))
        if name not in self.nodes:
            machine.outcomes = {"ready": self.scenario.node_outcome(name, "ready"), **machine.outcomes}
            machine.due, machine.then = self._clock.now(), "join"
            self._settle()

    def say(self, name: str, ready: tuple[str, str, str]) -> None:
        """Set what a node reports about itself from now on."""
        self.join(name)
        self.machines[name].due = inf
        self._report(name, self._clock.now(), ready)

    def forget(self, name: str) -> None:
        """Delete a machine and its node without a trace."""
        if name in self.nodes:
            self.remove(name)
        self.machines.pop(name, None)

    def _settle(self) -> None:
        now = self._clock.now()
        for machine in sorted(self.machines.values(), key=lambda each: each.due):
            while machine.due <= now:
                self._happen(machine)

    def _happen(self, machine: ExpectedMachine) -> None:
        moment = machine.due
        if machine.then == "join":
            if machine.name not in self.nodes:
                self._put(registered(machine.name, moment))
                self._note("node_joined", machine.name, moment)
            self._plan(machine, "ready", moment)
            return
        self._report(machine.name, moment, READY if machine.then == "ready" else LOST)
        flaps = machine.outcomes["ready"].kind is NodeOutcomeKind.FLAPS
        if flaps:
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
        pause = self._clock.scaled(nominal)
        if outcome.kind is NodeOutcomeKind.FLAPS:
            pause = max(pause, _SHORTEST_FLAP)
        machine.due, machine.then = moment + pause, then

    def _report(self, name: str, moment: float, ready: tuple[str, str, str]) -> None:
        if name not in self.nodes:
            return
        node = deepcopy(self.nodes[name])
        report(node, moment, ready)
        self._put(node)
        self._note("node_reported", name, moment, status=ready[0], reason=ready[1])

    def _put(self, node: Object) -> Object:
        self._version += 1
        metadata = node["metadata"]
        metadata["resourceVersion"] = str(self._version)
        self.nodes[metadata["name"]] = node
        return node

    def _note(self, event: str, name: str, moment: float | None = None, **fields: Any) -> None:
        self._log.write(self._clock.now() if moment is None else moment, event, node=name, **fields)

    def stamp(self) -> str:
        """Return the present moment as Kubernetes writes it."""
        return stamp(self._clock.now())
