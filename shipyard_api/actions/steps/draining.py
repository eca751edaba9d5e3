"""A provisioner that also drains nodes in their cluster, and lets pods run on nodes again that it has serviced."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shipyard_api.actions.steps.teardown.drain import drain
from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.teardown.drain import Drained, DrainFailed, Draining
from shipyard_api.domain.teardown.kubelet import state_of
from shipyard_api.domain.teardown.labels import SERVICE_CORDONED_KEY
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.cluster_nodes import ClusterNodes
from shipyard_api.ports.provisioner import (
    Capabilities,
    EarlierWork,
    JobId,
    JobReport,
    JobState,
    Marker,
    Operation,
    Provisioner,
    Reports,
    Work,
    each_report,
)

_SHOWN = 3
_NEVER = datetime.max.replace(tzinfo=UTC)  # the time limit of the phase ends a drain, not the drain itself


@dataclass(frozen=True, slots=True)
class DrainingProvisioner:
    """The provisioner, with ``DRAIN_NODES`` as one more operation. ``nodes`` is None where no Kubernetes is configured.

    A drain has no state but the cluster's: each report looks at the pods, and evicts. So it may be repeated, and a
    killed worker loses nothing. A node that the cluster does not have needs no drain.
    """

    provisioner: Provisioner
    nodes: ClusterNodes | None
    limits: TeardownLimits

    @property
    def name(self) -> str:
        """The provisioner's name."""
        return self.provisioner.name

    @property
    def capabilities(self) -> Capabilities:
        """What the provisioner can do."""
        return self.provisioner.capabilities

    def check_health(self) -> None:
        """Return if the provisioner is healthy."""
        self.provisioner.check_health()

    def design_reference(self, revision: int) -> str:
        """Return the provisioner's address of the design."""
        return self.provisioner.design_reference(revision)

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return the provisioner's findings."""
        return self.provisioner.validate_design(design)

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return the nodes of each group."""
        return self.provisioner.select_nodes(design, groups)

    def conditions(self) -> Sequence[ObservedMachine]:
        """Return every machine."""
        return self.provisioner.conditions()

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        """Return the steps of the nodes."""
        return self.provisioner.supported_steps(nodes)

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Submit the work; a drain begins with its first report."""
        return JobId(marker) if work.operation is Operation.DRAIN_NODES else self.provisioner.submit(marker, work)

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job of the marker; a drain exists from its intent on."""
        if work.operation is Operation.DRAIN_NODES:
            return JobId(marker)
        return self.provisioner.find(marker, work, intended_at=intended_at, known=known)

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        """Return what the provisioner shows; a drain is repeated."""
        if work.operation is Operation.DRAIN_NODES:
            return ()
        return self.provisioner.earlier_work(marker, work, since=since, known=known)

    def report(self, job: JobId, work: Work) -> JobReport:
        """Return the report; a drain evicts, and nodes that were serviced become schedulable."""
        if work.operation is Operation.DRAIN_NODES:
            return self._drained(job, work.nodes or ())
        report = self.provisioner.report(job, work)
        self._released(report)
        return report

    def reports(self, jobs: Mapping[JobId, Work]) -> Reports:
        """Report on each job as ``report`` does."""
        return each_report(jobs, self.report)

    def abort(self, job: JobId, work: Work) -> None:
        """Stop the work; a drain goes on only while it is polled."""
        if work.operation is not Operation.DRAIN_NODES:
            self.provisioner.abort(job, work)

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        """Power-cycle the nodes."""
        return self.provisioner.power_cycle(job, work)

    def _drained(self, job: JobId, nodes: Sequence[NodeName]) -> JobReport:
        succeeded, failed, reasons = set[NodeName](), set[NodeName](), dict[NodeName, str]()
        for node in nodes:
            decision = self._drain(node)
            if isinstance(decision, DrainFailed):
                failed.add(node)
                reasons[node] = "; ".join(decision.reasons)
            elif isinstance(decision, str):
                reasons[node] = decision
            else:
                succeeded.add(node)
        ended = len(succeeded) + len(failed) == len(nodes)
        state = JobState.ENDED if ended else JobState.RUNNING
        waiting = [f"{node} {why}" for node, why in sorted(reasons.items())]
        message = "" if ended else f"{'; '.join(waiting[:_SHOWN])}{' …' if len(waiting) > _SHOWN else ''}"
        return JobReport(job, state, ended and not failed, frozenset(succeeded), frozenset(failed), reasons, message)

    def _drain(self, node: NodeName) -> Drained | DrainFailed | str:
        """Evict what may be evicted now, and return how the drain ended, or what it waits for."""
        look = self.nodes.look(node) if self.nodes else None
        if self.nodes is None or look is None:
            return Drained(())
        now = look.server_time
        kubelet = state_of(look.node.ready, look.node.renewed_at, now)
        report = drain(
            self.nodes, look, self.limits, label=SERVICE_CORDONED_KEY, kubelet=kubelet, now=now, deadline=_NEVER
        )
        if not isinstance(report.decision, Draining):
            return report.decision
        left = report.plan.left[:3] if report.plan else ()
        return f"not drained: {'; '.join(map(str, left))}"

    def _released(self, report: JobReport) -> None:
        if self.nodes is None:
            return
        for name in sorted(report.succeeded):
            node = self.nodes.node(name)
            if node is not None and SERVICE_CORDONED_KEY in node.labels:
                self.nodes.uncordon(node, label=SERVICE_CORDONED_KEY)
