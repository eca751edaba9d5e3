"""Run tasks on chosen nodes, and show such runs (seed 001, CLI; contract: fuel-task-graph, 5.2 and 12)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.findings import error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.errors import InvalidTaskQuery, RunNotFound
from shipyard_api.domain.task_graph.graph import TaskGraph, stage_name
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.tasks import TaskId, parse_tasks
from shipyard_api.ports.state.actions import ActionFilters, ActionRecord
from shipyard_api.ports.state.store import Store, Transaction
from shipyard_api.ports.state.task_results import TaskRecord
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers.caller import Caller
from shipyard_api.usecases.software.nodes import SoftwareNodes
from shipyard_api.usecases.software.owners import cluster_of

_RUNS = ActionFilters(names=(ActionName.UPDATE_SOFTWARE,))


@dataclass(frozen=True, slots=True)
class Run:
    """An action update_software, with its number among all of them."""

    number: int
    action: ActionRecord


@dataclass(frozen=True, slots=True)
class TaskOfRun:
    """A task of a run on a node, which has this id; ``record``: None before it begins. ``ended``: it never will."""

    node: int
    task: TaskId
    record: TaskRecord | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class RunTasks:
    """The use cases."""

    store: Store
    nodes: SoftwareNodes
    create: CreateAction

    def start(self, cluster: int, *, nodes: Sequence[str] | None, tasks: Sequence[str] | None, caller: Caller) -> Run:
        """Create the action that runs tasks on nodes; None: all of them. ``nodes`` are ids or names.

        Raises OwnerNotFound, NodesNotInSite, InvalidTaskQuery, and as ``CreateAction``.
        """
        known = self.store.read(lambda tx: cluster_of(tx.software, cluster)).layer.tasks
        graph = TaskGraph.of(parse_tasks(known))
        if unknown := [one for one in tasks or () if stage_name(one, graph.tasks) not in graph.tasks]:
            text = f"Tasks {','.join(unknown)} are not present in deployment graph"
            raise InvalidTaskQuery([error("UnknownTask", text)])
        parameters: Mapping[str, object] = {
            **({} if nodes is None else {"nodes": [str(node.name) for node in self.nodes.named(nodes)]}),
            **({} if tasks is None else {"tasks": list(tasks)}),
        }
        request = ActionRequest(ActionName.UPDATE_SOFTWARE, dict(parameters), None)
        made = self.create(request, caller).action
        return next(run for run in self.all() if run.action.id == made.id)

    def all(self) -> Sequence[Run]:
        """Return all runs in order of creation."""
        return self.store.read(_numbered)

    def one(self, number: int) -> Run:
        """Return a run by its number; raises RunNotFound."""
        found = self.all()
        if not 0 < number <= len(found):
            raise RunNotFound(number)
        return found[number - 1]

    def history(self, number: int) -> Iterator[TaskOfRun]:
        """Yield each task of a run on each node, by node and task; then, in the order of the plan, those that have not
        begun: they are pending, or skipped once the run has ended. Raises RunNotFound.
        """
        action = self.one(number).action
        ids = {node.name: node.id for node in self.store.read(lambda tx: tx.software.nodes(SITE))}
        begun: set[tuple[NodeName, TaskId]] = set()
        after = ("", "")
        while found := self.store.read(partial(_results, action.id, after)):
            yield from (TaskOfRun(ids.get(one.node, 0), one.task, one) for one in found)
            begun.update((one.node, one.task) for one in found)
            after = (found[-1].node, found[-1].task)
        texts = self.store.read(lambda tx: tx.task_results.step_texts(action.id))
        planned = StageSoftware.find(texts)
        for node, task in planned.tasks if planned else ():
            if (node, task) not in begun:
                yield TaskOfRun(ids.get(node, 0), task, ended=action.ended_at is not None)


def _results(action: ActionId, after: tuple[str, str], tx: Transaction) -> Sequence[TaskRecord]:
    return tx.task_results.of(action, after=after)


def _numbered(tx: Transaction) -> Sequence[Run]:
    return [Run(number, action) for number, action in enumerate(tx.actions.matching(_RUNS), 1)]
