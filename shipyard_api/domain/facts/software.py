"""Facts about tasks of the software stage."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar

from msgspec import Struct, to_builtins

from shipyard_api.domain.facts.fact import Fact, Number
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.tasks import TaskId


class TaskStatus(Enum):
    """The status of a task on a node. ``left``: it was running when its action was stopped, and goes on."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    LEFT = "left"


class NodeResult(Struct, frozen=True):
    """A task on a node as far as it has come.

    ``seconds``: its duration; ``detail``: why it failed; ``tail``: the end of its output.
    """

    node: NodeName
    status: TaskStatus
    exit_status: int | None = None
    attempts: int = 0
    seconds: Number = 0.0
    detail: str = ""
    tail: str = ""


class TaskChanged(Fact, frozen=True):
    """A task has begun or ended on nodes. ``marker``: under which the nodes know it."""

    kind: ClassVar[str] = "task_changed"

    task: TaskId
    marker: str
    results: tuple[NodeResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stored form; what a result leaves open is not written."""
        return {"task": self.task, "marker": self.marker, "results": [_known(result) for result in self.results]}


class SoftwareGiven(Fact, frozen=True):
    """All tasks of a run of the whole graph have succeeded on these nodes.

    The journal keeps how many nodes there are; ``given``, the digest of the software of each, is kept in their records.
    """

    kind: ClassVar[str] = "software_given"

    nodes: int
    given: Mapping[NodeName, str] = {}

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {"nodes": self.nodes}


def _known(result: NodeResult) -> dict[str, Any]:
    written: dict[str, Any] = to_builtins(result)
    return {key: value for key, value in written.items() if value or (key == "exit_status" and value is not None)}


FACTS: tuple[type[Fact], ...] = (TaskChanged, SoftwareGiven)
