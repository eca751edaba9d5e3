"""A provisioner in memory, for steps and use cases: scripted fates, a record of what was asked, failures on demand."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.drift.observations import MachineState, ObservedMachine
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.strategy.selectors import Selector, select
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import (
    Capabilities,
    EarlierWork,
    JobId,
    JobReport,
    JobState,
    Marker,
    Operation,
    Reports,
    Wipe,
    Work,
    each_report,
)


class Fate(Enum):
    """What becomes of a node, or of an operation on the whole site; the values are the operation it happens in."""

    FAILS_PREPARE = Operation.PREPARE_NODES.value
    FAILS_DEPLOY = Operation.DEPLOY_NODES.value
    HANGS_PREPARE = f"{Operation.PREPARE_NODES.value}: hangs"
    HANGS_DEPLOY = f"{Operation.DEPLOY_NODES.value}: hangs"


class Breakage(Enum):
    """When a call breaks: before it had any effect, or after, so that only the answer is lost."""

    BEFORE_EFFECT = "before"
    AFTER_EFFECT = "after"


@dataclass(frozen=True, slots=True)
class Submission:
    """One piece of work that was accepted."""

    job: JobId
    marker: Marker
    work: Work
    created: datetime


@dataclass
class FakeProvisioner:
    """A provisioner that does what its attributes say; every one may be changed at any time.

    ``fates``: nodes that do not succeed. ``site_failures``: operations on the whole site that fail, with the message.
    ``early``: nodes that are told as done while their job runs. ``running_reports``: how often a job is reported as
    queued, then running, before it has ended. ``findings``: what ``validate_design`` returns. ``readable``: whether the
    design can be read. ``supported``: the deploy steps of every node; ``deployed``: those shown as such.
    ``empty``: it knows no machine
    any more. ``failing``: raised by the next calls, first in first out, by name of the method.
    ``submissions`` is everything accepted, in order; of the jobs in ``mute`` nothing is told. ``finished`` are jobs
    whose end was reported, or the outcome of every node that was asked about.
    """

    nodes: Iterable[Node] = ()
    fates: dict[NodeName, Fate] = field(default_factory=dict)
    site_failures: dict[Operation, str] = field(default_factory=dict)
    running_reports: int = 0
    findings: tuple[Finding, ...] = ()
    readable: bool = True
    empty: bool = False
    deployed: frozenset[NodeName] = frozenset()
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    early: frozenset[NodeName] = frozenset()
    supported: SupportedSteps = SupportedSteps((), system="Fake")  # noqa: RUF009  # immutable
    name: str = "Fake"
    capabilities: Capabilities = Capabilities(selects=True, limits=ProvisionerLimits("Fake", preserves_storage=False))  # noqa: RUF009  # immutable
    submissions: list[Submission] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._inventory = Inventory.of(self.nodes)
        self._failing: dict[str, list[tuple[PeerError, Breakage]]] = {}
        self._reports: dict[JobId, int] = {}
        self._lost: set[JobId] = set()
        self.aborted: set[JobId] = set()
        self.power_cycled: list[NodeName] = []
        self.last_polled: Work | None = None
        self.mute: set[JobId] = set()
        self.finished: set[JobId] = set()

    # What tests do.

    def break_next(self, method: str, breakage: Breakage = Breakage.BEFORE_EFFECT, *, times: int = 1) -> None:
        """Let the next calls of the method raise Unavailable."""
        self.fail_next(method, Unavailable(self.name, method, "broken on purpose"), breakage, times=times)

    def fail_next(
        self, method: str, error: PeerError, breakage: Breakage = Breakage.BEFORE_EFFECT, *, times: int = 1
    ) -> None:
        """Let the next calls of the method raise this error."""
        self._failing.setdefault(method, []).extend([(error, breakage)] * times)

    def lose(self, job: JobId) -> None:
        """Forget a job, as a purged Drydock does."""
        self._lost.add(job)

    def sent(self, operation: Operation) -> list[NodeName]:
        """Return every node that was sent to this operation, as often as it was sent."""
        return [node for one in self.submissions if one.work.operation is operation for node in one.work.nodes or ()]

    # The port.

    def check_health(self) -> None:
        self._call("check_health")

    def design_reference(self, revision: int) -> str:
        return f"fake://design/{revision}"

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        self._call("validate_design")
        self._read(design, "validate_design")
        return self.findings

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        self._call("select_nodes")
        self._read(design, "select_nodes")
        if not self._inventory.nodes:
            raise Refused(self.name, "select_nodes", "the design names no node")
        return tuple(select(selectors, self._inventory) for selectors in groups)

    def conditions(self) -> Sequence[ObservedMachine]:
        self._call("conditions")
        states = dict.fromkeys(self.deployed, MachineState.DEPLOYED)
        names = () if self.empty else sorted(self._inventory.nodes)
        return [ObservedMachine(name, "Ready", "off", states.get(name, MachineState.UNKNOWN)) for name in names]

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        self._call("supported_steps")
        return {node: self.supported for node in nodes if node in self._inventory.nodes}

    def submit(self, marker: Marker, work: Work) -> JobId:
        lost_answer = self._call("submit")
        if work.nodes is not None and not work.nodes:
            raise Refused(self.name, "submit", "no node is named", marker=marker)
        if work.wipe is not Wipe.ALL and not self.capabilities.limits.preserves_storage:
            raise Refused(self.name, "submit", "it cannot leave disks alone", marker=marker)
        if work.operation is Operation.REBUILD_NODES and self.capabilities.limits.no_rebuild:
            raise Refused(self.name, "submit", self.capabilities.limits.no_rebuild, marker=marker)
        if work.operation is Operation.SERVICE_NODES:
            raise Refused(self.name, "submit", self.capabilities.limits.no_service, marker=marker)
        if work.operation is Operation.POWER_CYCLE_NODES and self.capabilities.limits.no_reboot:
            raise Refused(self.name, "submit", self.capabilities.limits.no_reboot, marker=marker)
        if work.operation is Operation.PREPARE_NODES and work.steps:
            raise Refused(self.name, "submit", self.capabilities.limits.no_clean, marker=marker)
        job = JobId(f"job-{len(self.submissions) + 1}")
        self.submissions.append(Submission(job, marker, work, self.now()))
        if lost_answer is not None:
            raise lost_answer
        return job

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        self._call("find")
        return [
            EarlierWork(one.job, one.work.operation, one.work.nodes)
            for one in self.submissions
            if one.work.nodes and set(one.work.nodes) & set(work.nodes or ())
            if one.work.design == work.design
            if one.created >= since
            if one.job not in self._lost and one.job not in known
        ]

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        self._call("find")
        jobs = (
            one.job
            for one in self.submissions
            if one.marker == marker
            and one.work == work
            and one.created >= intended_at
            and one.job not in self._lost
            and one.job not in known
        )
        return next(jobs, None)

    def reports(self, jobs: Mapping[JobId, Work]) -> Reports:
        self._call("report")
        self.last_polled = [*jobs.values()][-1] if jobs else None
        return each_report(jobs, self._report)

    def report(self, job: JobId, work: Work) -> JobReport:
        self._call("report")
        self.last_polled = work
        return self._report(job, work)

    def _report(self, job: JobId, work: Work) -> JobReport:
        report = self._report_now(job, work)
        settled = work.nodes is not None and set(work.nodes) <= report.succeeded | report.failed
        if report.state in (JobState.ENDED, JobState.LOST) or settled:
            self.finished.add(job)
        return report

    def _report_now(self, job: JobId, work: Work) -> JobReport:
        if job in self.mute:
            raise Unavailable(self.name, f"report {job}", "nobody answers for it")
        if job in self._lost or all(job != one.job for one in self.submissions):
            return JobReport(job, JobState.LOST, ok=False, message="no such job")
        seen = self._reports[job] = self._reports.get(job, 0) + 1
        if seen <= self.running_reports:
            return self._running_report(job, work, JobState.QUEUED if seen == 1 else JobState.RUNNING)
        if work.nodes is None:
            failure = self.site_failures.get(work.operation, "")
            return JobReport(job, JobState.ENDED, ok=not failure, message=failure)
        return self._nodes_report(job, work, frozenset(work.nodes))

    def abort(self, job: JobId, work: Work) -> None:
        self._call("abort")
        if not self.capabilities.aborts:
            raise Refused(self.name, f"abort {job}", "it cannot stop work")
        self.aborted.add(job)

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        self._call("power_cycle")
        if why := self.capabilities.limits.no_power_cycle:
            raise Refused(self.name, "power_cycle", why)
        self.power_cycled.extend(sorted(work.nodes or ()))
        return {}

    def _running_report(self, job: JobId, work: Work, state: JobState) -> JobReport:
        sent = frozenset(work.nodes or ()) & self.early if state is JobState.RUNNING else frozenset()
        failed = {node for node in sent if node in self.fates}
        return JobReport(job, state, ok=False, succeeded=sent - failed, failed=frozenset(failed))

    def _nodes_report(self, job: JobId, work: Work, sent: frozenset[NodeName]) -> JobReport:
        word = work.operation.value
        unknown = sent - self._inventory.nodes.keys()
        fates: Mapping[NodeName, Fate] = {node: self.fates[node] for node in sent if node in self.fates}
        failed = unknown | {node for node, fate in fates.items() if fate.value == word}
        hanging = {node for node, fate in fates.items() if fate.value == f"{word}: hangs"}
        if job in self.aborted:
            failed |= hanging
        elif hanging:
            return JobReport(job, JobState.RUNNING, ok=False, succeeded=sent - failed - hanging, failed=failed)
        reasons = {node: f"{node} failed to {word.partition('_')[0]}, as scripted" for node in failed}
        return JobReport(job, JobState.ENDED, ok=not failed, succeeded=sent - failed, failed=failed, reasons=reasons)

    def _read(self, design: str, operation: str) -> None:
        if not self.readable:
            raise Refused(self.name, operation, f"the design {design} cannot be read")

    def _call(self, method: str) -> PeerError | None:
        """Record the call; raise what is scripted for before the effect, return what is for after it."""
        self.calls.append(method)
        if not self._failing.get(method):
            return None
        error, breakage = self._failing[method].pop(0)
        if breakage is Breakage.BEFORE_EFFECT or method != "submit":
            raise error
        return error
