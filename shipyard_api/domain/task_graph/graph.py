"""The graph over tasks, groups and stages, and the tasks of a stage (seed 001; contract: fuel-task-graph, 3.1)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shipyard_api.domain.graphs import in_order
from shipyard_api.domain.task_graph.patterns import compile_pattern, is_pattern
from shipyard_api.domain.task_graph.tasks import DEPLOY, STAGES, Kind, Task, TaskId

_LONGEST_SHOWN = 30
_ALIASES = {"deployment": DEPLOY, DEPLOY: TaskId("deployment")}


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """Tasks by id in the order of the document, and what must be done before each.

    ``before``: the direct predecessors of each id, over all edges. ``members``: the groups that a task is in.
    ``order``: position of each id in one topological order; unrelated ids keep the order of the document.
    """

    tasks: Mapping[TaskId, Task]
    before: Mapping[TaskId, frozenset[TaskId]]
    members: Mapping[TaskId, tuple[TaskId, ...]]
    order: Mapping[TaskId, int] = field(repr=False)

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> "TaskGraph":
        """Build the graph of tasks that passed ``check_tasks``; references to unknown ids are ignored."""
        by_id = with_stages(tasks)
        references = References(by_id)
        before = edges(by_id.values(), references)
        members = memberships(by_id.values(), references)
        return cls(
            by_id,
            {task: frozenset(earlier) for task, earlier in before.items()},
            {task: tuple(groups) for task, groups in members.items()},
            {task: position for position, task in enumerate(in_order(before))},
        )

    def after(self) -> dict[TaskId, set[TaskId]]:
        """Return the direct successors of each id."""
        following: dict[TaskId, set[TaskId]] = {task: set() for task in self.tasks}
        for task, earlier in self.before.items():
            for before in earlier:
                following[before].add(task)
        return following


MOST_MATCHING = 2_000_000
"""How many states of expressions are looked at for one graph, or for the nodes of one run: half a second's work."""


class TooMuchMatching(Exception):
    """The expressions of a graph take too long to match."""


class References:
    """Finds what a name in the document refers to: an id, an alias of a stage, or an expression over ids."""

    def __init__(self, tasks: Mapping[TaskId, Task]) -> None:
        self._tasks = tasks
        self._found: dict[str, tuple[TaskId, ...]] = {}
        self._work = 0

    def find(self, name: str) -> tuple[TaskId, ...]:
        """Return the ids that a name refers to; empty if there are none. Raises PatternError and TooMuchMatching."""
        if name not in self._found:
            self._found[name] = self._resolve(name)
        return self._found[name]

    def _resolve(self, name: str) -> tuple[TaskId, ...]:
        if is_pattern(name):
            pattern = compile_pattern(name)
            edges = []
            for task in self._tasks:
                matches, work = pattern.match(task)
                self._work += work
                if self._work > MOST_MATCHING:
                    raise TooMuchMatching
                if matches:
                    edges.append(task)
            return tuple(edges)
        known = stage_name(name, self._tasks)
        return (known,) if known in self._tasks else ()


def stage_name(name: str, tasks: Collection[TaskId]) -> TaskId:
    """Return the id that a name means: ``deploy`` and ``deployment`` are the same stage."""
    if name not in tasks and _ALIASES.get(name) in tasks:
        return _ALIASES[name]
    return TaskId(name)


def edges(tasks: Iterable[Task], references: References) -> dict[TaskId, dict[TaskId, str]]:
    """Return the direct predecessors of each id, with the field that says so. An expression never means its own task.

    A task precedes its groups: a group ends when all its tasks have ended.
    """
    entries = tuple(tasks)
    before: dict[TaskId, dict[TaskId, str]] = {task.id: {} for task in entries}
    for task in entries:
        for name in task.requires:
            for target in references.find(name):
                if target != task.id or not is_pattern(name):
                    before[task.id].setdefault(target, "requires")
        for name in task.required_for if task.stage is None else (*task.required_for, task.stage):
            for target in references.find(name):
                if target != task.id or not is_pattern(name):
                    before[target].setdefault(task.id, "required_for")
    for member, groups in memberships(entries, references).items():
        for group in groups:
            before[group].setdefault(member, "groups")
    return before


def memberships(tasks: Iterable[Task], references: References) -> dict[TaskId, list[TaskId]]:
    """Return the groups of each task in a group: from its ``groups``, and from the ``tasks`` of the groups."""
    entries = tuple(tasks)
    kinds = {task.id: task.kind for task in entries}
    groups_of: dict[TaskId, list[TaskId]] = {}
    for task in entries:
        if task.kind is Kind.STAGE:
            continue
        if task.kind is Kind.GROUP:
            pairs = [(member, task.id) for name in task.tasks for member in references.find(name)]
        else:
            pairs = [(task.id, group) for name in task.groups for group in references.find(name)]
        for member, group in pairs:
            if kinds[group] is Kind.GROUP and kinds[member] not in (Kind.GROUP, Kind.STAGE):
                groups = groups_of.setdefault(member, [])
                if group not in groups:
                    groups.append(group)
    return groups_of


def cycle_text(path: Sequence[str]) -> str:
    """Return a cycle for a message; for a long cycle, beginning and end."""
    if len(path) > _LONGEST_SHOWN:
        half = _LONGEST_SHOWN // 2
        path = [*path[:half], f"({len(path) - 2 * half} more)", *path[-half:]]
    return " -> ".join(path)


def with_stages(tasks: Iterable[Task]) -> dict[TaskId, Task]:
    """Return the tasks by id, with the stages of the seed that they name without declaring them."""
    by_id = {task.id: task for task in tasks}
    named = {
        stage_name(name, by_id)
        for task in by_id.values()
        for name in (*task.requires, *task.required_for, *(() if task.stage is None else (task.stage,)))
    }
    named |= {DEPLOY} & {_ALIASES.get(name, name) for name in named - by_id.keys()}
    return {**by_id, **{stage: Task(stage, Kind.STAGE) for stage in STAGES if stage in named - by_id.keys()}}


TEST_STAGE = TaskId("test")
"""Its tasks run in ``test_site`` only (product, section 7)."""


def tasks_of_stage(graph: TaskGraph, stage: TaskId) -> frozenset[TaskId]:
    """Return the tasks of a stage: tasks that name the stage in ``stage``, and the direct requirements of the stage."""
    named = {task.id for task in graph.tasks.values() if task.stage == stage}
    named |= graph.before.get(stage, frozenset())
    return frozenset(task for task in named if graph.tasks[task].kind not in (Kind.STAGE, Kind.GROUP))
