"""What each task waits for, on its own node and across nodes (seed 001; contract: fuel-task-graph, 3 and 4.2).

A *cell* is a task on one class of nodes, which are alike to every selector. Its nodes wait for other cells each on its
own: a node goes on as soon as it has done them. A *point* is a set of cells that others wait for on all its nodes: a
group, a stage, a task that holds across nodes, a relation. Cells and points do not grow with the number of nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId


class Judge(Enum):
    """How a point is judged once it has ended. The values are stored."""

    TASK = "task"
    """Met unless a node failed outside a stated tolerance of its groups, or all nodes failed."""
    GROUP = "group"
    """Met within the group's own tolerance, 0 without one; never if all its nodes failed."""
    OPEN = "open"
    """A synchronisation point: always met."""

    __hash__ = object.__hash__


class Cell(Struct, frozen=True):
    """A task on the nodes of a class, after cells of the same class and after points."""

    task: TaskId
    number: int
    after: tuple[int, ...] = ()
    points: tuple[int, ...] = ()


class Point(Struct, frozen=True):
    """Cells that others wait for as a whole; ``before``: points that must have ended, too. ``name``: for messages."""

    name: TaskId
    judge: Judge
    cells: tuple[int, ...] = ()
    before: tuple[int, ...] = ()


class Window(Struct, frozen=True):
    """Cells that at most ``most`` nodes may be in at the same time, in the order of the nodes."""

    cells: tuple[int, ...]
    most: int


@dataclass(frozen=True)
class Flow:
    """Cells and points by index. ``nodes``: those of each class, in the order in which they were given.

    ``position``: the place of each node among all nodes of the run. A flow has no cycle.
    """

    nodes: tuple[tuple[NodeName, ...], ...] = ()
    cells: tuple[Cell, ...] = ()
    points: tuple[Point, ...] = ()
    windows: tuple[Window, ...] = ()
    position: Mapping[NodeName, int] = field(default_factory=dict)

    @cached_property
    def full(self) -> tuple[int, ...]:
        """All nodes of each class, as bits."""
        return tuple((1 << len(nodes)) - 1 for nodes in self.nodes)

    @cached_property
    def order(self) -> tuple[tuple[bool, int], ...]:
        """All cells and points, each after what it waits for: whether it is a point, and its index.

        Tasks in a circle are missing.
        """
        offset = len(self.cells)
        return tuple((node >= offset, node - offset if node >= offset else node) for node in self._topological)

    @cached_property
    def weight(self) -> tuple[int, ...]:
        """The number of cells on the longest way from each cell to the end."""
        offset, after = len(self.cells), self._after()
        weights = [0] * (offset + len(self.points))
        for node in reversed(self._topological):
            longest = max((weights[later] for later in after[node]), default=0)
            weights[node] = longest + (node < offset)
        return tuple(weights[:offset])

    @cached_property
    def windows_of(self) -> Mapping[int, tuple[int, ...]]:
        """The windows of each cell that has any."""
        windows: dict[int, tuple[int, ...]] = {}
        for index, window in enumerate(self.windows):
            for cell in window.cells:
                windows[cell] = (*windows.get(cell, ()), index)
        return windows

    @cached_property
    def nodes_of(self) -> Mapping[TaskId, Sequence[NodeName]]:
        """The nodes of each task."""
        nodes: dict[TaskId, list[NodeName]] = {}
        for cell in self.cells:
            nodes.setdefault(cell.task, []).extend(self.nodes[cell.number])
        return nodes

    def tasks_after(self, node: NodeName) -> frozenset[TaskId]:
        """Return the tasks that wait, on all their nodes, for some task on this node."""
        cells, points = [False] * len(self.cells), [False] * len(self.points)
        for is_point, index in self.order:
            if is_point:
                point = self.points[index]
                runs_here = any(
                    cells[cell_index] or node in self.nodes[self.cells[cell_index].number] for cell_index in point.cells
                )
                points[index] = runs_here or any(points[before] for before in point.before)
            else:
                cell = self.cells[index]
                runs_here = bool(cell.after) and (
                    node in self.nodes[cell.number] or any(cells[before] for before in cell.after)
                )
                cells[index] = runs_here or any(points[cell_index] for cell_index in cell.points)
        earlier = {cell.task for cell, later in zip(self.cells, cells, strict=True) if not later}
        return frozenset(cell.task for cell in self.cells) - earlier

    @cached_property
    def class_of(self) -> Mapping[NodeName, tuple[int, int]]:
        """The class of each node, and its bit."""
        return {node: (number, 1 << bit) for number, nodes in enumerate(self.nodes) for bit, node in enumerate(nodes)}

    def named(self, number: int, bits: int) -> tuple[NodeName, ...]:
        """Return the nodes of a class that the bits mean, in the order of the class."""
        nodes = self.nodes[number]
        names = []
        while bits:
            low = bits & -bits
            names.append(nodes[low.bit_length() - 1])
            bits ^= low
        return tuple(names)

    def _before(self, node: int) -> Iterable[int]:
        offset = len(self.cells)
        if node < offset:
            cell = self.cells[node]
            return (*cell.after, *(offset + point for point in cell.points))
        point = self.points[node - offset]
        return (*point.cells, *(offset + earlier for earlier in point.before))

    def _after(self) -> Sequence[list[int]]:
        following: list[list[int]] = [[] for _ in range(len(self.cells) + len(self.points))]
        for node in range(len(following)):
            for earlier in self._before(node):
                following[earlier].append(node)
        return following

    @cached_property
    def _topological(self) -> Sequence[int]:
        after = self._after()
        missing = [len(tuple(self._before(node))) for node in range(len(after))]
        order = [node for node, count in enumerate(missing) if not count]
        for node in order:
            for later in after[node]:
                missing[later] -= 1
                if not missing[later]:
                    order.append(later)
        return order
