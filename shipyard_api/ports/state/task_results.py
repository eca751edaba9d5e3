"""Tasks of the software stage on nodes, as they went: rows that facts bring up to date."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

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
