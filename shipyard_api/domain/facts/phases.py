"""Facts about the phases of a deployment group. A phase that is sent in parts has a fact for each batch."""

from typing import ClassVar

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId


class PhaseStarted(Fact, frozen=True):
    """The provisioner accepted the nodes of a move, as the job ``job``."""

    kind: ClassVar[str] = "phase_started"
    FIRST: ClassVar = ("group", "phase", "batch", "job")

    group: GroupName
    phase: Phase
    nodes: tuple[NodeName, ...]
    job: str
    batch: int = 1


class PhaseRunning(Fact, frozen=True):
    """The provisioner works on the move; before that the job was in its queue, which has its own limit."""

    kind: ClassVar[str] = "phase_running"

    group: GroupName
    phase: Phase
    batch: int = 1


class PhaseEnded(Fact, frozen=True):
    """The provisioner has finished a move, or Shipyard has stopped waiting for it."""

    kind: ClassVar[str] = "phase_ended"
    FIRST: ClassVar = ("group", "phase", "batch")

    group: GroupName
    phase: Phase
    status: PhaseStatus
    message: str = ""
    batch: int = 1


class JoinAwaited(Fact, frozen=True):
    """The provisioner has deployed these nodes; they count once they are ready in Kubernetes."""

    kind: ClassVar[str] = "join_awaited"
    FIRST: ClassVar = ("group", "batch")

    group: GroupName
    nodes: tuple[NodeName, ...]
    batch: int = 1


class AcceptanceAwaited(Fact, frozen=True):
    """These nodes are deployed; they count after this acceptance task and the following ones have passed."""

    kind: ClassVar[str] = "acceptance_awaited"
    FIRST: ClassVar = ("group", "task", "batch")

    group: GroupName
    task: TaskId
    nodes: tuple[NodeName, ...]
    batch: int = 1


FACTS: tuple[type[Fact], ...] = (PhaseStarted, PhaseRunning, PhaseEnded, JoinAwaited, AcceptanceAwaited)
