"""Carry out a plan: which task may begin on which nodes when others have ended (seed 001; fuel-task-graph, 4).

A node that failed a task runs nothing more. Whether others go on is a question of tolerance: every group counts its
failed nodes, and a task of no group tolerates none. Tasks that are under way end by themselves in any case.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.fault_tolerance import nodes_that_may_fail
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.plan import Plan, Run
from shipyard_api.domain.task_graph.tasks import TaskId

MOST_NODES = 50
"""The most nodes of one piece of work (contract, 4.1: ``max_nodes_per_call``)."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Limit:
    """How many nodes of a group may fail; ``most`` None: all of them."""

    group: TaskId
    nodes: frozenset[NodeName]
    most: int | None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the failure of a node means.

    ``limits``: of groups. ``strict``: tasks of no group, whose failure ends the run. ``ignored``: tasks with
    ``fail_on_error: false``, after whose failure a node goes on.
    """

    limits: tuple[Limit, ...] = ()
    strict: frozenset[TaskId] = frozenset()
    ignored: frozenset[TaskId] = frozenset()

    @classmethod
    def of(cls, graph: TaskGraph, plan: Plan) -> "Rules":
        """Return the rules of a graph and its plan."""
        limits = tuple(
            Limit(group, frozenset(nodes), nodes_that_may_fail(graph.tasks[group].fault_tolerance, len(nodes)))
            for group, nodes in plan.groups.items()
            if nodes
        )
        tasks = [task for task in graph.tasks.values() if task.runs]
        strict = frozenset(task.id for task in tasks if not task.by_task and task.id not in graph.members)
        return cls(limits, strict, frozenset(task.id for task in tasks if not task.fail_on_error))


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a piece of work in its plan, by index. ``position``: of its task among those of the run."""

    batch: int
    run: int
    chunk: int
    position: int

    def __str__(self) -> str:
        return f"{self.batch}.{self.run}.{self.chunk}.{self.position}"

    @classmethod
    def parse(cls, written: str) -> "Place":
        """Return a place from its text."""
        return cls(*map(int, written.split(".")))


@dataclass(frozen=True, slots=True)
class Piece:
    """One task on up to ``MOST_NODES`` nodes, in the order of the plan."""

    place: Place
    task: TaskId
    nodes: tuple[NodeName, ...]


@dataclass(frozen=True, slots=True)
class Execution:
    """A run of a plan. ``batch``: the current one, -1 before the first. ``open``: pieces under way.

    ``failed``: why each failed node failed. ``stopped``: why nothing begins any more.
    """

    batches: tuple[tuple[Run, ...], ...]
    rules: Rules
    batch: int = -1
    open: frozenset[Place] = frozenset()
    failed: Mapping[NodeName, str] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing is under way and nothing may begin."""
        return not self.open and (self.stopped is not None or self.batch >= len(self.batches))

    def advance(
        self, ended: Iterable[tuple[Place, Mapping[NodeName, str]]] = ()
    ) -> tuple["Execution", tuple[Piece, ...]]:
        """Return the execution after these pieces ended, each with the nodes that failed and why, and what may begin.

        The pieces returned are under way from then on. Called with none to begin.
        """
        failed, open_places, over = dict(self.failed), set(self.open), []
        stopped = self.stopped
        for place, failures in ended:
            open_places.discard(place)
            over.append(place)
            task = self._run(place).tasks[place.position]
            if task in self.rules.ignored or not failures:
                continue
            for node, why in failures.items():
                failed.setdefault(node, f"{task}: {why}")
            stopped = stopped or self._reason_to_stop(task, failures, failed)
        after = replace(self, open=frozenset(open_places), failed=failed, stopped=stopped)
        if stopped is not None:
            return after, ()
        pieces = [piece for place in over if (piece := after._following(place)) is not None]
        after = replace(after, open=after.open.union(piece.place for piece in pieces))
        while not after.open and after.batch < len(after.batches):
            after = replace(after, batch=after.batch + 1)
            pieces = list(after._first_pieces())
            after = replace(after, open=frozenset(piece.place for piece in pieces))
        return after, tuple(pieces)

    def nodes_at(self, place: Place) -> tuple[NodeName, ...]:
        """Return the nodes of a place that have not failed."""
        chunk = self._run(place).nodes[place.chunk * MOST_NODES : (place.chunk + 1) * MOST_NODES]
        return tuple(node for node in chunk if node not in self.failed)

    def _run(self, place: Place) -> Run:
        return self.batches[place.batch][place.run]

    def _first_pieces(self) -> Iterable[Piece]:
        """Return the first task of each chunk of the current batch."""
        if self.batch >= len(self.batches):
            return
        for number, run in enumerate(self.batches[self.batch]):
            for chunk in range(-(-len(run.nodes) // MOST_NODES)):
                piece = self._piece(Place(self.batch, number, chunk, 0))
                if piece is not None:
                    yield piece

    def _following(self, place: Place) -> Piece | None:
        if place.position + 1 == len(self._run(place).tasks):
            return None
        return self._piece(replace(place, position=place.position + 1))

    def _piece(self, place: Place) -> Piece | None:
        """Return the piece at a place, None if no node is left for it."""
        run = self._run(place)
        nodes = self.nodes_at(place)
        return Piece(place, run.tasks[place.position], nodes) if nodes and run.tasks else None

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


def _listed(nodes: Sequence[NodeName]) -> str:
    return ", ".join(nodes[:_SHOWN]) + (f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else "")
