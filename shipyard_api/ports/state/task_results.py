"""Tasks of the software stage on nodes, as they went: rows that facts bring up to date."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task on a node in an action. ``marker``: under which the node knows it; the rest as in ``facts.software``."""

    action: ActionId
    node: NodeName
    task: TaskId
    status: TaskStatus
    marker: str
    began_at: datetime
    ended_at: datetime | None
    exit_status: int | None
    attempts: int
    seconds: float
    detail: str
    tail: str


class TaskResults(Protocol):
    """The results of tasks."""

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

    def on_node(self, node: str, *, before: ActionId | None, limit: int) -> Sequence[TaskRecord]:
        """Return all results of a node in its latest actions, newest first; ``before``: only in older ones."""

    def counts(self, action: ActionId) -> Mapping[TaskId, Mapping[TaskStatus, int]]:
        """Return how many nodes each task of an action has in each status."""

    def succeeded(self, action: ActionId) -> Collection[tuple[NodeName, TaskId]]:
        """Return each task that succeeded on a node, without its output."""

    def step_texts(self, action: ActionId) -> Sequence[str]:
        """Return the texts that the states of the action's steps keep unchanged (``workflow.step.Json``)."""
