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
from shipyard_simulators.ironic.states import FAILED_STATE, LOCKED, STABLE
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind
from shipyard_simulators.scenario import Scenario

T = TypeVar("T")
Operation = Generator[float, None, None]

_LOCK_ATTEMPTS = 3
_LOCK_PAUSE = 1.0
_SLOW_FACTOR = 10


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be in the operations at the same time before a verb is refused with a 503."""

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
        """Begin to continue operations when they fall due."""
        self._thread.start()

    def stop(self) -> None:
        """Continue no further operation; return when the thread has ended."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self, act: Callable[[Registry], T]) -> T:
        """Return what the function makes of everything, at this moment; it may also change what has no lock."""
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

    # What operations do with their node

    def begin(self, node: Node, operation: Operation, kind: str = "state") -> None:
        """Let an operation run at the node from now on; an earlier one of the same kind is over."""
        key = (node.uuid, kind)
        self._operations[key] = operation
        self._advance(key, operation)

    def begin_apart(self, name: str, operation: Operation) -> None:
        """Let an operation run that belongs to no node."""
        self._operations[name, ""] = operation
        self._advance((name, ""), operation)

    def end(self, node: Node, kind: str = "state") -> None:
        """Let the operation of this kind at the node never go on."""
        self._operations.pop((node.uuid, kind), None)

    def busy(self, node: Node, kind: str = "state") -> bool:
        """Return whether an operation of this kind is under way at the node."""
        return (node.uuid, kind) in self._operations

    def move(self, node: Node, state: str, cause: str, *, target: str | None = None) -> None:
        """Take the node to a state; its lock is held exactly in those in which somebody operations on it."""
        before, values = node.state, node.values
        values["provision_state"] = state
        values["target_provision_state"] = None if state in STABLE else target or values["target_provision_state"]
        values["provision_updated_at"] = self.stamp()
        values["reservation"] = HOST if state in LOCKED else None
        self.touch(node)
        self.note("node_state", node, before=before, state=state, cause=cause)

    def fail(self, node: Node, text: str, cause: str = "") -> None:
        """Take the node to the failed state of the one it is in, with the text as its last error."""
        before = node.state
        self.move(node, FAILED_STATE[before], cause or text)
        node.values["last_error"] = text
        for step in ("clean_step", "deploy_step", "service_step"):
            node.values[step] = {}
        if before in ("deploying", "wait call-back", "deploy hold"):
            forget_deployment(node)
        self.record(node, "ERROR", text)

    def record(self, node: Node, severity: str, text: str) -> None:
        """Write into the history of the node."""
        node.history.append(
            {"uuid": str(uuid4()), "created_at": self.stamp(), "severity": severity, "event": text[:255]}
        )

    def note(self, event: str, node: Node, **fields: object) -> None:
        """Write an event of a node into the log."""
        self._log.write(self.now, event, node=node.name, uuid=node.uuid, **fields)

    def touch(self, node: Node) -> None:
        """Note that the node has changed."""
        node.values["updated_at"] = self.stamp()

    def stamp(self) -> str:
        """Return the moment in Ironic's writing."""
        return f"{datetime.fromtimestamp(self.now, UTC):%Y-%m-%dT%H:%M:%S.%f}+00:00"

    def outcome(self, node: Node, *phases: str) -> NodeOutcome:
        """Return what becomes of the node this time, by the first phase that has something to say; counts attempts."""
        for phase in phases:
            outcome = self.scenario.node_outcome(node.name, phase)
            if outcome.kind is NodeOutcomeKind.OK and outcome.seconds is None:
                continue
            self._attempts[node.name, phase] += 1
            if outcome.times is None or self._attempts[node.name, phase] <= outcome.times:
                return outcome
        return NodeOutcome(NodeOutcomeKind.OK)

    def seconds(self, nominal: float, outcome: NodeOutcome) -> float:
        """Return how many nominal seconds something takes with that outcome."""
        if outcome.seconds is not None:
            return outcome.seconds
        return nominal * (_SLOW_FACTOR if outcome.kind is NodeOutcomeKind.SLOW else 1)

    # From outside of the API

    def play(self, scenario: Scenario) -> None:
        """Replace the scenario; operations under way go on as they were laid out."""
        with self._changed:
            self._catch_up()
            self.scenario = scenario
            self._attempts.clear()
            self._changed.notify_all()

    def restart(self) -> list[str]:
        """Die in the middle of everything and come back: busy nodes fail, locks are free. Return their names."""
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
        """Return the log, up to this moment."""
        return self.look(lambda _registry: self._log.events())

    def _run(self) -> None:
        with self._changed:
            while not self._stopped:
                self._catch_up()
                pause = max(self._due[0][0] - self._clock.now(), 0.0) if self._due else None
                self._clock.wait(self._changed, pause)

    def _catch_up(self) -> None:
        """Continue everything that is due, each at its own moment, then let it be the present."""
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


def forget_deployment(node: Node) -> None:
    """Clear what the conductor noted of a deployment; the list of steps stays as a key without value."""
    node.internal["deploy_steps"] = None
    node.internal.pop("deploy_step_index", None)
    node.internal.pop("user_deploy_steps", None)
