"""Carry out a plan: which task may begin on which nodes when others have ended (seed 001; fuel-task-graph, 4).

Each node goes on by itself as soon as what its next task waits for has ended. A node that failed a task runs nothing
more, and a task whose requirement is not met never runs. Whether the others go on is a question of tolerance: every
group counts its failed nodes, and a task of no group tolerates none. Tasks that are under way end by themselves in any
case.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.findings import in_short
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.flow import Flow, Judge, Point
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.tasks import TaskId


class ToleranceError(ValueError):
    """The value is no fault tolerance; the text says why."""


def nodes_that_may_fail(tolerance: int | str | None, nodes: int) -> int | None:
    """Return how many of a group's ``nodes`` may fail; None if there is no limit.

    ``tolerance``: a number; a percentage, rounded down; either negative for the nodes that must succeed, a percentage
    of these rounded up. Surrounding blanks are ignored. Raises ToleranceError.
    """
    if tolerance is None:
        return None
    text = str(tolerance)
    number = text.strip().removesuffix("%").strip()
    digits = number.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9) or isinstance(tolerance, bool):
        raise ToleranceError(f"'{text[:40]}' is neither a number nor a percentage; write 3, 20% or -2")
    allowed = int(number)
    if text.strip().endswith("%"):
        if abs(allowed) > 100:
            raise ToleranceError(f"'{text[:40]}' is not between -100% and 100%")
        allowed = nodes * allowed // 100
    return min(allowed, nodes) if allowed >= 0 else max(0, nodes + allowed)


MOST_NODES = 50
"""The most nodes of one piece of work (contract, 4.1: ``max_nodes_per_call``), and by default of a run at a time."""
_SHOWN = 5


class Limit(Struct, frozen=True):
    """How many nodes of a group may fail; ``most`` None: not stated, so that nothing is stopped."""

    group: TaskId
    nodes: frozenset[NodeName]
    most: int | None

    def tolerates(self, failed: Collection[NodeName]) -> bool:
        """Return whether the group ended within its tolerance: 0 unless stated, and never all of its nodes."""
        wrong = len(self.nodes.intersection(failed))
        return not wrong or (wrong <= (self.most or 0) and wrong < len(self.nodes))


class Rules(Struct, frozen=True):
    """What the failure of a node means, and how many nodes run tasks at the same time.

    ``limits``: of groups. ``strict``: tasks of no group, whose failure ends the run. ``ignored``: tasks with
    ``fail_on_error: false``, after whose failure a node goes on.
    """

    limits: tuple[Limit, ...] = ()
    strict: frozenset[TaskId] = frozenset()
    ignored: frozenset[TaskId] = frozenset()
    nodes_at_once: int = MOST_NODES

    @classmethod
    def of(
        cls, graph: TaskGraph, groups: Mapping[TaskId, Sequence[NodeName]], nodes_at_once: int = MOST_NODES
    ) -> "Rules":
        """Return the rules of a graph; ``groups``: the nodes of each group."""
        limits = tuple(
            Limit(group, frozenset(nodes), nodes_that_may_fail(graph.tasks[group].fault_tolerance, len(nodes)))
            for group, nodes in groups.items()
            if nodes
        )
        tasks = [task for task in graph.tasks.values() if task.runs]
        strict = frozenset(task.id for task in tasks if not task.by_task and task.id not in graph.members)
        ignored = frozenset(task.id for task in tasks if not task.fail_on_error)
        return cls(limits, strict, ignored, nodes_at_once)

    def tolerate(self, failed: Collection[NodeName]) -> bool:
        """Return whether every failed node is in a group that states a tolerance, and all such groups kept theirs."""
        return all(self.tolerates(node, failed) for node in failed)

    def tolerates(self, node: NodeName, failed: Collection[NodeName]) -> bool:
        """Return whether the failure of one of the failed nodes is within the stated tolerance of its groups."""
        stated = [limit for limit in self.limits if limit.most is not None and node in limit.nodes]
        return bool(stated) and all(limit.tolerates(failed) for limit in stated)


class Running(Struct, frozen=True):
    """Nodes of a cell, as bits, that run its task as one piece of work."""

    cell: int
    nodes: int


class Piece(Struct, frozen=True):
    """One task on up to ``MOST_NODES`` nodes. ``goes_on``: the piece that began the task, which they were part of."""

    id: str
    task: TaskId
    nodes: tuple[NodeName, ...]
    goes_on: str | None = None


class Ended(Struct, frozen=True):
    """How a piece ended. ``failed``: nodes and why. ``rest``: nodes that have not ended; each part becomes a piece."""

    piece: str
    failed: Mapping[NodeName, str] = field(default_factory=dict)
    rest: tuple[tuple[NodeName, ...], ...] = ()


def kept(flow: Flow, succeeded: Collection[tuple[NodeName, TaskId]]) -> Mapping[int, int]:
    """Return what a retry need not run again, as ``Execution.done``: what succeeded, with all that it waited for.

    ``succeeded``: tasks on nodes. What depends on a task that runs again runs again, too.
    """
    finished: dict[int, int] = {}
    is_whole = [False] * len(flow.points)
    for is_point, index in flow.order:
        if is_point:
            point = flow.points[index]
            cells = all(finished[cell] == flow.full[flow.cells[cell].number] for cell in point.cells)
            is_whole[index] = cells and all(is_whole[before] for before in point.before)
            continue
        cell = flow.cells[index]
        nodes = (node for node in flow.nodes[cell.number] if (node, cell.task) in succeeded)
        bits = (
            sum(flow.class_of[node][1] for node in nodes)
            if all(is_whole[cell_index] for cell_index in cell.points)
            else 0
        )
        for earlier in cell.after:
            bits &= finished[earlier]
        finished[index] = bits
    return {index: bits for index, bits in finished.items() if bits}


class Execution(Struct, frozen=True):
    """A run of a plan. ``done``: the nodes that have done each cell, as bits. ``open``: pieces under way.

    ``failed``: why each failed node failed. ``stopped``: why nothing begins any more. ``pieces``: how many there were.
    """

    flow: Flow
    rules: Rules
    done: Mapping[int, int] = field(default_factory=dict)
    open: Mapping[str, Running] = field(default_factory=dict)
    failed: Mapping[NodeName, str] = field(default_factory=dict)
    stopped: str | None = None
    pieces: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether nothing is under way and nothing may begin; only after ``advance``."""
        return not self.open

    def advance(self, ended: Iterable[Ended] = ()) -> tuple["Execution", tuple[Piece, ...]]:
        """Return the execution after these pieces ended, and the pieces that begin. Called with none to begin.

        The pieces returned are under way from then on.
        """
        done, failed, still_open = dict(self.done), dict(self.failed), dict(self.open)
        stopped = self.stopped
        pieces: list[Piece] = []
        for end in ended:
            running = still_open.pop(end.piece)
            task, rest = self.flow.cells[running.cell].task, [self._bits(nodes) for nodes in end.rest]
            over = running.nodes & ~sum(rest)
            for bits in rest:
                piece = Piece(
                    str(self.pieces + len(pieces)), task, self.flow.named(self._class(running), bits), end.piece
                )
                pieces.append(piece)
                still_open[piece.id] = Running(running.cell, bits)
            if end.failed and task not in self.rules.ignored:
                over &= ~self._bits(end.failed)
                for node, why in end.failed.items():
                    failed.setdefault(node, f"{task}: {why}")
                stopped = stopped or self._reason_to_stop(task, end.failed, failed)
            done[running.cell] = done.get(running.cell, 0) | over
        after = replace(
            self, done=done, open=still_open, failed=failed, stopped=stopped, pieces=self.pieces + len(pieces)
        )
        if stopped is not None:
            return after, tuple(pieces)
        new = tuple(after._beginning())
        running_now = {**still_open, **{piece.id: running for piece, running in new}}
        after = replace(after, open=running_now, pieces=after.pieces + len(new))
        return after, (*pieces, *(piece for piece, _ in new))

    def nodes_of(self, piece: str) -> tuple[NodeName, ...]:
        """Return the nodes of a piece that is under way."""
        running = self.open[piece]
        return self.flow.named(self._class(running), running.nodes)

    def unmet(self) -> Mapping[NodeName, str]:
        """Return the nodes that did not fail and lack a task whose requirement is not met: the first one, and why."""
        standing = _Standing(self)
        reasons: dict[NodeName, str] = {}
        for index, why in standing.unmet.items():
            cell = self.flow.cells[index]
            for node in self.flow.named(cell.number, standing.blocked[index] & ~standing.failed[cell.number]):
                reasons.setdefault(node, f"{cell.task} did not run: {why}")
        return reasons

    def is_good(self, unmet: Collection[NodeName]) -> bool:
        """Return whether the nodes that failed, or lack a task, are within the tolerance that their groups state."""
        return self.rules.tolerate({*self.failed, *unmet})

    def _class(self, running: Running) -> int:
        return self.flow.cells[running.cell].number

    def _bits(self, nodes: Iterable[NodeName]) -> int:
        return sum(self.flow.class_of[node][1] for node in nodes)

    def _beginning(self) -> Iterable[tuple[Piece, Running]]:
        """Return what begins now: the heaviest tasks first, then nodes in their order, as far as there is room."""
        room = self.rules.nodes_at_once - sum(running.nodes.bit_count() for running in self.open.values())
        if room <= 0:
            return
        chosen: dict[int, int] = {}
        standing, flow = _Standing(self), self.flow
        busy, windows = list(standing.busy), _Windows(self, standing)
        for cell, node in _in_order(flow, windows, standing.ready()):
            number, bit = flow.class_of[node]
            if not busy[number] & bit and windows.admits(cell, number, bit):
                busy[number] |= bit
                chosen[cell] = chosen.get(cell, 0) | bit
                room -= 1
                if not room:
                    break
        count = self.pieces
        for cell, bits in chosen.items():
            nodes = flow.named(flow.cells[cell].number, bits)
            for start in range(0, len(nodes), MOST_NODES):
                part = nodes[start : start + MOST_NODES]
                yield Piece(str(count), flow.cells[cell].task, part), Running(cell, self._bits(part))
                count += 1

    def _reason_to_stop(
        self, task: TaskId, failures: Mapping[NodeName, str], failed: Mapping[NodeName, str]
    ) -> str | None:
        if task in self.rules.strict:
            return f"Task {task} belongs to no group, and it failed on {_listed(sorted(failures))}."
        groups = [limit for limit in self.rules.limits if not limit.nodes.isdisjoint(failures)]
        for limit in groups:
            wrong = sorted(limit.nodes & failed.keys())
            if limit.most is not None and len(wrong) > limit.most:
                return (
                    f"{len(wrong)} of {len(limit.nodes)} nodes of group {limit.group} failed, and {limit.most} may: "
                    f"{_listed(wrong)}."
                )
        alone = sorted(node for node in failures if not any(node in limit.nodes for limit in groups))
        return f"Task {task} failed on {_listed(alone)}, and no group of theirs tolerates it." if alone else None


