"""The drain of servers that stay installed, which the polls of its phase carry out, and its end."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from shipyard_api.actions.steps.teardown.drain import drain
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain import Drained, DrainFailed, Draining
from shipyard_api.domain.teardown.labels import SERVICE_CORDONED_KEY
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.provisioner import JobId, JobReport, JobState

_SHOWN = 3
_NEVER = datetime.max.replace(tzinfo=UTC)  # the time limit of the phase ends a drain, not the drain itself


class Drains(Struct, frozen=True):
    """Drains servers by polls, and uncordons them again.

    A drain has no state but the cluster's: each poll looks at the pods, and evicts. So it may be repeated, and a killed
    worker loses nothing. A node that the cluster does not have needs no drain. ``nodes`` is None where no Kubernetes is
    configured.
    """

    nodes: ClusterNodes | None
    limits: TeardownLimits

    def report(self, job: JobId, nodes: Sequence[NodeName]) -> JobReport:
        """Evict what may be evicted from the nodes now, and return how far their drains are. Raises ports.errors."""
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

    def uncordon(self, nodes: Iterable[NodeName]) -> None:
        """Let pods run again on those of the nodes that a drain has cordoned. Raises ports.errors."""
        if self.nodes is None:
            return
        for name in sorted(nodes):
            node = self.nodes.node(name)
            if node is not None and SERVICE_CORDONED_KEY in node.labels:
                self.nodes.uncordon(node, label=SERVICE_CORDONED_KEY)

    def _drain(self, node: NodeName) -> Drained | DrainFailed | str:
        """Evict what may be evicted now, and return how the drain ended, or what it waits for."""
        look = self.nodes.look(node) if self.nodes else None
        if self.nodes is None or look is None:
            return Drained(())
        now, label = look.server_time, SERVICE_CORDONED_KEY
        report = drain(self.nodes, look, self.limits, label=label, kubelet=look.kubelet, now=now, deadline=_NEVER)
        if not isinstance(report.decision, Draining):
            return report.decision
        left = report.plan.left[:3] if report.plan else ()
        return f"not drained: {'; '.join(map(str, left))}"
