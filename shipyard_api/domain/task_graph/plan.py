"""Plan a run: which task runs on which nodes, in which order (seed 001, Usage of graph; contract, 3.3 to 3.6)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec
from msgspec import Struct

from shipyard_api.domain.findings import Finding, error, in_short, info, warning
from shipyard_api.domain.graphs import find_cycles
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.conditions import (
    ConditionError,
    Facts,
    Path,
    UnknownPath,
    has_value,
    is_true,
    paths_in,
)
from shipyard_api.domain.task_graph.flow import Flow
from shipyard_api.domain.task_graph.flow_edges import flow_of
from shipyard_api.domain.task_graph.graph import TaskGraph, TooMuchMatching, cycle_text
from shipyard_api.domain.task_graph.ordering import JOIN, Ordering, order_units, sorted_units
from shipyard_api.domain.task_graph.placement import Placement, Unit
from shipyard_api.domain.task_graph.roles import MASTER, ClusterNode, Primaries
from shipyard_api.domain.task_graph.selection import EVERYTHING, Selection, check_selection, select
from shipyard_api.domain.task_graph.tasks import Kind, Order, Strategy, TaskId

PRIORITY_STEP = 100
MOST_EDGES = 500_000


class SkipReason(Enum):
    """Why a task of the graph does not run."""

    NOT_SELECTED = "not selected"
    CONDITION = "its condition is false"
    COMPUTED = "its condition or cross-depends is a yaql_exp, which is not evaluated"
    SETTING = "its condition reads a setting that the cluster does not have"
    TYPE = "its type is skipped"
    NO_NODE = "no node of the run has its roles or tags"

    __hash__ = object.__hash__


class Run(Struct, frozen=True):
    """Tasks that run one after another on each of the nodes. ``unit``: the group or task that they belong to."""

    unit: TaskId
    nodes: tuple[NodeName, ...]
    tasks: tuple[TaskId, ...]


class Batch(Struct, frozen=True):
    """Runs at the same time. A batch begins when the one before it has ended; a node is in one run of a batch.

    ``priority``: 100, 200, ... ``wave``: batches of one wave depend on earlier waves only.
    """

    priority: int
    wave: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The batches of a run in order; each task runs once on each of its nodes. ``groups``: the nodes of each group.

    ``batches`` show the order as Fuel does (contract, 3.3). ``flow`` is what a run follows: in it each node goes on at
    its own pace, and waits only where the graph has an edge.
    """

    batches: tuple[Batch, ...]
    skipped: Mapping[TaskId, SkipReason] = field(default_factory=dict)
    groups: Mapping[TaskId, tuple[NodeName, ...]] = field(default_factory=dict)
    flow: Flow = field(default_factory=Flow, repr=False)


class Site(Struct, frozen=True):
    """What a plan depends on besides the graph.

    ``nodes``: the nodes of the run, in the order in which they are deployed.
    """

    nodes: tuple[ClusterNode, ...]
    primaries: Primaries = msgspec.field(default_factory=Primaries)
    facts: Facts = msgspec.field(default_factory=Facts)


def plan(graph: TaskGraph, site: Site, selection: Selection = EVERYTHING) -> tuple[Plan | None, tuple[Finding, ...]]:
    """Return the plan of a run, or None and findings that say why there is none.

    With a plan, findings name the nodes on which nothing runs, and settings that conditions read in vain. Takes time
    linear in nodes, and in edges times classes of nodes.
    """
    findings = [*check_selection(graph, selection), *_reserved_names(site)]
    left_out = _conditions(graph, site.facts, findings)
    if findings:
        return None, tuple(findings)
    try:
        placement = Placement(graph, site.nodes, site.primaries)
    except TooMuchMatching:
        message = (
            "The regular expressions of the graph take too long to match with the roles and tags of the nodes: write "
            "fewer or simpler ones."
        )
        return None, (error("PlanTooLarge", message),)
    if _edges(placement) > MOST_EDGES:
        message = (
            "The nodes differ in too many ways for a graph of this size: use fewer roles and tags, or fewer tasks."
        )
        return None, (error("PlanTooLarge", message),)
    ordering = order_units(placement)
    units = sorted_units(ordering.before)
    if ordering.waiting_for_itself or len(units) < len(ordering.before):
        return None, tuple(_cycles(placement, ordering))
    selected = select(graph, selection)
    skipped = dict(_skipped(placement, selected, left_out))
    schedule = _Schedule(placement, ordering, units, skipped)
    batches = tuple(schedule.batches())
    if schedule.conflicts:
        return None, tuple(schedule.conflicts)
    groups = {
        group: tuple(node for number in classes for node in placement.classes[number])
        for group, classes in placement.group_classes.items()
    }
    flow = flow_of(placement, ordering, units, schedule.unit_of)
    return Plan(batches, skipped, groups, flow), (*_idle(site, batches), *unknown_settings(graph, site.facts))


