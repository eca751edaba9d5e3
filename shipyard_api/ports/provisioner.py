"""The system that turns bare metal into running servers, such as Drydock, MAAS or Ironic.

``submit`` starts work, ``find`` finds it again, ``report`` polls it. Results are values; a peer that cannot answer
raises one of ``ports.errors``. ``capabilities`` lists what only some provisioners can do, and their limits.

Every method that does something with a machine reads that machine itself just before, and does it only if the work
still needs it: a listing may be older than what others, or the machine, have done since.

``tests/contract/test_provisioner_port.py`` holds every provisioner to these promises.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NewType, Protocol, TypeVar

import msgspec
from msgspec import Struct

from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.deploy_steps.templates import DeployStep, Runbook
from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.hardware.seen import Aspect, SeenNodes
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.provisioner_limits import NO_LIMITS, ProvisionerLimits
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.ports.errors import PeerError

JobId = NewType("JobId", str)
"""The provisioner's id of accepted work."""

Marker = NewType("Marker", str)
"""Our id of one intended effect; every attempt at the effect has the same."""


class Operation(Enum):
    """The operations of a provisioner; the values are Drydock's names for them, but for the last three.

    A rebuild installs the system disk of deployed nodes again, and leaves everything else as it is. A service runs
    steps on deployed nodes, which stay deployed. A power cycle switches deployed nodes off, without asking their
    operating system, and on again; it has succeeded once their power is on. A stop leaves no server off that it has
    switched off.
    """

    VERIFY_SITE = "verify_site"
    PREPARE_SITE = "prepare_site"
    PREPARE_NODES = "prepare_nodes"
    DEPLOY_NODES = "deploy_nodes"
    DESTROY_NODES = "destroy_nodes"
    RELABEL_NODES = "relabel_nodes"
    REBUILD_NODES = "rebuild_nodes"
    SERVICE_NODES = "service_nodes"
    POWER_CYCLE_NODES = "power_cycle_nodes"


class Wipe(Enum):
    """What a destroy erases (seed 004, Drydock Destroy Node)."""

    ALL = "all"
    OS_DISK_ONLY = "os_disk_only"


ReadBoards = Callable[[Collection[NodeName]], Mapping[NodeName, Mapping[str, str]]]
"""Reads values of the boards of nodes, by node and name."""


class ReadInventory(Protocol):
    """Reads what the provisioner has seen of the hardware of nodes, when it last inspected them."""

    def __call__(self, nodes: Collection[NodeName], aspects: frozenset[Aspect], /) -> SeenNodes:
        """Return the hardware of these nodes, at least in these aspects, or why nothing is known of a node.

        Sends at most ``MOST_REQUESTS`` requests: one list serves all nodes where the provisioner has one. What needs a
        request for each node is read of as many nodes as that leaves room for, and kept until they are inspected again;
        the others are left out, and the next call goes on with them. Raises ports.errors. Changes nothing.
        """


MOST_REQUESTS = 20
"""How many requests one reading of inventories sends."""


