"""Facts about jobs of the provisioner, other than the phases of groups."""

from typing import Any, ClassVar, Self

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName


class JobStarted(Fact, frozen=True):
    """The provisioner accepted work on the site as a whole, as the job ``job``."""

    kind: ClassVar[str] = "job_started"

    operation: str
    job: str

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact; the first lines of the kind had no operation."""
        return super().from_json({"operation": "", **stored})


class WorkLeftBehind(Fact, frozen=True):
    """Shipyard stopped waiting for a job that may go on; ``nodes`` is None for work on the whole site.

    ``design``, the address of the design, may hold a password. The row of the straggler keeps it and the journal does
    not, so it is empty in a fact that was read from there.
    """

    kind: ClassVar[str] = "work_left_behind"

    operation: str
    job: str
    design: str
    nodes: tuple[NodeName, ...] | None
    why: str

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {key: value for key, value in super().to_json().items() if key != "design"}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        return super().from_json({**stored, "design": ""})


class LateResult(Fact, frozen=True):
    """A job that had been left behind has ended; ``state`` is the provisioner's last word on it."""

    kind: ClassVar[str] = "late"

    job: str
    operation: str
    state: str
    succeeded: tuple[NodeName, ...] = ()
    failed: tuple[NodeName, ...] = ()
    message: str = ""


FACTS: tuple[type[Fact], ...] = (JobStarted, WorkLeftBehind, LateResult)
