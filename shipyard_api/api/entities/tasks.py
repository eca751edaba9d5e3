"""Tasks of the software stage on nodes."""

from typing import Annotated

from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.types import DateTime, Natural, described, one_of
from shipyard_api.domain.facts import software

TaskStatus = Annotated[str, one_of(software.TaskStatus, "TaskStatus")]


class TaskTotals(Entity):
    """On how many nodes a task has each status."""

    task: str
    running: Natural
    success: Natural
    failed: Natural
    left: Natural


class TaskResult(Entity, kw_only=True):
    """A task on a node.

    ``exit_status``: Of the last attempt; null without one. ``seconds``: How long it took, by the clock of the node.
    ``detail``: Why it failed. ``tail``: The end of the output.
    """

    node: str
    task: str
    status: TaskStatus
    exit_status: int | None
    attempts: Natural
    seconds: Annotated[float, described(minimum=0)]
    began_at: DateTime
    ended_at: DateTime | None
    detail: str
    tail: str


class TaskOfNode(TaskResult, kw_only=True, rename={"action": "action_id"}):
    """A task on a node in one of its actions."""

    action: str
