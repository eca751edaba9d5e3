"""The conductor: nodes, their locks, and the operations that run on them.

One thread continues operations when they fall due. An operation is a generator: it changes its node and yields how many
nominal seconds pass until it continues. Everything runs under one lock, so a request sees a node between two moments,
never within one.
"""

import threading
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, TypeVar
from uuid import uuid4

from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.ironic.errors import node_locked
from shipyard_simulators.ironic.node import HOST, Node
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.states import AIMLESS, FAILED_STATE, LOCKED
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind
from shipyard_simulators.scenario import Scenario

T = TypeVar("T")
Operation = Generator[float, None, None]

_LOCK_ATTEMPTS = 3
_LOCK_PAUSE = 1.0
_SLOW_FACTOR = 10
_POWER_SYNC = 120.0  # nominal seconds between two looks at the power of all nodes
_LAST_ERROR = "last error"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many operations may run at the same time before a verb is rejected with a 503."""

    deploying: int = 250
    cleaning: int = 50
    workers: int = 300


class Conductor:
    """All nodes and their running operations. ``now`` is the moment of the current operation or request."""

    def __init__(self, scenario: Scenario, clock: Clock, log: EventLog, limits: Limits | None = None) -> None:
        self.scenario = scenario
        self.limits = limits or Limits()
        self.registry = Registry()
        self.now = clock.now()
        self._clock = clock
        self._log = log
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._operations: dict[tuple[str, str], Operation] = {}
        self._due: list[tuple[float, int, tuple[str, str], Operation]] = []
        self._order = count()
        self._changed = threading.Condition(threading.RLock())
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="conductor", daemon=True)

    def start(self) -> None:
        """Start continuing operations when they are due."""
        self._thread.start()

    def stop(self) -> None:
        """Stop continuing operations; return when the thread has ended."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self, act: Callable[[Registry], T]) -> T:
        """Call the function at this moment and return its result. It may change only what has no lock."""
        with self._changed:
            self._catch_up()
            try:
                return act(self.registry)
            finally:
                self._changed.notify_all()

    def locked(self, ident: str, act: Callable[[Node], T]) -> T:
        """Call the function with a node that no operation has locked. Wait for the lock as long as Ironic does."""
        for attempts_left in reversed(range(_LOCK_ATTEMPTS)):
            with self._changed:
                self._catch_up()
                node = self.registry.node(ident)
                host = node.values["reservation"]
                if host is None:
                    try:
                        return act(node)
                    finally:
                        self._changed.notify_all()
                if not attempts_left:
                    self.note("lock_refused", node, host=host)
                    raise node_locked(node.uuid, host)
            self._clock.sleep(self._clock.scaled(_LOCK_PAUSE))
        raise AssertionError("the last attempt returns or raises")

    # For operations

    def begin(self, node: Node, operation: Operation, kind: str = "state") -> None:
        """Start an operation on the node; it replaces an earlier one of the same kind."""
        key = (node.uuid, kind)
        self._operations[key] = operation
        self._advance(key, operation)

    def begin_apart(self, name: str, operation: Operation) -> None:
        """Start an operation that belongs to no node."""
        self._operations[name, ""] = operation
        self._advance((name, ""), operation)

    def end(self, node: Node, kind: str = "state") -> None:
        """Cancel the node's operation of this kind."""
        self._operations.pop((node.uuid, kind), None)

    def busy(self, node: Node, kind: str = "state") -> bool:
        """Return whether an operation of this kind runs on the node."""
        return (node.uuid, kind) in self._operations

    def move(self, node: Node, state: str, cause: str, *, target: str | None = None) -> None:
        """Move the node to a state. It is locked exactly in the states in which a conductor works on it."""
        before, values = node.state, node.values
        values["provision_state"] = state
        values["target_provision_state"] = None if state in AIMLESS else target or values["target_provision_state"]
        values["provision_updated_at"] = self.stamp()
        values["reservation"] = HOST if state in LOCKED else None
        self.touch(node)
        self.note("node_state", node, before=before, state=state, cause=cause)

    def fail(self, node: Node, text: str, cause: str = "") -> None:
        """Move the node to the failed state of its current one, with the text as its last error."""
        before = node.state
        self.move(node, FAILED_STATE[before], cause or text)
        node.values["last_error"] = text
        for step in ("clean_step", "deploy_step", "service_step"):
            node.values[step] = {}
        if before in ("deploying", "wait call-back", "deploy hold"):
            forget_deployment(node)
        self.record(node, "ERROR", text)
        self.begin(node, _forgetting(node), _LAST_ERROR)

    def record(self, node: Node, severity: str, text: str) -> None:
        """Add an entry to the node's history."""
        node.history.append(
            {"uuid": str(uuid4()), "created_at": self.stamp(), "severity": severity, "event": text[:255]}
        )

    def note(self, event: str, node: Node, **fields: object) -> None:
        """Log an event of a node."""
        self._log.write(self.now, event, node=node.name, uuid=node.uuid, **fields)

    def touch(self, node: Node) -> None:
        """Set the time of the node's last change."""
        node.values["updated_at"] = self.stamp()

    def stamp(self) -> str:
        """Return this moment in Ironic's format."""
        return f"{datetime.fromtimestamp(self.now, UTC):%Y-%m-%dT%H:%M:%S.%f}+00:00"

    def outcome(self, node: Node, *phases: str) -> NodeOutcome:
        """Return the outcome of this attempt: that of the first phase with one. Counts the attempt."""
        for phase in phases:
            outcome = self.scenario.node_outcome(node.name, phase)
            if outcome.kind is NodeOutcomeKind.OK and outcome.seconds is None:
                continue
            self._attempts[node.name, phase] += 1
            if outcome.times is None or self._attempts[node.name, phase] <= outcome.times:
                return outcome
        return NodeOutcome(NodeOutcomeKind.OK)

    def seconds(self, nominal: float, outcome: NodeOutcome) -> float:
        """Return the duration in nominal seconds under this outcome."""
        if outcome.seconds is not None:
            return outcome.seconds
        return nominal * (_SLOW_FACTOR if outcome.kind is NodeOutcomeKind.SLOW else 1)

    # For the control routes

    def play(self, scenario: Scenario) -> None:
        """Replace the scenario. Running operations keep their plan."""
        with self._changed:
            self._catch_up()
            self.scenario = scenario
            self._attempts.clear()
            self._changed.notify_all()

    def restart(self) -> list[str]:
        """Crash and start again: busy nodes fail, locks are free. Return the names of those nodes."""
        with self._changed:
            self._catch_up()
            broken = []
            for node in self.registry.nodes.values():
                self.end(node, "lock")
                self.end(node, "power")
                if node.state in LOCKED:
                    self.end(node)
                    broken.append(node.name)
                    self.fail(
                        node,
                        f"The {node.state} state can't be resumed by conductor {HOST}. Moving to fail state.",
                        cause="restart",
                    )
                node.values["reservation"] = None
                node.values["target_power_state"] = None
            return broken

    def events(self) -> list[dict[str, Any]]:
        """Return the event log up to this moment."""
        return self.look(lambda _registry: self._log.events())

    def _run(self) -> None:
        with self._changed:
            while not self._stopped:
                self._catch_up()
                pause = max(self._due[0][0] - self._clock.now(), 0.0) if self._due else None
                self._clock.wait(self._changed, pause)

    def _catch_up(self) -> None:
        """Continue every operation that is due, each at its own moment, up to now."""
        present = self._clock.now()
        while self._due and self._due[0][0] <= present:
            moment, _, key, operation = heappop(self._due)
            if self._operations.get(key) is operation:
                self.now = max(self.now, moment)
                self._advance(key, operation)
        self.now = max(self.now, present)

    def _advance(self, key: tuple[str, str], operation: Operation) -> None:
        pause = next(operation, None)
        if self._operations.get(key) is not operation:
            return
        if pause is None:
            del self._operations[key]
        elif pause < inf:
            heappush(self._due, (self.now + self._clock.scaled(pause), next(self._order), key, operation))


def _forgetting(node: Node) -> Operation:
    """Clear the last error at the next power sync, which leaves nodes in maintenance alone; the history keeps it."""
    yield _POWER_SYNC
    while node.values["maintenance"]:
        yield _POWER_SYNC
    node.values["last_error"] = None


def forget_deployment(node: Node) -> None:
    """Clear the conductor's notes about a deployment. The key of the step list stays, without a value."""
    node.internal["deploy_steps"] = None
    node.internal.pop("deploy_step_index", None)
    node.internal.pop("user_deploy_steps", None)
