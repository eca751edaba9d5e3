"""The system that turns bare metal into running servers: Drydock today, MAAS and Ironic behind the same port.

Work is started by ``submit`` and found again by ``find``, looked at with ``report``. Results are values; a peer that
cannot answer raises one of ``ports.errors``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NewType, Protocol

from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.selectors import Selector

JobId = NewType("JobId", str)
"""The provisioner's own id of work that it accepted."""

Marker = NewType("Marker", str)
"""Our id of one intended effect: the same for every attempt to bring that effect about."""


class Operation(Enum):
    """What a provisioner can be asked to do; the values are Drydock's words, kept as ours."""

    VERIFY_SITE = "verify_site"
    PREPARE_SITE = "prepare_site"
    PREPARE_NODES = "prepare_nodes"
    DEPLOY_NODES = "deploy_nodes"


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work: an operation on named nodes (never an empty set), or on the whole site (``nodes`` None)."""

    operation: Operation
    design: str
    nodes: tuple[NodeName, ...] | None = None


class JobState(Enum):
    """How far accepted work has come."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"  # the provisioner no longer knows the job


@dataclass(frozen=True, slots=True)
class JobReport:
    """What the provisioner says of a job.

    ``succeeded`` and ``failed`` are disjoint and name only nodes of the work; while the job runs they hold what is
    already certain. After ``ENDED`` every node that is not in ``succeeded`` has failed. ``ok``: it has ended, nothing
    failed. ``reasons`` explains failed nodes where the peer gave a reason; ``message`` the job as a whole.
    """

    job: JobId
    state: JobState
    ok: bool
    succeeded: frozenset[NodeName] = frozenset()
    failed: frozenset[NodeName] = frozenset()
    reasons: Mapping[NodeName, str] = field(default_factory=dict)
    message: str = ""


class Provisioner(Protocol):
    """A provisioner of one site."""

    @property
    def name(self) -> str:
        """The system's name, as operators know it (``Drydock``)."""

    def check_health(self) -> None:
        """Return if the provisioner answers that it is healthy; raise Unavailable or Refused otherwise."""

    def design_reference(self, revision: int) -> str:
        """Return the address under which the provisioner fetches the design of this revision."""

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return what the provisioner finds in the design, all levels. Changes nothing; may be repeated."""

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return, for each tuple of selectors, the names of the nodes it selects (seed 000, Selectors).

        A design the provisioner cannot read, or one without any node, raises Refused: an empty answer never means
        "nothing to do". Changes nothing; may be repeated.
        """

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Start the work and return the job. Not repeatable: after an unknown outcome, ask ``find`` first."""

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job that an earlier ``submit`` of this marker started, or None if there is none.

        ``intended_at``: when (our clock, UTC) the intent was written, before the first ``submit``. ``known``: jobs that
        belong to other intents of ours; a peer without markers would take the same work of an earlier action for this.
        """

    def report(self, job: JobId, work: Work) -> JobReport:
        """Return how the job stands. Changes nothing; may be repeated."""
