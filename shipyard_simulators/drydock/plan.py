"""What all plans share: the tree of tasks, outcomes, and the limit of 64 nodes at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import inf
from typing import Any
from zlib import crc32

from shipyard_simulators.clock import Clock
from shipyard_simulators.drydock.site import Change, Site
from shipyard_simulators.drydock.tasks import Message, Record, Task
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind, TaskOutcomeKind
from shipyard_simulators.parts import Parts, lldp, lshw
from shipyard_simulators.scenario import Scenario

NODES_AT_ONCE = 64
ATTEMPTS = 4
"""Attempts at commissioning, deploying or releasing a node."""

IDENTIFY_ATTEMPTS = 61
"""Looks for a new machine: every 10 s for 10 minutes, the first at once."""

_SLOW_FACTOR = 10

Span = tuple[float, float]


@dataclass(slots=True)
class Happening:
    """An event that is logged when its time comes."""

    moment: float
    event: str
    fields: dict[str, Any]


@dataclass(slots=True)
class Plan:
    """The planned future of one requested task: its tree, the status changes of machines, and log events."""

    root: Task
    scenario: Scenario
    site: Site
    clock: Clock
    happenings: list[Happening] = field(default_factory=list)

    @property
    def start(self) -> float:
        """The start of the task."""
        return self.root.started

    def whole_outcome(self) -> NodeOutcome:
        """Return the outcome of the whole task; it takes precedence over the outcomes of nodes."""
        whole = self.scenario.task_outcome(self.root.action)
        # A partial failure of a site step takes the usual time; its planner handles the rest.
        word = TaskOutcomeKind.OK if whole.kind is TaskOutcomeKind.PARTIAL else whole.kind
        return NodeOutcome(NodeOutcomeKind(word.value), whole.reason, whole.seconds)

    def outcome(self, node: str, phase: str) -> NodeOutcome:
        """Return the outcome of this attempt at the node, and count the attempt."""
        attempt = self.site.attempt(node, phase)
        whole = self.whole_outcome()
        if whole.kind is not NodeOutcomeKind.OK:
            return whole
        outcome = self.scenario.node_outcome(node, phase)
        if outcome.times is not None and attempt > outcome.times:
            return NodeOutcome(NodeOutcomeKind.OK)
        return outcome

    def duration(self, outcome: NodeOutcome | None = None) -> float:
        """Return the duration of the action in real seconds, for a node with this outcome."""
        nominal = self.scenario.durations[self.root.action]
        if outcome is not None and outcome.seconds is not None:
            nominal = outcome.seconds
        elif outcome is not None and outcome.kind is NodeOutcomeKind.SLOW:
            nominal *= _SLOW_FACTOR
        return self.clock.scaled(nominal)

    def status(self, node: str) -> str | None:
        """Return the status of the machine when the task starts."""
        return self.site.status(node, self.start)

    def change(self, node: str, *changes: Change) -> None:
        """Plan status changes of the node's machine; changes at infinity are dropped."""
        self.site.change(node, [change for change in changes if change[0] < inf])

    def log(self, moment: float, event: str, **fields: object) -> None:
        """Plan a log event; one at infinity is dropped."""
        if moment < inf:
            self.happenings.append(Happening(moment, event, {**fields, "task_id": self.root.task_id}))

    def add(
        self,
        parent: Task,
        action: str,
        span: Span,
        *,
        nodes: Sequence[str] = (),
        successes: Sequence[str] = (),
        failures: Sequence[str] = (),
        retry: int = 0,
    ) -> Task:
        """Add a task below another one."""
        task = Task(
            action=action,
            created=span[0],
            design_ref=self.root.design_ref,
            node_filter=names_filter(nodes) if nodes else None,
            parent=parent,
            retry=retry,
            started=span[0],
            ended=span[1],
            successes=tuple(successes),
            failures=tuple(failures),
        )
        parent.children.append(task)
        return task

    def add_node(self, parent: Task, node: str, span: Span, *, error: str = "", retry: int = 0) -> Task:
        """Add the task of one node below a step; with an error, the task fails."""
        lists = {"failures": [node]} if error else {"successes": [node]}
        task = self.add(parent, parent.action, span, nodes=[node], retry=retry, **lists)
        text = f"Node {node}: {error}" if error else f"Node {node}: {parent.action} done"
        if span[1] < inf:
            task.messages.append(Message(span[1], text, bool(error), "node", node))
        return task

    def add_attempts(self, parent: Task, node: str, span: Span, errors: Sequence[str]) -> Task:
        """Add one task per attempt at a node below a step, and return the last. An empty error is a success."""
        start, end = span
        share = (end - start) / len(errors) if end < inf else inf
        attempts = []
        for retry, error in enumerate(errors):
            if start == inf:
                break
            until = end if retry == len(errors) - 1 else start + share
            attempts.append(self.add_node(parent, node, (start, until), error=error, retry=retry))
            start = until
        parent.retry = max(parent.retry, len(attempts) - 1)
        return attempts[-1]

    def finish(self, ended: float, successes: Iterable[str], failures: Iterable[str]) -> None:
        """Plan the end of the requested task."""
        self.root.ended = ended
        self.root.successes = tuple(dict.fromkeys(successes))
        self.root.failures = tuple(dict.fromkeys(failures))
        for task in (self.root, *self.root.below()):
            task.children.sort(key=lambda child: child.started)


def names_filter(nodes: Sequence[str]) -> dict[str, Any]:
    """Return the filter that Drydock writes into the subtasks of single nodes."""
    return {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": list(nodes)}],
    }


def names_in(node_filter: Any) -> list[str] | None:
    """Return the names in a filter, or None if only the design can tell which nodes it selects."""
    filters = node_filter.get("filter_set") if isinstance(node_filter, dict) else None
    if not isinstance(filters, list) or not all(isinstance(each, dict) and each.get("node_names") for each in filters):
        return None
    lists = [each["node_names"] for each in filters]
    return [str(name) for names in lists if isinstance(names, list) for name in names]


def side_by_side(durations: Sequence[float], start: float) -> list[Span]:
    """Return the span of each piece of work if at most 64 run at any time, in order."""
    lanes = [start] * min(NODES_AT_ONCE, max(len(durations), 1))
    heapify(lanes)
    spans = []
    for duration in durations:
        begin = lanes[0]
        heapreplace(lanes, begin + duration)
        spans.append((begin, begin + duration))
    return spans


def hardware_records(node: str, moment: float, parts: Parts | None) -> list[Record]:
    """Return what is collected of the hardware of a node: that which the scenario gives it, else next to nothing."""
    if parts is None:
        return records_of(node, moment, "lshw", "lldp")
    macs = [f"52:54:{each:02x}:00:{crc32(node.encode()) & 255:02x}:01" for each in range(len(parts.nics))]
    texts = {"lshw": lshw(node, parts, macs), "lldp": lldp(parts)}
    return [Record(moment, node, generator, "text/xml", text) for generator, text in texts.items()]


def records_of(node: str, moment: float, *generators: str) -> list[Record]:
    """Return small substitutes for the data that the generators collect from a node."""
    return [
        Record(moment, node, each, "text/plain", f"{each} of {node}\n")
        if ":" in each
        else Record(moment, node, each, "text/xml", "<list/>")
        for each in generators
    ]