class _Standing:
    """What an execution has come to, as bits of nodes: by class what is ``busy`` and ``failed``, by cell the rest.

    ``blocked``: nodes that will never run a cell. ``unmet``: why, for cells that wait for a point that is not met.
    """

    def __init__(self, execution: Execution) -> None:
        flow = execution.flow
        self._execution, self._flow = execution, flow
        self.busy, self.failed = [0] * len(flow.nodes), [0] * len(flow.nodes)
        self.running: dict[int, int] = {}
        for running in execution.open.values():
            self.busy[flow.cells[running.cell].number] |= running.nodes
            self.running[running.cell] = self.running.get(running.cell, 0) | running.nodes
        for node in execution.failed:
            number, bit = flow.class_of[node]
            self.failed[number] |= bit
        self.blocked = [0] * len(flow.cells)
        self.unmet: dict[int, str] = {}
        self._fault: list[str | None] = [None] * len(flow.points)
        self._ended = [False] * len(flow.points)
        for is_point, index in flow.order:
            if is_point:
                self._judge(index)
            else:
                self._block(index)

    def settled(self, index: int) -> int:
        """Return the nodes that run a cell no more: they have done it, or never will."""
        return self._execution.done.get(index, 0) | self.blocked[index]

    def ready(self) -> Iterable[tuple[int, int]]:
        """Return the cells with the nodes that may begin them, those apart that are busy."""
        done = self._execution.done
        for index, cell in enumerate(self._flow.cells):
            bits = self._flow.full[cell.number] & ~self.settled(index) & ~self.busy[cell.number]
            for earlier in cell.after:
                if not bits:
                    break
                bits &= done.get(earlier, 0)
            if bits and all(self._ended[point] for point in cell.points):
                yield index, bits

    def _block(self, index: int) -> None:
        cell = self._flow.cells[index]
        blocked = self.failed[cell.number]
        for earlier in cell.after:
            blocked |= self.blocked[earlier]
        fault = next((fault for point in cell.points if (fault := self._fault[point])), None)
        if fault:
            self.unmet[index] = fault
            blocked = self._flow.full[cell.number]
        elif blocked & ~self.failed[cell.number]:
            self.unmet[index] = next(self.unmet[following] for following in cell.after if following in self.unmet)
        begun = self._execution.done.get(index, 0) | self.running.get(index, 0)
        self.blocked[index] = blocked & ~begun

    def _judge(self, index: int) -> None:
        flow, point = self._flow, self._flow.points[index]
        self._ended[index] = all(self._ended[before] for before in point.before) and all(
            self.settled(cell) == flow.full[flow.cells[cell].number] for cell in point.cells
        )
        if not self._ended[index] or point.judge is Judge.OPEN:
            return
        lost = {node: cell for cell in point.cells for node in flow.named(flow.cells[cell].number, self.blocked[cell])}
        if not point.cells:
            self._fault[index] = next((fault for before in point.before if (fault := self._fault[before])), None)
        elif lost and not self._is_tolerated(point, lost):
            tasks = sorted({flow.cells[cell].task for cell in lost.values()})
            # A task that is skipped stands for those that it waits for: it cannot fail.
            judged = point.judge is Judge.GROUP or point.name in tasks
            self._fault[index] = f"{point.name if judged else _listed(tasks)} failed on {_listed(sorted(lost))}"

    def _is_tolerated(self, point: Point, lost: Collection[NodeName]) -> bool:
        rules = self._execution.rules
        if point.judge is Judge.GROUP:
            return next(limit for limit in rules.limits if limit.group == point.name).tolerates(lost)
        numbers = {self._flow.cells[cell].number for cell in point.cells}
        return len(lost) < sum(len(self._flow.nodes[number]) for number in numbers) and rules.tolerate(lost)


