"""The results of tasks on nodes, read from their rows."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.state.task_results import TaskRecord
from shipyard_api.storage.software_tables import task_results

_MOST = 1000


class SqlTaskResults:
    """The ``TaskResults`` of one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def of(
        self, action: ActionId, *, node: str | None = None, task: str | None = None, after: tuple[str, str] = ("", "")
    ) -> Sequence[TaskRecord]:
        """Return a page of results."""
        rows = task_results.c
        query = sa.select(task_results).where(
            rows.action_id == action, sa.tuple_(rows.node, rows.task) > sa.tuple_(*after)
        )
        if node is not None:
            query = query.where(rows.node == node)
        if task is not None:
            query = query.where(rows.task == task)
        return [
            TaskRecord(
                ActionId(row.action_id),
                NodeName(row.node),
                TaskId(row.task),
                TaskStatus(row.status),
                row.marker,
                row.began_at,
                row.ended_at,
                row.exit_status,
                row.attempts,
                row.seconds,
                row.detail,
                row.tail,
            )
            for row in self._connection.execute(query.order_by(rows.node, rows.task).limit(_MOST))
        ]

    def counts(self, action: ActionId) -> Mapping[TaskId, Mapping[TaskStatus, int]]:
        """Return the counts by task and status."""
        rows = task_results.c
        query = sa.select(rows.task, rows.status, sa.func.count()).where(rows.action_id == action)
        found: dict[TaskId, dict[TaskStatus, int]] = {}
        for task, status, number in self._connection.execute(query.group_by(rows.task, rows.status)):
            found.setdefault(TaskId(task), {})[TaskStatus(status)] = number
        return found
