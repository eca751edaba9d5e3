"""Facts about tasks of the software stage."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId


class TaskStatus(Enum):
    """The status of a task on a node. ``left``: it was running when its action was stopped, and goes on."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class NodeResult:
    """A task on a node as far as it has come.

    ``seconds``: how long it took; ``detail``: why it failed; ``tail``: the end of its output.
    """

    node: NodeName
    status: TaskStatus
    exit_status: int | None = None
    attempts: int = 0
    seconds: float = 0.0
    detail: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True)
class TaskChanged:
    """A task has begun or ended on nodes. ``marker``: under which the nodes know it."""

    kind: ClassVar[str] = "task_changed"
    version: ClassVar[int] = 1

    task: TaskId
    marker: str
    results: tuple[NodeResult, ...]

    def to_json(self) -> JsonObject:
        """Return the stored form; what a result leaves open is not written."""
        return {"task": self.task, "marker": self.marker, "results": [_to_json(one) for one in self.results]}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        task, marker = reading.text(stored, "task"), reading.text(stored, "marker")
        return cls(TaskId(task), marker, tuple(map(_from_json, reading.objects(stored, "results"))))


def _to_json(result: NodeResult) -> JsonObject:
    written: dict[str, Any] = {
        "exit_status": result.exit_status,
        "attempts": result.attempts,
        "seconds": result.seconds,
        "detail": result.detail,
        "tail": result.tail,
    }
    known = {name: value for name, value in written.items() if value or (name == "exit_status" and value is not None)}
    return {"node": result.node, "status": result.status.value, **known}


def _from_json(stored: JsonObject) -> NodeResult:
    return NodeResult(
        NodeName(reading.text(stored, "node")),
        reading.choice(TaskStatus, stored, "status"),
        reading.number(stored, "exit_status") if "exit_status" in stored else None,
        reading.number(stored, "attempts", 0),
        reading.seconds(stored, "seconds") if "seconds" in stored else 0.0,
        reading.text(stored, "detail", ""),
        reading.text(stored, "tail", ""),
    )


FACTS: tuple[type[Fact], ...] = (TaskChanged,)
