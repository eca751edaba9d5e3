"""Tasks of the software stage on nodes, as they went: rows that facts bring up to date."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.json_types import JsonObject
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


@dataclass(frozen=True, slots=True)
class TaskMatrix:
    """All results of an action: ``tasks`` in the order in which they first began, and for each node, by name, a letter
    for each of them, as ``MATRIX_LETTERS`` has it; NOT_BEGUN where there is no result.
    """

    tasks: Sequence[TaskId]
    letters: Mapping[NodeName, str]


MATRIX_LETTERS = {
    TaskStatus.RUNNING: "r",
    TaskStatus.SUCCESS: "s",
    TaskStatus.FAILED: "f",
    TaskStatus.LEFT: "l",
}
NOT_BEGUN = "-"


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

    def matrix(self, action: ActionId) -> TaskMatrix:
        """Return how each task of an action went on each node, without anything else."""

    def succeeded(self, action: ActionId) -> Collection[tuple[NodeName, TaskId]]:
        """Return each task that succeeded on a node, without its output."""

    def step_states(self, action: ActionId) -> Sequence[tuple[JsonObject, str]]:
        """Return the states of the action's steps that have a fixed text: the rest of the state, and this text."""

    def step_texts(self, action: ActionId) -> Sequence[str]:
        """Return the texts that the states of the action's steps keep unchanged (``workflow.step.Json``)."""
