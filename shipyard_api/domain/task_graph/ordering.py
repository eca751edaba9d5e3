"""The graph across nodes: which unit of a run waits for which (contract: fuel-task-graph, 3.3 and 3.5).

Edges join tasks on whole classes of nodes, never single nodes, so the graph does not grow with the site. Nodes of a
class are alike; therefore this graph has a cycle exactly if the graph over single nodes has one.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from shipyard_api.domain.task_graph.graph import stage_name
from shipyard_api.domain.task_graph.placement import Link, Placement, Unit
from shipyard_api.domain.task_graph.tasks import POST, PRE, Kind, Relation, Task, TaskId

JOIN = TaskId("")
"""The task of a unit that only collects edges."""


class Ordering(Struct, frozen=True):
    """``before``: the units that each unit waits for. ``waiting_for_itself``: tasks on several nodes that do.

    ``after_pre``: the units that wait for the stage pre_deployment of the seed; ``post``: the units of the stage
    post_deployment, and ``before_post`` the units that these wait for.
    """

    before: Mapping[Unit, frozenset[Unit]]
    waiting_for_itself: tuple[TaskId, ...] = ()
    after_pre: frozenset[Unit] = frozenset()
    before_post: frozenset[Unit] = frozenset()
    post: frozenset[Unit] = frozenset()


def order_units(placement: Placement) -> Ordering:
    """Return the edges between all units of a run."""
    builder = _Builder(placement)
    builder.plain_edges()
    builder.edges_within_classes()
    builder.relations()
    builder.seed_stages()
    before = {unit: frozenset(units) for unit, units in builder.before.items()}
    return Ordering(
        before,
        tuple(dict.fromkeys(builder.waiting_for_itself)),
        frozenset(builder.after_pre),
        frozenset(builder.before_post),
        frozenset(builder.post),
    )


def sorted_units(before: Mapping[Unit, Collection[Unit]]) -> list[Unit]:
    """Return the units, each after all that it waits for. Units that wait for each other, or for these, are missing.

    A graph of networkx takes three times as long to build and to sort, and 400,000 edges need a second then.
    """
    missing = {unit: len(earlier) for unit, earlier in before.items()}
    after: dict[Unit, list[Unit]] = {unit: [] for unit in before}
    for unit, earlier in before.items():
        for unit_before in earlier:
            after[unit_before].append(unit)
    ready = [unit for unit, count in missing.items() if not count]
    for unit in ready:
        for later in after[unit]:
            missing[later] -= 1
            if not missing[later]:
                ready.append(later)
    return ready


class _Builder:
    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._graph = placement.graph
        self._joins = 0
        self.waiting_for_itself: list[TaskId] = []
        self.after_pre: set[Unit] = set()
        self.before_post: set[Unit] = set()
        self.post: set[Unit] = set()
        self.before: dict[Unit, set[Unit]] = {
            unit: set() for task in self._graph.tasks for unit in placement.all_units(task)
        }

    def plain_edges(self) -> None:
        """Add the edges of groups, stages and tasks of no group: they hold across nodes."""
        for task, earlier in self._graph.before.items():
            for task_before in earlier:
                if task in self._graph.members.get(task_before, ()):
                    self._edges(self._members(task_before, task), ((task, None),))
                elif self._placement.spans_nodes(task_before) or self._placement.spans_nodes(task):
                    self._edges(self._placement.all_units(task_before), self._placement.all_units(task))

    def _members(self, task: TaskId, group: TaskId) -> list[Unit]:
        """Return the units of a task that a group waits for, apart from those inside the group itself."""
        numbers = set(self._placement.task_classes[task]) & set(self._placement.group_classes[group])
        return [unit for number in numbers for unit in self._placement.units(task, number) if unit[0] == task]

    def edges_within_classes(self) -> None:
        """Add the edges that only order what runs on the same node."""
        on_class: dict[int, list[TaskId]] = {}
        for task in sorted(self._placement.task_classes, key=self._graph.order.__getitem__):
            for number in self._placement.task_classes[task]:
                on_class.setdefault(number, []).append(task)
        for number, tasks in on_class.items():
            self._edges_within(number, tasks)

    def _edges_within(self, number: int, tasks: list[TaskId]) -> None:
        """Order the tasks on one class of nodes.

        Inside a group its tasks follow the order of the graph. Of two tasks in different groups, the group of the
        earlier one runs first, unless they share a group.
        """
        bit = {task: 1 << place for place, task in enumerate(tasks)}
        ancestors: dict[TaskId, int] = {}
        units = {task: self._placement.units(task, number) for task in tasks}
        for task in tasks:
            mask = 0
            for task_before in self._graph.before[task]:
                if task_before not in bit:
                    continue
                mask |= ancestors[task_before] | bit[task_before]
                if not (self._is_grouped(task_before, units) and self._is_grouped(task, units)):
                    self._edges(units[task_before], units[task])
            ancestors[task] = mask
        together: dict[tuple[Unit, ...], tuple[int, int]] = {}
        for task in tasks:
            if self._is_grouped(task, units):
                members, earlier = together.get(units[task], (0, 0))
                together[units[task]] = (members | bit[task], earlier | ancestors[task])
        for groups, (_, earlier) in together.items():
            for others, (members, _) in together.items():
                if earlier & members and set(groups).isdisjoint(others):
                    self._edges(others, groups)

    def _is_grouped(self, task: TaskId, units: Mapping[TaskId, tuple[Unit, ...]]) -> bool:
        return units[task][0][0] != task

    def relations(self) -> None:
        """Add the edges of cross-depends and cross-depended-by, through one join for each relation."""
        for task in self._graph.tasks.values():
            for relation in task.depends:
                self._relation(task, relation, forwards=False)
            for relation in task.depended_by:
                self._relation(task, relation, forwards=True)

    def _relation(self, task: Task, relation: Relation, *, forwards: bool) -> None:
        for link in self._placement.links(task, relation):
            if link.task == task.id:
                self._own_relation(task, link, forwards=forwards)
            elif link.classes is None:
                self._same_nodes(task, link.task, forwards=forwards)
            else:
                there = [unit for number in link.classes for unit in self._placement.units(link.task, number)]
                here = self._placement.all_units(task.id)
                if there and here:
                    first, second = (here, there) if forwards else (there, here)
                    join: Unit = (JOIN, self._joins)
                    self._joins += 1
                    self.before[join] = set()
                    self._edges(first, (join,))
                    self._edges((join,), second)

    def _same_nodes(self, task: Task, other: TaskId, *, forwards: bool) -> None:
        """Order two tasks on the same nodes; a stage is a point in time for all of them."""
        if self._graph.tasks[other].kind is Kind.STAGE:
            pairs = [(self._placement.all_units(other), self._placement.all_units(task.id))]
        else:
            pairs = [
                (self._placement.units(other, number), self._placement.units(task.id, number))
                for number in self._placement.task_classes[task.id]
                if number in self._placement.task_classes[other]
            ]
        for there, here in pairs:
            self._edges(*((here, there) if forwards else (there, here)))

    def _own_relation(self, task: Task, link: Link, *, forwards: bool) -> None:
        """Order the nodes of one task: all wait for some of them. A node does not wait for itself."""
        if link.classes is None:
            return
        for there in link.classes:
            if len(self._placement.classes[there]) > 1:
                self.waiting_for_itself.append(task.id)
            for here in self._placement.task_classes[task.id]:
                if here != there:
                    first, second = (here, there) if forwards else (there, here)
                    self._edges(self._placement.units(task.id, first), self._placement.units(task.id, second))

    def seed_stages(self) -> None:
        """Order the tasks of the stages of the seed: pre_deployment before all others, post_deployment after them."""
        in_stage: dict[TaskId, set[Unit]] = {PRE: set(), POST: set()}
        for task in self._graph.tasks.values():
            if task.stage in in_stage:
                in_stage[stage_name(task.stage, in_stage)].update(self._placement.all_units(task.id))
        if in_stage[PRE]:
            earlier = self._reachable({(PRE, None)}, self.before)
            self.after_pre = {unit for unit in self.before if unit not in earlier}
            self._edges(((PRE, None),), self.after_pre)
        if in_stage[POST]:
            after: dict[Unit, set[Unit]] = {unit: set() for unit in self.before}
            for unit, units in self.before.items():
                for unit_before in units:
                    after[unit_before].add(unit)
            later = self._reachable(in_stage[POST], after)
            join: Unit = (JOIN, self._joins)
            self._joins += 1
            self.before[join] = set()
            self.before_post, self.post = {unit for unit in after if unit not in later}, in_stage[POST]
            self._edges(self.before_post, (join,))
            self._edges((join,), self.post)

    def _edges(self, first: Iterable[Unit], second: Iterable[Unit]) -> None:
        earlier = set(first)
        for unit in second:
            self.before[unit] |= earlier

    @staticmethod
    def _reachable(starts: set[Unit], following: Mapping[Unit, set[Unit]]) -> set[Unit]:
        reached, waiting = set(starts), list(starts)
        while waiting:
            for other in following[waiting.pop()] - reached:
                reached.add(other)
                waiting.append(other)
        return reached
