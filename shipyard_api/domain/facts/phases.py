"""Facts about the phases of a deployment group. A phase that is sent in parts has a fact for each batch."""

from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """The provisioner accepted the nodes of a move, as the job ``job``."""

    kind: ClassVar[str] = "phase_started"
    version: ClassVar[int] = 1

    group: GroupName
    phase: Phase
    nodes: tuple[NodeName, ...]
    job: str
    batch: int = 1

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "group": self.group,
            "phase": self.phase.value,
            "batch": self.batch,
            "job": self.job,
            "nodes": list(self.nodes),
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            GroupName(reading.text(stored, "group")),
            reading.choice(Phase, stored, "phase"),
            reading.nodes(stored),
            reading.text(stored, "job"),
            reading.number(stored, "batch", 1),
        )


@dataclass(frozen=True, slots=True)
class PhaseRunning:
    """The provisioner works on the move; before that the job was in its queue, which has its own limit."""

    kind: ClassVar[str] = "phase_running"
    version: ClassVar[int] = 1

    group: GroupName
    phase: Phase
    batch: int = 1

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"group": self.group, "phase": self.phase.value, "batch": self.batch}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            GroupName(reading.text(stored, "group")),
            reading.choice(Phase, stored, "phase"),
            reading.number(stored, "batch", 1),
        )


@dataclass(frozen=True, slots=True)
class PhaseEnded:
    """The provisioner has finished a move, or Shipyard has stopped waiting for it."""

    kind: ClassVar[str] = "phase_ended"
    version: ClassVar[int] = 1

    group: GroupName
    phase: Phase
    status: PhaseStatus
    message: str = ""
    batch: int = 1

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "group": self.group,
            "phase": self.phase.value,
            "batch": self.batch,
            "status": self.status.value,
            "message": self.message,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            GroupName(reading.text(stored, "group")),
            reading.choice(Phase, stored, "phase"),
            reading.choice(PhaseStatus, stored, "status"),
            reading.text(stored, "message", ""),
            reading.number(stored, "batch", 1),
        )


@dataclass(frozen=True, slots=True)
class JoinAwaited:
    """The provisioner has deployed these nodes; they count once they are ready in Kubernetes."""

    kind: ClassVar[str] = "join_awaited"
    version: ClassVar[int] = 1

    group: GroupName
    nodes: tuple[NodeName, ...]
    batch: int = 1

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"group": self.group, "batch": self.batch, "nodes": list(self.nodes)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(GroupName(reading.text(stored, "group")), reading.nodes(stored), reading.number(stored, "batch", 1))


@dataclass(frozen=True, slots=True)
class AcceptanceAwaited:
    """These nodes are deployed; they count once they have passed this acceptance task, and those behind it."""

    kind: ClassVar[str] = "acceptance_awaited"
    version: ClassVar[int] = 1

    group: GroupName
    task: TaskId
    nodes: tuple[NodeName, ...]
    batch: int = 1

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"group": self.group, "task": self.task, "batch": self.batch, "nodes": list(self.nodes)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        group, task = GroupName(reading.text(stored, "group")), TaskId(reading.text(stored, "task"))
        return cls(group, task, reading.nodes(stored), reading.number(stored, "batch", 1))


FACTS: tuple[type[Fact], ...] = (PhaseStarted, PhaseRunning, PhaseEnded, JoinAwaited, AcceptanceAwaited)
