"""The system that turns bare metal into running servers: Drydock, MAAS or Ironic.

Work is started by ``submit`` and found again by ``find``, looked at with ``report``. Results are values; a peer that
cannot answer raises one of ``ports.errors``. What not all of them can do is among their ``capabilities``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NewType, Protocol

from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.selectors import Selector
from shipyard_api.ports.errors import PeerError

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
    DESTROY_NODES = "destroy_nodes"


class Wipe(Enum):
    """What a destroy erases (seed 004, Drydock Destroy Node)."""

    ALL = "all"
    OS_DISK_ONLY = "os_disk_only"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provisioner can do beyond the rest of the port.

    ``aborts``: running work can be stopped. ``marks``: our marker is kept with the work, so that ``find`` is certain
    and ``submit`` may be repeated. ``preserves_storage``: a destroy can leave all but the disk of the operating system
    alone. ``deploy_steps``: it takes ordered steps for the deployment of a node. ``selects``: it evaluates selectors
    itself.
    """

    aborts: bool = False
    marks: bool = False
    preserves_storage: bool = False
    deploy_steps: bool = False
    selects: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work: an operation on named nodes (never an empty set), or on the whole site (``nodes`` None).

    ``wipe`` counts for a destroy only; a provisioner that does not preserve storage refuses anything but ALL.
    """

    operation: Operation
    design: str
    nodes: tuple[NodeName, ...] | None = None
    wipe: Wipe = Wipe.ALL


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """How the provisioner sees a machine at this moment, in its own words; ``power`` is on, off or unknown."""

    name: str
    status: str
    power: str


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

    @property
    def capabilities(self) -> Capabilities:
        """What it can do that not all of them can."""

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

    def conditions(self) -> Sequence[NodeCondition]:
        """Return every machine that the provisioner knows, by name. Changes nothing; may be slow on large sites."""

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Start the work and return the job.

        Repeatable only where the provisioner ``marks``: after an unknown outcome, ask ``find`` first. Raises Refused
        for work that it cannot do, and then has started nothing.
        """

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job that an earlier ``submit`` of this marker started, or None if there is none.

        ``intended_at``: when (our clock, UTC) the intent was written, before the first ``submit``. ``known``: jobs that
        belong to other intents of ours; a peer without markers would take the same work of an earlier action for this.
        """

    def report(self, job: JobId, work: Work) -> JobReport:
        """Return how the job stands; may be repeated, also by two at once.

        Where the provisioner knows machines and no jobs, this is also what brings each machine of the work on to its
        next state: what to do is decided from the state that was just read, so that a repetition does no harm.
        """

    def reports(self, jobs: Mapping[JobId, Work]) -> "Reports":
        """Return how these jobs stand, as ``report`` does for one; with one question for all where the peer answers so.

        The work of a job may name only those of its nodes that are still of interest: the others may have been given
        to later work meanwhile. For a job of which nothing could be learnt there is the error instead; raises only if
        there is nothing else.
        """

    def abort(self, job: JobId, work: Work) -> None:
        """Ask for the work to be stopped; what can no longer be stopped goes on, and ``report`` tells.

        May be repeated. Raises Refused where the provisioner does not abort.
        """


Reports = Mapping[JobId, JobReport | PeerError]
"""How each of several jobs stands, or why that could not be learnt."""


def each_report(jobs: Mapping[JobId, Work], report: Callable[[JobId, Work], JobReport]) -> Reports:
    """Return the report on each job, or the error instead; raises the first error if there is nothing else."""
    told: dict[JobId, JobReport | PeerError] = {}
    for job, work in jobs.items():
        try:
            told[job] = report(job, work)
        except PeerError as error:
            told[job] = error
    troubles = [one for one in told.values() if isinstance(one, PeerError)]
    if troubles and len(troubles) == len(told):
        raise troubles[0]
    return told
