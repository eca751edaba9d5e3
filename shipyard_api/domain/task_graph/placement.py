"""Where each task of a run is placed: in its groups, or by itself (contract: fuel-task-graph, 2 and 3.3)."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.graph import References, TaskGraph
from shipyard_api.domain.task_graph.roles import Classes, ClusterNode, Primaries
from shipyard_api.domain.task_graph.tasks import Domain, Kind, Reach, Relation, Selector, Task, TaskId

Unit = tuple[TaskId, int | None]
"""A unit of scheduling: a group, a stage or a task on all its nodes (None), or a task on one class of nodes."""


class Link(Struct, frozen=True):
    """A relation, resolved: ``task`` on the nodes of ``classes``; None for the same nodes, or for a stage."""

    task: TaskId
    classes: tuple[int, ...] | None


class Placement:
    """Tasks on classes of nodes. Groups of a task's own version order it; from version 2 on its own edges do."""

    def __init__(self, graph: TaskGraph, nodes: Sequence[ClusterNode], primaries: Primaries) -> None:
        self.graph = graph
        self.position: Mapping[NodeName, int] = {node.name: number for number, node in enumerate(nodes)}
        self._references = References(graph.tasks)
        self._by_id = {task: Selector(Domain.ROLES, (task,)) for task in graph.tasks}
        self._nodes = Classes(self._selectors(), nodes, primaries)
        self.group_classes: dict[TaskId, tuple[int, ...]] = {}
        self.task_classes: dict[TaskId, tuple[int, ...]] = {}
        self._resolve()
        chosen = {
            (task.id, relation): self._choose(relation)
            for task in graph.tasks.values()
            for relation in (*task.depends, *task.depended_by)
            if relation.any_node and isinstance(relation.nodes, Selector)
        }
        self._chosen: dict[tuple[TaskId, Relation], dict[TaskId, int]] = {}
        for key, picks in chosen.items():
            self._chosen[key] = {name: self._split(node) for name, node in picks.items()}
        if chosen:
            self._resolve()

    @property
    def classes(self) -> Sequence[tuple[NodeName, ...]]:
        """The nodes of each class."""
        return [known.nodes for known in self._nodes.classes]

    def units(self, task: TaskId, number: int) -> tuple[Unit, ...]:
        """Return where a task that is on a class of nodes is scheduled there."""
        groups = self.graph.members.get(task, ())
        if not self.graph.tasks[task].by_task:
            inside = tuple((group, None) for group in groups if number in self.group_classes[group])
            return inside or ((task, None),)
        return ((task, number),)

    def all_units(self, task: TaskId) -> tuple[Unit, ...]:
        """Return all units of a task.

        A unit that spans nodes stays one unit, even without nodes: it still orders its parents and children.
        """
        if self.spans_nodes(task):
            return ((task, None),)
        return tuple(dict.fromkeys(unit for number in self.task_classes[task] for unit in self.units(task, number)))

    def spans_nodes(self, task: TaskId) -> bool:
        """Return whether the plain dependencies of an id hold across nodes: groups, stages, tasks of no group."""
        entry = self.graph.tasks[task]
        if entry.kind in (Kind.GROUP, Kind.STAGE):
            return True
        return not entry.by_task and not self.graph.members.get(task)

    def links(self, task: Task, relation: Relation) -> Iterator[Link]:
        """Return the tasks and stages that a relation of a task means, each with the nodes where it means them.

        A relation never means a group: in real graphs, tasks name themselves so and are in a group of that name.
        """
        for name in self._references.find(relation.name):
            kind = self.graph.tasks[name].kind
            if kind is Kind.STAGE or (kind is not Kind.GROUP and relation.nodes is Reach.SELF):
                yield Link(name, None)
            elif kind is Kind.GROUP:
                continue
            elif isinstance(relation.nodes, Selector):
                picks = self._chosen.get((task.id, relation))
                if picks is None:
                    yield Link(name, self._matching(name, relation.nodes))
                elif name in picks:
                    yield Link(name, (picks[name],))

    def _selectors(self) -> Iterator[Selector]:
        for task in self.graph.tasks.values():
            yield self._selector(task)
            if task.wanted_by is not None:
                yield task.wanted_by
            for relation in (*task.depends, *task.depended_by):
                if isinstance(relation.nodes, Selector):
                    yield relation.nodes

    def _selector(self, task: Task) -> Selector:
        """Return what places a task that no group places: its tags, its role, else its id as a role (seed 001)."""
        if task.tags is not None:
            return task.tags
        return task.role if task.role is not None else self._by_id[task.id]

    def _resolve(self) -> None:
        tasks = self.graph.tasks.values()
        self.group_classes = {task.id: self._matched(self._selector(task)) for task in tasks if task.kind is Kind.GROUP}
        self.task_classes = {task.id: self._placed(task) for task in tasks if task.kind not in (Kind.GROUP, Kind.STAGE)}

    def _placed(self, task: Task) -> tuple[int, ...]:
        groups = self.graph.members.get(task.id, ())
        # Seed 002: a group with tags adds its tasks to the nodes with these tags, and takes none away.
        adding = {
            group
            for group in groups
            if self.graph.tasks[group].tags is not None and task.id in self.graph.tasks[group].tasks
        }
        if task.tags is not None:
            groups = tuple(adding)
        numbers = {number for group in groups for number in self.group_classes[group]}
        has_role = task.role is not None or not adding
        if task.tags is not None or (adding.issuperset(groups) and not task.groups and has_role):
            numbers.update(self._matched(self._selector(task)))
        if task.wanted_by is not None:
            numbers.update(self._matched(task.wanted_by))
        return tuple(sorted(numbers))

    def _matched(self, selector: Selector) -> tuple[int, ...]:
        return tuple(number for number in range(len(self._nodes.classes)) if self._nodes.selects(selector, number))

    def _matching(self, task: TaskId, selector: Selector) -> tuple[int, ...]:
        return tuple(number for number in self.task_classes[task] if self._nodes.selects(selector, number))

    def _choose(self, relation: Relation) -> dict[TaskId, NodeName]:
        """Return the one node that is enough, for each task: the first in the order given."""
        chosen = {}
        for name in self._references.find(relation.name):
            if name in self.task_classes and isinstance(relation.nodes, Selector):
                representatives = [self.classes[number][0] for number in self._matching(name, relation.nodes)]
                if representatives:
                    chosen[name] = min(representatives, key=lambda node: self.position.get(node, -1))
        return chosen

    def _split(self, node: NodeName) -> int:
        number = next(number for number, nodes in enumerate(self.classes) if node in nodes)
        return self._nodes.split(number, node)
