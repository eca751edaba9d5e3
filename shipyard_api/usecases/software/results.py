"""Show the tasks of actions on nodes: outcome and output (product, section 7)."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from shipyard_api.actions.steps.acceptance import Acceptance
from shipyard_api.actions.steps.software.state import StageSoftware, TaskOnNodes
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import ActionNotFound, NodesOutOfReach, OutputNotKept, TaskResultNotFound
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Output, RemoteTasks
from shipyard_api.ports.state.software import TaskMatrix, TaskRecord
from shipyard_api.storage.unit_of_work import Store, Transaction


class TaskPage(Struct, frozen=True):
    """A page of results, by node and task, and the counts of all tasks of the action, by task and status."""

    records: Sequence[TaskRecord]
    counts: Mapping[TaskId, Mapping[TaskStatus, int]]
    matrix: TaskMatrix | None = None


class ReadTaskResults(Struct, frozen=True):
    """The use cases; they change nothing. ``remote``: None where no SSH is configured."""

    store: Store
    remote: RemoteTasks | None

    def page(
        self,
        action: str,
        *,
        node: str | None,
        task: str | None,
        status: Collection[TaskStatus],
        after: tuple[str, str],
        limit: int,
        matrix: bool = False,
    ) -> TaskPage:
        """Return a page of an action; with ``matrix``, all of its results, too. Raises ActionNotFound."""

        def read(tx: Transaction) -> TaskPage:
            action_id = _action(tx, action)
            records = tx.task_results.of(action_id, node=node, task=task, status=status, after=after, limit=limit)
            return TaskPage(
                records, tx.task_results.counts(action_id), tx.task_results.matrix(action_id) if matrix else None
            )

        return self.store.read(read)

    def on_node(self, node: str, *, before: ActionId | None, limit: int) -> Sequence[TaskRecord]:
        """Return the results of a node in its latest actions, newest first; ``limit``: how many actions."""
        return self.store.read(lambda tx: tx.task_results.on_node(node, before=before, limit=limit))

    def output(self, action: str, task: str, node: str, *, offset: int, limit: int) -> tuple[TaskRecord, Output]:
        """Return a part of the full output, read from the node, with the result as it is.

        Raises ActionNotFound, TaskResultNotFound, NodesOutOfReach, OutputNotKept, and ports.errors.
        """

        def read(tx: Transaction) -> tuple[TaskRecord | None, TaskOnNodes | None]:
            action_id = _action(tx, action)
            record = next(iter(tx.task_results.of(action_id, node=node, task=task)), None)
            return record, _work(tx, action_id, record) if record else None

        record, work = self.store.read(read)
        if record is None:
            raise TaskResultNotFound(action, task, node)
        if self.remote is None:
            raise NodesOutOfReach()
        host = next((candidate for candidate in work.hosts if candidate.name == node), None) if work else None
        if work is None or host is None:
            raise OutputNotKept(action, task, node)
        output = self.remote.output(Marker(record.marker), host, secrets=work.secrets, offset=offset, limit=limit)
        if output is None:
            raise OutputNotKept(action, task, node)
        return record, output


def _work(tx: Transaction, action: ActionId, record: TaskRecord) -> TaskOnNodes | None:
    """Return what ran: a task of the software stage, or an acceptance task of a group."""
    texts = tx.task_results.step_texts(action)
    planned = StageSoftware.find(texts)
    if planned and record.task in planned.documents and record.node in planned.hosts:
        work = planned.work(action, record.task, (record.node,))
        if work.marker == record.marker:
            return work
    accepted = Acceptance.find(texts)
    return accepted.of(record.task, record.node, record.marker) if accepted else None


def _action(tx: Transaction, action: str) -> ActionId:
    if tx.actions.get(ActionId(action)) is None:
        raise ActionNotFound(action)
    return ActionId(action)