class Capabilities(Struct, frozen=True):
    """What a provisioner can do beyond the rest of the port, and its limits.

    ``aborts``: running work can be stopped. ``marks``: it stores our marker with the work, so ``find`` is certain and
    ``submit`` may be repeated. ``undeploys``: a preparation undeploys a node that has failed. ``selects``: the
    provisioner evaluates selectors. ``limits``: what it refuses.
    ``runbook``: reads a runbook of this name for these deployed nodes, None if there is none. ``bios``: reads the
    settings of these nodes' boards, each by its name; ``firmware``: the versions of their components. A node that has
    none, or is unknown, is left out. ``health``: returns why each node is unhealthy, an empty text for a healthy one; a
    node of unknown health is left out. ``inventory``: reads the hardware of nodes. All may raise ports.errors.
    """

    aborts: bool = False
    marks: bool = False
    undeploys: bool = False
    selects: bool = False
    limits: ProvisionerLimits = NO_LIMITS
    runbook: Callable[[str, Collection[NodeName]], Runbook | None] | None = None
    bios: ReadBoards | None = None
    firmware: ReadBoards | None = None
    health: Callable[[], Mapping[NodeName, str]] | None = None
    inventory: ReadInventory | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work: an operation on named nodes (never an empty set), or on the whole site (``nodes`` None).

    A node that is not in the design fails, and the others go on. A destroy of a node that the provisioner does not have
    may succeed.
    ``wipe`` applies to a destroy, and to a preparation that undeploys a failed node; a provisioner that does not
    preserve storage refuses anything but ALL.
    ``leaves`` applies to a destroy: its nodes are removed from the provisioner as well (seed 004), unless the settings
    keep them. Others stay, to be deployed again; a provisioner that finds a removed node by itself may remove it too.
    ``steps``: what templates ask for in the deployment of these nodes, by node: priority 0 disables a default step. The
    provisioner merges them with its default steps (seed 003), and refuses work with steps that it does not support. A
    service runs exactly these, in this order; a preparation runs them before the nodes are ready to be deployed.
    ``again``: the nodes with which reports interrupt the work and begin it once more, where the limits allow a retry;
    once in an action, by the peer's own record.
    ``fresh``: what a report says of the nodes must have been read for it, because something is done with them by it.
    """

    operation: Operation
    design: str
    nodes: tuple[NodeName, ...] | None = None
    wipe: Wipe = Wipe.ALL
    steps: Mapping[NodeName, Sequence[DeployStep]] = field(default_factory=dict, hash=False)
    again: frozenset[NodeName] = frozenset()
    fresh: bool = False
    leaves: bool = False


class JobState(Enum):
    """The state of accepted work."""

    QUEUED = "queued"
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"  # the provisioner no longer knows the job


class JobAhead(Struct, frozen=True):
    """The work that a queued job waits for; ``whose``: the user, or the group and action, that submitted it; ``does``:
    its operation and nodes.

    Empty texts: the peer does not say.
    """

    job: JobId
    whose: str = ""
    does: str = ""

    def __str__(self) -> str:
        """Return the job with its owner and its work, as part of a sentence."""
        known = ", ".join(part for part in (self.does, f"submitted by {self.whose}" if self.whose else "") if part)
        return f"job {self.job} ({known})" if known else f"job {self.job}"


class JobReport(Struct, frozen=True):
    """The provisioner's report on a job.

    ``succeeded`` and ``failed`` are disjoint and name only nodes of the work; while the job runs, they hold the nodes
    whose outcome is certain: other work may start on them. After ``ENDED``, every node that is not in ``succeeded`` has
    failed. Work on the whole site names no node. ``ok``: ended without any failure; never while the job runs.
    ``reasons``: why nodes failed; a node's reason contains its name. Every listed node has one whose preparation or
    deployment failed, once the job has ended. ``message``: about the job as a whole; work on the whole site that failed
    has one.
    ``LOST``: the provisioner does not know the job; its work may have been done.
    ``QUEUED``: accepted, and begun on no node, which only a provisioner with a queue of its own reports; ``ahead``:
    what the job waits for, if the peer says so.
    """

    job: JobId
    state: JobState
    ok: bool
    succeeded: frozenset[NodeName] = frozenset()
    failed: frozenset[NodeName] = frozenset()
    reasons: Mapping[NodeName, str] = msgspec.field(default_factory=dict)
    message: str = ""
    ahead: JobAhead | None = None


class EarlierWork(Struct, frozen=True):
    """Work on nodes that the provisioner was sent earlier, as it shows it.

    ``likely``: False if it is older than asked for, unless a clock is wrong that nothing measures.
    """

    job: JobId
    operation: Operation
    nodes: tuple[NodeName, ...]
    likely: bool = True


ORDER = (
    Operation.DESTROY_NODES,
    Operation.PREPARE_NODES,
    Operation.DEPLOY_NODES,
    Operation.REBUILD_NODES,
    Operation.SERVICE_NODES,
    Operation.POWER_CYCLE_NODES,
)
"""The order in which one action sends operations on a node, each once and only after the one before has succeeded."""


def goes_beyond(value: str, other: Operation) -> bool:
    """Return whether an operation, by its value, comes after the other on a node in one action."""
    values = [operation.value for operation in ORDER]
    return value in values and other in ORDER and values.index(value) > ORDER.index(other)


class Provisioner(Protocol):
    """A provisioner of one site."""

    @property
    def name(self) -> str:
        """The system's name, as operators know it (``Drydock``)."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do that not all provisioners can."""

    def check_health(self) -> None:
        """Return if the provisioner is healthy; raise Unavailable or Refused otherwise. Changes nothing."""

    def design_reference(self, revision: int) -> str:
        """Return the address under which the provisioner fetches the design of this revision; asks no peer.

        A provisioner that fetches nothing may use any text that is unique to the revision, such as ``revision:7``.
        """

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return the provisioner's findings on the design, all levels. Changes nothing; may be repeated.

        The source of each finding is the provisioner's ``name``. A good design has no error. A node name that the
        provisioner cannot take is a broken limit (``capabilities``) or an error here. Raises Refused for a design that
        cannot be read.
        """

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return, for each tuple of selectors, the names of the nodes it selects (seed 000, Selectors), in their order.

        An empty tuple selects every node, an unknown name none. ``domain.strategy.selectors`` does this for an
        inventory.

        A design the provisioner cannot read, or one without any node, raises Refused: an empty answer never means
        "nothing to do". Changes nothing; may be repeated.
        """

    def conditions(self) -> Sequence[ObservedMachine]:
        """Return every machine of the provisioner, ordered by name. Changes nothing; may be slow on large sites."""

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        """Return the deploy steps of each of these nodes that the provisioner knows, those of priority 0 too.

        Nodes that are alike share one value. Changes nothing; may be repeated.
        """

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Start the work and return the job; returns before it has ended.

        Repeatable only if the provisioner ``marks``: then each repetition returns the same job, also after its end, and
        starts nothing twice. Otherwise call ``find`` first after an unknown outcome. Raises Refused, having started
        nothing, for work that it cannot do: an empty set of nodes, an operation or a ``wipe`` that its limits exclude.
        """

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job that an earlier ``submit`` of this marker started, or None if there is none.

        A running job is found as well as an ended one, and work on the site as well as work on nodes. A job of another
        operation, of other nodes, or older than ``intended_at`` is never taken for this one.

        ``intended_at``: when the intent was written (our clock, UTC), before the first ``submit``. ``known``: jobs of
        our other intents, which a peer without markers could mistake for this one.
        """

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        """Return what the action of the marker has had done to nodes of this work, the oldest first.

        For an action whose records may be lost since then (our clock, UTC). ``known``: jobs that have a record. Where
        the provisioner stores no marker, work of the same design is taken for the action's. Changes nothing.
        """

    def report(self, job: JobId, work: Work) -> JobReport:
        """Return the report on the job; may be repeated, also concurrently, and also after the end of the job.

        ``work`` may name a part of the job's nodes; later work may have the others. A job that the provisioner does not
        know is LOST. Nodes with which the job's action has gone on, to a later operation, have succeeded, whatever they
        are now: the record of that may be lost.

        A provisioner that has jobs changes nothing here. One that has machines but no jobs also moves each machine of
        ``work`` to its next state, if it knows the job by its mark. It decides from the state and the marks that it has
        just read, so a repetition does no harm: a machine that has reached the end of the operation, or on which the
        action has begun a later one, stays as it is, and a stopped job starts nothing.
        """

    def reports(self, jobs: Mapping[JobId, Work]) -> "Reports":
        """Return the reports on these jobs, as ``report`` does for one; with one request for all if possible.

        A job without a report has an error instead. Raises only if every job has one.
        """

    def abort(self, job: JobId, work: Work) -> None:
        """Request that the work stops; parts that cannot stop continue, as ``report`` shows.

        A node that is stopped has failed; one that had ended keeps its outcome. May be repeated, also after the end.
        Raises Refused if the provisioner does not abort.
        """

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        """Switch the machines of this work off and on that the job still works on; return why not, of the others.

        Their job is neither ended nor started again by it. Not repeatable: each call is one power cycle. Called only if
        the limits say that it can; raises Refused otherwise.
        """


_Asked = TypeVar("_Asked")

Reports = Mapping[JobId, JobReport | PeerError]
"""The report on each of several jobs, or the error instead of it."""


def each_report(jobs: Mapping[JobId, _Asked], report: Callable[[JobId, _Asked], JobReport]) -> Reports:
    """Return the report on each job, or the error instead; raises the first error if there is nothing else."""
    reports: dict[JobId, JobReport | PeerError] = {}
    for job, work in jobs.items():
        try:
            reports[job] = report(job, work)
        except PeerError as error:
            reports[job] = error
    errors = [answer for answer in reports.values() if isinstance(answer, PeerError)]
    if errors and len(errors) == len(reports):
        raise errors[0]
    return reports
