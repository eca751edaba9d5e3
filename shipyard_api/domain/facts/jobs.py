"""Facts about jobs of the provisioner, other than the phases of groups."""

from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName


@dataclass(frozen=True, slots=True)
class JobStarted:
    """The provisioner accepted work on the site as a whole, as the job ``job``."""

    kind: ClassVar[str] = "job_started"
    version: ClassVar[int] = 1

    operation: str
    job: str

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {"operation": self.operation, "job": self.job}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(reading.text(stored, "operation", ""), reading.text(stored, "job"))


@dataclass(frozen=True, slots=True)
class WorkLeftBehind:
    """Shipyard stopped waiting for a job that may go on; ``nodes`` is None for work on the whole site.

    ``design``, the address of the design, may hold a password. The row of the straggler keeps it and the journal does
    not, so it is empty in a fact that was read from there.
    """

    kind: ClassVar[str] = "work_left_behind"
    version: ClassVar[int] = 1

    operation: str
    job: str
    design: str
    nodes: tuple[NodeName, ...] | None
    why: str

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        nodes = None if self.nodes is None else list(self.nodes)
        return {"operation": self.operation, "job": self.job, "nodes": nodes, "why": self.why}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            reading.text(stored, "operation"),
            reading.text(stored, "job"),
            "",
            None if stored.get("nodes") is None else reading.nodes(stored),
            reading.text(stored, "why"),
        )


@dataclass(frozen=True, slots=True)
class LateResult:
    """A job that had been left behind has ended; ``state`` is the provisioner's last word on it."""

    kind: ClassVar[str] = "late"
    version: ClassVar[int] = 1

    job: str
    operation: str
    state: str
    succeeded: tuple[NodeName, ...] = ()
    failed: tuple[NodeName, ...] = ()
    message: str = ""

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        return {
            "job": self.job,
            "operation": self.operation,
            "state": self.state,
            "succeeded": list(self.succeeded),
            "failed": list(self.failed),
            "message": self.message,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return cls(
            reading.text(stored, "job"),
            reading.text(stored, "operation"),
            reading.text(stored, "state"),
            reading.nodes(stored, "succeeded"),
            reading.nodes(stored, "failed"),
            reading.text(stored, "message", ""),
        )


FACTS: tuple[type[Fact], ...] = (JobStarted, WorkLeftBehind, LateResult)
