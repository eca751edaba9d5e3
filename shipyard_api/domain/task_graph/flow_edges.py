"""Build the flow of a run from its graph: which edge holds on each node by itself, and which across nodes.

Edges of groups, stages and tasks of no group hold across nodes, as in ``ordering``. Everything else holds on each node
by itself, with two exceptions: relations, and a task in a group that requires a task which its nodes do not have.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from shipyard_api.domain.task_graph.flow import Cell, Flow, Judge, Point, Window
from shipyard_api.domain.task_graph.ordering import Ordering, sorted_units
from shipyard_api.domain.task_graph.placement import Link, Placement, Unit
from shipyard_api.domain.task_graph.tasks import PRE, Kind, Order, Relation, Strategy, Task, TaskId


def flow_of(
    placement: Placement, ordering: Ordering, units: Sequence[Unit], unit_of: Mapping[tuple[TaskId, int], Unit]
) -> Flow:
    """Return the flow of a run. ``unit_of``: where each task that runs is scheduled on each class of nodes.

    ``units``: all units, each after what it waits for.
    """
    builder = _Builder(placement, unit_of)
    builder.edges_across_nodes()
    builder.relations()
    builder.requirements_on_other_nodes(ordering, units)
    builder.seed_stages(ordering)
    builder.edges_on_nodes()
    builder.windows()
    return builder.flow()


class _Builder:
    def __init__(self, placement: Placement, unit_of: Mapping[tuple[TaskId, int], Unit]) -> None:
        self._placement, self._graph, self._unit_of = placement, placement.graph, unit_of
        cells = sorted(unit_of, key=lambda cell: (self._graph.order[cell[0]], cell[1]))
        self._cells = cells
        self._index = {cell: number for number, cell in enumerate(cells)}
        self._after: list[set[int]] = [set() for _ in cells]
        self._points_of: list[set[int]] = [set() for _ in cells]
        self._of_task: dict[TaskId, list[int]] = {}
        self._of_group: dict[TaskId, list[int]] = {}
        for number, (task, _) in enumerate(cells):
            self._of_task.setdefault(task, []).append(number)
            unit = unit_of[cells[number]]
            if unit[0] != task:
                self._of_group.setdefault(unit[0], []).append(number)
        self._points: list[tuple[TaskId, Judge, tuple[int, ...]]] = []
        self._before: list[set[int]] = []
        self._named: dict[TaskId, int] = {task: self._point_of(entry) for task, entry in self._graph.tasks.items()}
        self._windows: list[Window] = []

    def _point_of(self, task: Task) -> int:
        if task.kind is Kind.STAGE:
            return self._point(task.id, Judge.OPEN, ())
        if task.kind is Kind.GROUP:
            return self._point(task.id, Judge.GROUP, self._of_group.get(task.id, ()))
        return self._point(task.id, Judge.TASK, self._of_task.get(task.id, ()))

    def _point(self, name: TaskId, judge: Judge, cells: Iterable[int]) -> int:
        self._points.append((name, judge, tuple(cells)))
        self._before.append(set())
        return len(self._points) - 1

    def _wait(self, cells: Collection[int], point: int, instead: int) -> None:
        """Let the cells wait for a point; without cells, the point that stands for them waits."""
        for cell in cells:
            self._points_of[cell].add(point)
        if not cells:
            self._before[instead].add(point)

    def edges_across_nodes(self) -> None:
        """Add the edges of groups, stages and tasks of no group."""
        for task, earlier in self._graph.before.items():
            cells = self._of_group.get(task, ()) if self._graph.tasks[task].kind is Kind.GROUP else self._of(task)
            for before in earlier:
                is_member = task in self._graph.members.get(before, ())
                if not is_member and (self._placement.spans_nodes(before) or self._placement.spans_nodes(task)):
                    self._wait(cells, self._named[before], self._named[task])

    def _of(self, task: TaskId) -> Sequence[int]:
        return self._of_task.get(task, ())

    def edges_on_nodes(self) -> None:
        """Add the edges between the tasks of a class. They pass through skipped tasks, and so do edges to points.

        A point of a skipped task stands for what the task would have waited for on its nodes. Comes after all edges
        across nodes.
        """
        on_class: dict[int, list[TaskId]] = {}
        for task in sorted(self._placement.task_classes, key=self._graph.order.__getitem__):
            for number in self._placement.task_classes[task]:
                on_class.setdefault(number, []).append(task)
        instead: dict[TaskId, set[int]] = {}
        for number, tasks in on_class.items():
            nearest: dict[TaskId, tuple[set[int], set[int]]] = {}
            for task in tasks:
                known = [nearest[before] for before in self._graph.before[task] if before in nearest]
                cells, points = (
                    (set[int]().union(*sides) for sides in zip(*known, strict=True)) if known else (set(), set())
                )
                cell = self._index.get((task, number))
                if cell is None:
                    nearest[task] = cells, points | self._before[self._named[task]]
                    for name in (task, *self._graph.members.get(task, ())):
                        if name == task or number in self._placement.group_classes[name]:
                            instead.setdefault(name, set()).update(cells)
                else:
                    self._after[cell] |= cells
                    self._points_of[cell] |= points
                    nearest[task] = {cell}, set()
        for task, cells in instead.items():
            if not self._points[self._named[task]][2]:
                name, judge, _ = self._points[self._named[task]]
                self._points[self._named[task]] = name, judge, tuple(sorted(cells))

    def relations(self) -> None:
        """Add the edges of cross-depends and cross-depended-by."""
        for task in self._graph.tasks.values():
            for relation, forwards in (
                *((relation, False) for relation in task.depends),
                *((entry, True) for entry in task.depended_by),
            ):
                self._relation(task, relation, forwards=forwards)

    def _relation(self, task: Task, relation: Relation, *, forwards: bool) -> None:
        for link in self._placement.links(task, relation):
            if link.task == task.id:
                self._own_relation(task, link, forwards=forwards)
            elif link.classes is None and self._graph.tasks[link.task].kind is not Kind.STAGE:
                self._same_nodes(task.id, link.task, forwards=forwards)
            else:
                there = self._cells_on(link.task, link.classes)
                first, second = ((task.id, self._of(task.id)), (link.task, there))
                if not forwards:
                    first, second = second, first
                self._across(*first, *second)

    def _across(self, first: TaskId, cells: Sequence[int], second: TaskId, waiting: Sequence[int]) -> None:
        """Let cells of the second task wait for cells of the first."""
        point = self._named[first]
        if self._graph.tasks[first].kind is not Kind.STAGE and len(cells) < len(self._of(first)):
            point = self._point(first, Judge.TASK, cells)
        self._wait(waiting, point, self._named[second])

    def _cells_on(self, task: TaskId, classes: Iterable[int] | None) -> Sequence[int]:
        indexes = (self._index.get((task, number)) for number in classes or ())
        return [cell for cell in indexes if cell is not None]

    def _own_relation(self, task: Task, link: Link, *, forwards: bool) -> None:
        """Order the nodes of one task; a node does not wait for itself."""
        for there in link.classes or ():
            for here in self._placement.task_classes[task.id]:
                first, second = (here, there) if forwards else (there, here)
                waiting = self._cells_on(task.id, (second,))
                if here != there and waiting:
                    self._wait(waiting, self._point(task.id, Judge.TASK, self._cells_on(task.id, (first,))), 0)

    def _same_nodes(self, task: TaskId, other: TaskId, *, forwards: bool) -> None:
        first, second = (task, other) if forwards else (other, task)
        for number in self._placement.task_classes[first]:
            earlier, later = self._index.get((first, number)), self._index.get((second, number))
            if earlier is not None and later is not None:
                self._after[later].add(earlier)

    def requirements_on_other_nodes(self, ordering: Ordering, units: Sequence[Unit]) -> None:
        """Let a task in a group wait for a required task that its nodes do not have.

        Fuel orders such tasks by their groups alone. So where groups run the other way round, their order counts.
        """
        wanted = []
        for cell, (task, number) in enumerate(self._cells):
            if self._graph.tasks[task].by_task or not self._graph.members.get(task):
                continue
            for earlier in self._graph.before[task]:
                apart = number not in self._placement.task_classes.get(earlier, (number,))
                if apart and self._of(earlier) and not self._graph.tasks[earlier].by_task:
                    wanted.append((earlier, cell))
        before = {unit: set(earlier) for unit, earlier in ordering.before.items()}
        for earlier, cell in wanted:
            before[self._unit(cell)].update(set(map(self._unit, self._of(earlier))) - {self._unit(cell)})
        place = {unit: number for number, unit in enumerate(units)}
        free = len(sorted_units(before)) == len(before)
        for earlier, cell in wanted:
            if free or all(place[self._unit(other)] < place[self._unit(cell)] for other in self._of(earlier)):
                self._wait((cell,), self._named[earlier], 0)

    def _unit(self, cell: int) -> Unit:
        return self._unit_of[self._cells[cell]]

    def seed_stages(self, ordering: Ordering) -> None:
        """Let every task wait for the stage pre_deployment, and that of post_deployment for every task."""
        if ordering.after_pre:
            for cell in range(len(self._cells)):
                if self._unit(cell) in ordering.after_pre:
                    self._points_of[cell].add(self._named[PRE])
        if ordering.post:
            earlier = [cell for cell in range(len(self._cells)) if self._unit(cell) in ordering.before_post]
            point = self._point(TaskId("deployment"), Judge.OPEN, earlier)
            for cell in range(len(self._cells)):
                if self._unit(cell) in ordering.post:
                    self._points_of[cell].add(point)

    def windows(self) -> None:
        """Add how many nodes may be in a group, or run a task of its own strategy, at the same time."""
        for task, entry in self._graph.tasks.items():
            cells = self._of_group.get(task, ()) if entry.kind is Kind.GROUP else self._of(task)
            most = _most(entry.strategy)
            if cells and most is not None and (entry.kind is Kind.GROUP or self._unit(cells[0])[0] == task):
                self._windows.append(Window(tuple(cells), most))

    def flow(self) -> Flow:
        """Return the flow, without the points that no cell waits for or that wait for no cell."""
        kept = sorted(self._with_cells() & self._awaited())
        place = {point: number for number, point in enumerate(kept)}
        return Flow(
            tuple(self._placement.classes),
            tuple(
                Cell(
                    task,
                    number,
                    tuple(sorted(after)),
                    tuple(sorted(place[point_index] for point_index in points if point_index in place)),
                )
                for (task, number), after, points in zip(self._cells, self._after, self._points_of, strict=True)
            ),
            tuple(
                Point(
                    *self._points[number],
                    tuple(sorted(place[before] for before in self._before[number] if before in place)),
                )
                for number in kept
            ),
            tuple(self._windows),
            dict(self._placement.position),
        )

    def _with_cells(self) -> set[int]:
        after: dict[int, set[int]] = {}
        for number, before in enumerate(self._before):
            for cell in before:
                after.setdefault(cell, set()).add(number)
        return _reached((number for number, (_, _, cells) in enumerate(self._points) if cells), after)

    def _awaited(self) -> set[int]:
        return _reached(set[int]().union(*self._points_of), dict(enumerate(self._before)))


def _reached(starts: Iterable[int], following: Mapping[int, Collection[int]]) -> set[int]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for later in following.get(waiting.pop(), ()):
            if later not in reached:
                reached.add(later)
                waiting.append(later)
    return reached


def _most(strategy: Strategy) -> int | None:
    return 1 if strategy.order is Order.ONE_BY_ONE else strategy.amount
