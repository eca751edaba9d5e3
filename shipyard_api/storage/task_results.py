"""The results of tasks on nodes, read from their rows."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.state.software import MATRIX_LETTERS, NOT_BEGUN, TaskMatrix, TaskRecord
from shipyard_api.storage import tables
from shipyard_api.storage.rows import record
from shipyard_api.storage.site_tables import task_results


class TaskResults:
    """The results of tasks."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def of(
        self,
        action: ActionId,
        *,
        node: str | None = None,
        task: str | None = None,
        status: Collection[TaskStatus] = (),
        after: tuple[str, str] = ("", ""),
        limit: int = 1000,
    ) -> Sequence[TaskRecord]:
        """Return results of an action by node and task, from after this node and task on. Empty filters match all."""
        rows = task_results.c
        query = sa.select(task_results).where(
            rows.action_id == action, sa.tuple_(rows.node, rows.task) > sa.tuple_(*after)
        )
        if node is not None:
            query = query.where(rows.node == node)
        if task is not None:
            query = query.where(rows.task == task)
        if status:
            query = query.where(rows.status.in_([choice.value for choice in status]))
        return self._records(query.order_by(rows.node, rows.task).limit(limit))

    def on_node(self, node: str, *, before: ActionId | None, limit: int) -> Sequence[TaskRecord]:
        """Return all results of a node in its ``limit`` latest actions, newest first; ``before``: only older ones."""
        rows = task_results.c
        actions = sa.select(rows.action_id).where(rows.node == node).distinct()
        if before is not None:
            actions = actions.where(rows.action_id < before)
        newest = actions.order_by(rows.action_id.desc()).limit(limit)
        query = sa.select(task_results).where(rows.node == node, rows.action_id.in_(newest.scalar_subquery()))
        return self._records(query.order_by(rows.action_id.desc(), rows.began_at, rows.task))

    def counts(self, action: ActionId) -> Mapping[TaskId, Mapping[TaskStatus, int]]:
        """Return how many nodes each task of an action has in each status."""
        rows = task_results.c
        query = sa.select(rows.task, rows.status, sa.func.count()).where(rows.action_id == action)
        counts: dict[TaskId, dict[TaskStatus, int]] = {}
        for task, status, number in self._connection.execute(query.group_by(rows.task, rows.status)):
            counts.setdefault(TaskId(task), {})[TaskStatus(status)] = number
        return counts

    def matrix(self, action: ActionId) -> TaskMatrix:
        """Return how each task of an action went on each node, without anything else.

        The database joins the letters, so that a row is a node.
        """
        rows = task_results.c
        of_action = rows.action_id == action
        place = sa.func.row_number().over(order_by=(sa.func.min(rows.began_at), rows.task)).label("place")
        order = sa.select(rows.task, place).where(of_action).group_by(rows.task).subquery()
        tasks = [
            TaskId(task) for task in self._connection.execute(sa.select(order.c.task).order_by(order.c.place)).scalars()
        ]
        letter = sa.case(*((rows.status == status.value, sign) for status, sign in MATRIX_LETTERS.items()))
        query = sa.select(rows.node, sa.func.array_agg(order.c.place), sa.func.string_agg(letter, ""))
        query = query.join_from(task_results, order, order.c.task == rows.task).where(of_action)
        statuses = {}
        for node, places, letters in self._connection.execute(query.group_by(rows.node).order_by(rows.node)):
            line = [NOT_BEGUN] * len(tasks)
            for at, sign in zip(places, letters, strict=True):
                line[at - 1] = sign
            statuses[NodeName(node)] = "".join(line)
        return TaskMatrix(tasks, statuses)

    def succeeded(self, action: ActionId) -> Collection[tuple[NodeName, TaskId]]:
        """Return each task that succeeded on a node, without its output."""
        rows = task_results.c
        query = sa.select(rows.node, rows.task).where(rows.action_id == action, rows.status == TaskStatus.SUCCESS.value)
        return frozenset((NodeName(node), TaskId(task)) for node, task in self._connection.execute(query))

    def step_states(self, action: ActionId) -> Sequence[tuple[JsonObject, str]]:
        """Return the states of the action's steps that have a fixed text: the rest of the state, and this text."""
        steps = tables.steps.c
        query = sa.select(steps.memory, steps.fixed).where(steps.action_id == action, steps.fixed.is_not(None))
        return [(row.memory, row.fixed) for row in self._connection.execute(query)]

    def step_texts(self, action: ActionId) -> Sequence[str]:
        """Return the texts that the states of the action's steps keep unchanged (``workflow.step.Json``)."""
        steps = tables.steps.c
        query = sa.select(steps.fixed).where(steps.action_id == action, steps.fixed.is_not(None))
        return list(self._connection.execute(query).scalars())

    def _records(self, query: sa.Select[Any]) -> Sequence[TaskRecord]:
        return [record(TaskRecord, row) for row in self._connection.execute(query)]