class _Windows:
    """How much room the windows of an execution have."""

    def __init__(self, execution: Execution, standing: _Standing) -> None:
        self._flow = execution.flow
        self._inside = [self._nodes_inside(execution, standing, window.cells) for window in self._flow.windows]
        self._room = [
            window.most - sum(bits.bit_count() for bits in inside.values())
            for window, inside in zip(self._flow.windows, self._inside, strict=True)
        ]
        weight = self._flow.weight
        self._weight = [max(weight[cell] for cell in window.cells) for window in self._flow.windows]

    def rank(self, cell: int) -> tuple[int, int]:
        """Return the place of a cell among those that may begin: the heaviest first, then nodes of a cell together.

        The cells of a window are one: nodes keep their order.
        """
        of_windows = self._flow.windows_of.get(cell, ())
        if not of_windows:
            return -self._flow.weight[cell], cell
        return min((-self._weight[window], self._flow.windows[window].cells[0]) for window in of_windows)

    def admits(self, cell: int, number: int, bit: int) -> bool:
        """Return whether a node may begin a cell; then it is inside of the windows of the cell."""
        windows = [
            window for window in self._flow.windows_of.get(cell, ()) if not self._inside[window].get(number, 0) & bit
        ]
        if any(self._room[window] <= 0 for window in windows):
            return False
        for window in windows:
            self._room[window] -= 1
            self._inside[window][number] = self._inside[window].get(number, 0) | bit
        return True

    def _nodes_inside(self, execution: Execution, standing: _Standing, cells: Iterable[int]) -> dict[int, int]:
        """Return the nodes, by class, that have begun a cell and have not settled all."""
        begun: dict[int, int] = {}
        settled: dict[int, int] = {}
        for cell in cells:
            number = self._flow.cells[cell].number
            begun[number] = begun.get(number, 0) | execution.done.get(cell, 0) | standing.running.get(cell, 0)
            settled[number] = settled.get(number, -1) & standing.settled(cell)
        return {number: bits & ~settled[number] for number, bits in begun.items()}


def _in_order(flow: Flow, windows: _Windows, ready: Iterable[tuple[int, int]]) -> Iterator[tuple[int, NodeName]]:
    """Yield cells with their nodes: the heaviest cells first, in cells of one rank the nodes in their order."""
    ranked = sorted((windows.rank(cell), cell, bits) for cell, bits in ready)
    for _, alike in groupby(ranked, key=lambda entry: entry[0]):
        nodes = [(cell, node) for _, cell, bits in alike for node in flow.named(flow.cells[cell].number, bits)]
        yield from sorted(nodes, key=lambda entry: (flow.position.get(entry[1], -1), entry[0]))


def _listed(nodes: Sequence[NodeName] | Sequence[TaskId]) -> str:
    return in_short(nodes, _SHOWN)