def _edges(placement: Placement) -> int:
    """Return how many edges between tasks on classes of nodes there may be."""
    return sum(
        len(classes) * (1 + len(placement.graph.before[task])) for task, classes in placement.task_classes.items()
    )


def _idle(site: Site, batches: Iterable[Batch]) -> Iterator[Finding]:
    """Return a finding about the nodes of the run on which nothing runs."""
    lists = {run.nodes for batch in batches for run in batch.runs}
    used = {name for names in lists for name in names}
    idle = [f"{node.name}{'' if node.roles else ' (it has no role)'}" for node in site.nodes if node.name not in used]
    if idle:
        shown = in_short(idle, more=", …")
        yield info("NodesWithoutTasks", f"No task runs on {len(idle)} node(s) of the run: {shown}.")


def _reserved_names(site: Site) -> Iterator[Finding]:
    for node in site.nodes:
        if node.name == MASTER:
            message = f"No node can be named '{MASTER}': tasks with the role '{MASTER}' run beside Shipyard itself."
            yield error("ReservedNodeName", message)


def unknown_settings(graph: TaskGraph, facts: Facts) -> Iterator[Finding]:
    """Return a finding about the values that conditions read and that are not there: misspelt, perhaps."""
    readers: dict[Path, TaskId] = {}
    for task in graph.tasks.values():
        for path in () if isinstance(task.condition, bool) else paths_in(task.condition):
            if not has_value(path, facts):
                readers.setdefault(path, task.id)
    if readers:
        shown = in_short((f"{path} (task {task})" for path, task in readers.items()))
        message = (
            f"Conditions read what the cluster does not have: {shown}. Tasks that depend on it do not run: "
            "correct the condition, or set the value in the attributes of the cluster."
        )
        yield warning("UnknownSetting", message)


def _conditions(graph: TaskGraph, facts: Facts, findings: list[Finding]) -> Mapping[TaskId, SkipReason]:
    """Return the tasks that their condition leaves out, and add a finding for each condition that has no result."""
    left_out = {}
    for task in graph.tasks.values():
        try:
            if task.computed:
                left_out[task.id] = SkipReason.COMPUTED
            elif not (task.condition if isinstance(task.condition, bool) else is_true(task.condition, facts)):
                left_out[task.id] = SkipReason.CONDITION
        except UnknownPath:
            left_out[task.id] = SkipReason.SETTING
        except ConditionError as failed:
            message = f"The condition of task '{task.id}' has no result: {failed}."
            findings.append(error("ConditionFailed", message))
    return left_out


def _skipped(
    placement: Placement, selected: frozenset[TaskId], left_out: Mapping[TaskId, SkipReason]
) -> Iterator[tuple[TaskId, SkipReason]]:
    for task, classes in placement.task_classes.items():
        if task not in selected:
            yield task, SkipReason.NOT_SELECTED
        elif placement.graph.tasks[task].kind is Kind.SKIPPED:
            yield task, SkipReason.TYPE
        elif task in left_out:
            yield task, left_out[task]
        elif not classes:
            yield task, SkipReason.NO_NODE


def _cycles(placement: Placement, ordering: Ordering) -> Iterator[Finding]:
    for task in ordering.waiting_for_itself:
        message = f"Task '{task}' waits for itself on other nodes, and they wait for it."
        yield error("TaskOrderCycle", message)
    for cycle in find_cycles(ordering.before):
        steps = [_label(placement, unit) for unit in reversed(cycle) if unit[0] != JOIN]
        if steps[0] != steps[-1] or len(steps) == 1:
            steps.append(steps[0])
        message = f"With these nodes, tasks wait for each other: {cycle_text(steps)}."
        yield error("TaskOrderCycle", message)


def _label(placement: Placement, unit: Unit) -> str:
    task, number = unit
    if number is None:
        kind = placement.graph.tasks[task].kind
        return f"{kind.value} {task}" if kind in (Kind.GROUP, Kind.STAGE) else str(task)
    nodes = placement.classes[number]
    return f"{task} on {in_short(nodes, 1)}"


class _Part(Struct, frozen=True):
    """What a unit does on one class of nodes."""

    number: int
    tasks: tuple[TaskId, ...]


