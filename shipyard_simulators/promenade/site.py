"""The nodes of a simulated Promenade, how far the teardown of each is, and the scripted outcomes of operations."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from shipyard_simulators.clock import Clock
from shipyard_simulators.promenade.wire import Message, PromenadeError, message

FAILURES = {
    "drain": "DrainNodeError",
    "clear-labels": "ClearLabelsError",
    "remove-etcd": "RemoveEtcdError",
    "shutdown-kubelet": "ShutdownKubeletError",
    "remove-from-cluster": "DeleteNodeError",
}
"""The operations, and the seed's word for the failure of each."""
_DONE = "done already"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an operation goes: ``seconds`` long, nominally, then a failure with these messages if there are any.

    ``nodes``: the only ones of which it goes so; none: all.
    """

    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    nodes: frozenset[str] = frozenset()


@dataclass(slots=True)
class Node:
    """One node. ``done``: the operations that have ended well."""

    name: str
    done: set[str] = field(default_factory=set)


class PromenadeSite:
    """All nodes. Thread-safe. ``etcd``: the health message of each cluster."""

    def __init__(self, clock: Clock, nodes: Iterable[str], *, teardown: bool) -> None:
        self.clock, self.teardown = clock, teardown
        self.nodes = {name: Node(name) for name in nodes}
        self.outcomes: dict[str, Outcome] = {}
        self.etcd: dict[str, str] = {}
        self._lock = threading.Lock()

    def join(self, name: str) -> None:
        """Let a machine become a node of the cluster; one that is a node stays as it is."""
        with self._lock:
            self.nodes.setdefault(name, Node(name))

    def run(self, operation: str, name: str) -> list[Message]:
        """Run an operation to its end, even if the client disconnects; return its messages."""
        with self._lock:
            node = self.nodes.get(name)
            outcome = self.outcomes.get(operation, Outcome())
        if outcome.nodes and name not in outcome.nodes:
            outcome = Outcome()
        if node is None:
            raise PromenadeError(404, "NodeNotFoundException", "Node not found", reason="NotFound")
        if operation in node.done:
            return [message(f"{operation} of {name}: {_DONE}")]
        self.clock.sleep(self.clock.scaled(outcome.seconds))
        if outcome.failures:
            messages = [message(text, failed=True) for text in outcome.failures]
            kind = FAILURES[operation]
            raise PromenadeError(500, kind, f"{operation} failed", reason=kind, messages=messages)
        with self._lock:
            if operation == "remove-from-cluster":
                self._check_removal(node)
                del self.nodes[name]
            node.done.add(operation)
        warnings = [message(text, failed=True) for text in outcome.warnings]
        return [message(f"{operation} of {name}: done"), *warnings]

    def _check_removal(self, node: Node) -> None:
        needed = {"drain": "the node is not cordoned", "clear-labels": "the node has labels"}
        wrong = [message(text, failed=True) for operation, text in needed.items() if operation not in node.done]
        if wrong:
            raise PromenadeError(409, "Conflict", "The node cannot be removed", reason="Conflict", messages=wrong)
