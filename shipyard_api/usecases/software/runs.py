"""Run tasks on chosen nodes, and show such runs (seed 001, CLI; contract: fuel-task-graph, 5.2 and 12)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.software_steps import SOFTWARE
from shipyard_api.actions.steps.software.software_stage import reasons
from shipyard_api.actions.update_software import UPDATE_SOFTWARE
from shipyard_api.domain.actions import ActionId, StepState
from shipyard_api.domain.findings import error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.errors import InvalidTaskQuery, RunNotFound
from shipyard_api.domain.task_graph.graph import TaskGraph, stage_name
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.tasks import TaskId, parse_tasks
from shipyard_api.ports.state.actions import ActionFilters, ActionRecord, StepRecord
from shipyard_api.ports.state.software import TaskRecord
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.agreed_plan import ALONE, Agreement
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.software.nodes import SoftwareNodes
from shipyard_api.usecases.software.owners import cluster_of
from shipyard_api.usecases.software.run_states import progress_of, state_of_run

_RUNS = ActionFilters(names=(UPDATE_SOFTWARE.name,))


class Run(Struct, frozen=True):
    """An action update_software, with its number among all of them.

    ``progress``: percent of its tasks on nodes that have ended. ``message``: the outcome, or the nodes that failed so
    far, each with its reason.
    """

    number: int
    action: ActionRecord
    progress: int = 0
    message: str = ""


class TaskOfRun(Struct, frozen=True):
    """A task of a run on a node, which has this id; ``record``: None before it begins.

    ``ended``: it never will, and ``why``.
    """

    node: int
    task: TaskId
    record: TaskRecord | None = None
    ended: bool = False
    why: str = ""


class RunTasks(Struct, frozen=True):
    """The use cases."""

    store: Store
    nodes: SoftwareNodes
    create: CreateAction

    def start(
        self,
        cluster: int,
        *,
        nodes: Sequence[str] | None,
        tasks: Sequence[str] | None,
        caller: Caller,
        noop: bool,
        agreement: Agreement = ALONE,
    ) -> Run:
        """Create the action that runs tasks on nodes; None: all of them. ``nodes`` are ids or names.

        ``noop``: tasks only show what they would do.

        Raises OwnerNotFound, NodesNotInSite, InvalidTaskQuery, and as ``CreateAction``.
        """
        known = self.store.read(lambda tx: cluster_of(tx.software, cluster)).layer.tasks
        graph = TaskGraph.of(parse_tasks(known))
        if unknown := [name for name in tasks or () if stage_name(name, graph.tasks) not in graph.tasks]:
            text = f"Tasks {','.join(unknown)} are not present in deployment graph"
            raise InvalidTaskQuery([error("UnknownTask", text)])
        parameters: Mapping[str, object] = {
            **({} if nodes is None else {"nodes": [str(node.name) for node in self.nodes.named(nodes)]}),
            **({} if tasks is None else {"tasks": list(tasks)}),
            **({"noop": True} if noop else {}),
        }
        request = ActionRequest(UPDATE_SOFTWARE.name, dict(parameters), None, agreement=agreement)
        action = self.create(request, caller).action
        return next(run for run in self.store.read(_numbered) if run.action.id == action.id)

    def all(self) -> Sequence[Run]:
        """Return all runs in order of creation."""
        return self.store.read(lambda tx: _described(tx, _numbered(tx)))

    def one(self, number: int) -> Run:
        """Return a run by its number; raises RunNotFound."""
        return self.store.read(lambda tx: _described(tx, [_one(tx, number)]))[0]

    def history(self, number: int) -> Iterator[TaskOfRun]:
        """Yield each task of a run on each node, by node and task; then, in the order of the plan, those that have not
        begun: they are pending, or skipped once the run has ended. Raises RunNotFound.
        """
        action = self.store.read(lambda tx: _one(tx, number)).action
        ids = {node.name: node.id for node in self.store.read(lambda tx: tx.software.nodes(SITE))}
        begun: set[tuple[NodeName, TaskId]] = set()
        after = ("", "")
        while records := self.store.read(partial(_results, action.id, after)):
            yield from (TaskOfRun(ids.get(record.node, 0), record.task, record) for record in records)
            begun.update((record.node, record.task) for record in records)
            after = (records[-1].node, records[-1].task)
        state = self.store.read(lambda tx: state_of_run(tx, action.id))
        if state is None:
            return
        execution = state.execution
        why = {**execution.unmet(), **execution.failed}
        for node, task in state.software.tasks:
            if (node, task) not in begun:
                reason = why.get(node, execution.stopped or "")
                yield TaskOfRun(ids.get(node, 0), task, ended=action.ended_at is not None, why=reason)


def _results(action: ActionId, after: tuple[str, str], tx: Transaction) -> Sequence[TaskRecord]:
    return tx.task_results.of(action, after=after)


def _one(tx: Transaction, number: int) -> Run:
    runs = _numbered(tx)
    if not 0 < number <= len(runs):
        raise RunNotFound()
    return runs[number - 1]


def _described(tx: Transaction, runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs with their progress and messages."""
    steps = tx.actions.steps([run.action.id for run in runs])
    return [_with_message(tx, run, steps[run.action.id]) for run in runs]


def _with_message(tx: Transaction, run: Run, steps: Sequence[StepRecord]) -> Run:
    if run.action.ended_at:
        failed = [step for step in steps if step.state is StepState.FAILED]
        ended = failed or [step for step in steps if step.id == SOFTWARE]
        return replace(run, progress=100, message="; ".join(step.detail for step in ended if step.detail))
    state = state_of_run(tx, run.action.id)
    if state is None:
        return run
    return replace(run, progress=progress_of(state), message=reasons(state.failed, state.execution.unmet()))


def _numbered(tx: Transaction) -> Sequence[Run]:
    return [Run(number, action) for number, action in enumerate(tx.actions.matching(_RUNS), 1)]