class _Schedule:
    """Waves of units, and the batches of each wave (contract, 3.3)."""

    def __init__(
        self,
        placement: Placement,
        ordering: Ordering,
        units: Sequence[Unit],
        skipped: Mapping[TaskId, SkipReason],
    ) -> None:
        self.conflicts: list[Finding] = []
        self.unit_of: dict[tuple[TaskId, int], Unit] = {}
        self._placement = placement
        self._graph = placement.graph
        self._classes = placement.classes
        self._document = {task: position for position, task in enumerate(self._graph.tasks)}
        self._parts: dict[Unit, dict[int, list[TaskId]]] = {}
        for task in sorted(placement.task_classes, key=self._graph.order.__getitem__):
            if task not in skipped:
                for number in placement.task_classes[task]:
                    for unit in placement.units(task, number):
                        self._parts.setdefault(unit, {}).setdefault(number, []).append(task)
        self._waves = self._levels(ordering, units)

    def batches(self) -> Iterator[Batch]:
        """Return the batches. ``conflicts`` and ``unit_of`` are complete after the last one."""
        parts = self._once_per_node()
        self.unit_of = {
            (task, part.number): unit
            for unit, unit_parts in parts.items()
            for part in unit_parts
            for task in part.tasks
        }
        by_wave: dict[int, list[Unit]] = {}
        for unit in parts:
            by_wave.setdefault(self._waves[unit], []).append(unit)
        priority = 0
        for wave in sorted(by_wave):
            for runs in self._wave(sorted(by_wave[wave], key=self._rank), parts):
                priority += PRIORITY_STEP
                yield Batch(priority, wave, runs)

    def _levels(self, ordering: Ordering, units: Sequence[Unit]) -> dict[Unit, int]:
        """Return the wave of each unit: the first one after the waves of all units it waits for.

        Units without anything to run are passed through: a group without nodes counts as done.
        """
        waves: dict[Unit, int] = {}
        for unit in units:
            waves[unit] = max((waves[before] + (before in self._parts) for before in ordering.before[unit]), default=0)
        return waves

    def _strategy(self, unit: Unit) -> Strategy:
        return self._graph.tasks[unit[0]].strategy

    def _rank(self, unit: Unit) -> tuple[int, int, int]:
        """Sort a wave: one by one, then with an amount, then all at once; each in the order of the document."""
        strategy = self._strategy(unit)
        kind = 0 if strategy.order is Order.ONE_BY_ONE else 1 if strategy.amount is not None else 2
        return kind, self._document[unit[0]], -1 if unit[1] is None else unit[1]

    def _once_per_node(self) -> dict[Unit, list[_Part]]:
        """Return what each unit runs, so that a task in several groups of a node runs in one of them only.

        It runs in the first group in which everything that it depends on has been done on the node.
        """
        of_class: dict[int, list[Unit]] = {}
        for unit in sorted(self._parts, key=lambda unit: (self._waves[unit], self._rank(unit))):
            for number in self._parts[unit]:
                of_class.setdefault(number, []).append(unit)
        parts: dict[Unit, list[_Part]] = {}
        for number, units in of_class.items():
            all_tasks = {task for unit in units for task in self._parts[unit][number]}
            done: set[TaskId] = set()
            for unit in units:
                ran = []
                for task in self._parts[unit][number]:
                    if task not in done and all(
                        before in done for before in self._graph.before[task] if before in all_tasks
                    ):
                        done.add(task)
                        ran.append(task)
                if ran:
                    parts.setdefault(unit, []).append(_Part(number, tuple(ran)))
            for task in all_tasks - done:
                self.conflicts.append(self._conflict(task, number))
        return parts

    def _conflict(self, task: TaskId, number: int) -> Finding:
        groups = ", ".join(self._graph.members.get(task, ())) or task
        return error(
            "TaskOrderConflict",
            f"On node {self._classes[number][0]}, task '{task}' of {groups} depends on tasks of a later group.",
        )

    def _wave(self, units: Iterable[Unit], parts: Mapping[Unit, Sequence[_Part]]) -> Iterator[tuple[Run, ...]]:
        together: list[list[Run]] = []
        next_free: dict[int, int] = {}
        for unit in units:
            strategy = self._strategy(unit)
            amount = 1 if strategy.order is Order.ONE_BY_ONE else strategy.amount
            if amount is not None:
                yield from self._chunks(unit, parts[unit], amount)
                continue
            for part in parts[unit]:
                slot = next_free.get(part.number, 0)
                next_free[part.number] = slot + 1
                if slot == len(together):
                    together.append([])
                together[slot].append(Run(unit[0], self._classes[part.number], part.tasks))
        for runs in together:
            yield tuple(runs)

    def _chunks(self, unit: Unit, parts: Sequence[_Part], amount: int) -> Iterator[tuple[Run, ...]]:
        """Return runs of at most ``amount`` nodes, in the order of the nodes."""
        position = self._placement.position
        nodes = sorted(
            ((position.get(node, -1), node, part.tasks) for part in parts for node in self._classes[part.number]),
            key=lambda entry: entry[0],
        )
        for start in range(0, len(nodes), amount):
            alike: dict[tuple[TaskId, ...], list[NodeName]] = {}
            for _, node, tasks in nodes[start : start + amount]:
                alike.setdefault(tasks, []).append(node)
            yield tuple(Run(unit[0], tuple(same_nodes), tasks) for tasks, same_nodes in alike.items())
