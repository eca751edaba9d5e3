"""Destroy the host: a job of the provisioner for this node alone, once no pod is left on it (seed 004)."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps import job_watch
from shipyard_api.actions.steps.job_watch import End, Job, Submitted
from shipyard_api.actions.steps.teardown.drain import lease_json, lease_now
from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, TeardownTask, waiting
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import JobStarted, WorkLeftBehind
from shipyard_api.domain.findings import in_short
from shipyard_api.domain.markers import marker_of
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.teardown.kubelet import Kubelet, is_shut_down
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.domain.teardown.removal_checks import pods_in_the_way
from shipyard_api.ports import provisioner as port
from shipyard_api.ports.cluster import ClusterNodes
from shipyard_api.ports.provisioner import JobId, JobReport, Marker, Provisioner, Wipe, Work
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Act, Folded, Look, PeerFailure

_DESTROY = port.Operation.DESTROY_NODES


class PodsLeft(Struct, frozen=True):
    """The pods that an empty node would not have."""

    pods: tuple[str, ...]


class Recalled(Struct, frozen=True):
    """The last operation that the provisioner had from the action, and the database has no record of; None: none."""

    operation: port.Operation | None

    @property
    def beyond(self) -> bool:
        """Whether the destroyed node was installed again already."""
        return self.operation is not None and port.goes_beyond(self.operation.value, _DESTROY)


DestroyReport = PodsLeft | Submitted | JobReport


@dataclass(frozen=True, slots=True)
class Destroy(Part[DestroyReport]):
    """Has the provisioner destroy one node. ``nodes`` is None where no Kubernetes is configured."""

    store: Store
    provisioner: Provisioner
    nodes: ClusterNodes | None
    design_of: Callable[[int], str]
    pace: Pace = Pace()  # noqa: RUF009  # immutable
    operation = Operation.DESTROY_NODE

    def seconds(self, state: NodeState) -> float:
        """Return the time limit of the provisioner's job; also that of finding out whether it has begun."""
        return state.task.destroy.timeout

    def decide(self, state: NodeState, now: datetime) -> Act[Request] | Look[Request]:
        """Look for pods, submit the job, poll it."""
        task = state.task
        parameters = {"design": self.design_of(task.revision), "wipe": task.wipe.value}
        parameters |= {"leaves": "yes"} if task.leaves else {}
        if state.job is not None:
            parameters |= {"fresh": "yes"} if job_watch.is_due(state.job, _limits(task), now) else {}
            return Look(self.request(state, now, "job", job=state.job.id, **parameters))
        if not state.checked and self.nodes is not None:
            return Look(self.request(state, now, "pods", lease=lease_json(state)))
        return Act(self.request(state, now, "submit", **parameters), now + timedelta(seconds=self.seconds(state)))

    def ask(self, request: Request) -> DestroyReport:
        """Poll the job, or look at the pods."""
        if request.what == "job":
            report = self.provisioner.report(JobId(request.more["job"]), self._work(request))
            return job_watch.with_owner(self.store, report)
        look = self.nodes.look(request.node) if self.nodes else None
        if look is None:
            return PodsLeft(())
        # Its kubelet has been asked to stop: pods that are being deleted may never be confirmed.
        has_stopped = is_shut_down(look.node.ready, lease_now(request, look.node)[1], request.at)
        kubelet = Kubelet.DEAD if has_stopped else Kubelet.ALIVE
        plan = look.drain_plan(kubelet)
        return PodsLeft(tuple(str(planned.pod) for planned in pods_in_the_way(plan, kubelet)))

    def perform(self, request: Request, marker: Marker) -> Submitted:
        """Submit the job."""
        return Submitted(self.provisioner.submit(marker, self._work(request)))

    def find(self, request: Request, marker: Marker, since: datetime, answers: JobAnswers) -> Submitted | None:
        """Look for the job that may have been started."""
        return job_watch.find(self.store, self.provisioner, marker, self._work(request), since, answers)

    def unmarked(self, request: Request) -> bool:
        """Return whether the provisioner keeps no mark of the job."""
        return not self.provisioner.capabilities.marks

    def recall(self, request: Request, since: datetime, answers: JobAnswers) -> Recalled:
        """Return the last operation that the provisioner had from the action on a node, which has no record here.

        Raises Undecided where an operator must say whose a job is.
        """
        work = Work(_DESTROY, self.design_of(request.revision), (request.node,))
        marker = Marker(marker_of(request.action, effect={}))
        with self.store.begin() as tx:
            inputs = ActionInputs.from_json(tx.actions.inputs(request.action))
        targets = inputs.targets or inputs.ways.reinstalled
        earlier = job_watch.last_operation(self.store, self.provisioner, marker, work, since, answers, targets)
        return Recalled(earlier)

    def fold(self, state: NodeState, asked: Request, report: DestroyReport, now: datetime) -> Folded[NodeState]:
        """Keep the job, or judge its report."""
        match report:
            case PodsLeft(()):
                return Folded(replace(state, checked=True))
            case PodsLeft(pods):
                why = f"{len(pods)} pod(s) are still on the node: {in_short(pods)}"
                return self.failed(state, f"{why}; the host was left alone", now)
            case Submitted(job):
                return Folded(replace(state, job=Job.submitted(job, now)), (JobStarted(_DESTROY.value, job),))
            case JobReport():
                return self._judge(state, report, now)

    def fold_trouble(self, state: NodeState, asked: Request, trouble: PeerFailure, now: datetime) -> Folded[NodeState]:
        """A provisioner that does not report on a job costs time; its limits end the wait."""
        if state.job is not None:
            return self._judge(state, trouble, now)
        return Part.fold_trouble(self, state, asked, trouble, now)

    def leave(self, state: NodeState, why: str) -> tuple[Fact, ...]:
        """Return the job that goes on."""
        if state.job is None:
            return ()
        design = self.design_of(state.task.revision)
        return (WorkLeftBehind(_DESTROY.value, state.job.id, design, (state.node,), why),)

    def _judge(self, state: NodeState, report: JobReport | PeerFailure, now: datetime) -> Folded[NodeState]:
        if state.job is None:
            raise ValueError("no job is at work")
        watched = job_watch.judge(state.job, report, _limits(state.task), now)
        state = replace(state, job=watched.job)
        if watched.end is None:
            silent = (report.detail,) if isinstance(report, PeerFailure) else ()
            queued = (f"the provisioner's queue, behind {watched.job.behind}",) if watched.job.behind else ()
            return waiting(state, self.operation, watched.poll_at, silent or queued)
        if watched.end is End.ENDED and watched.report is not None and state.node in watched.succeeded:
            return self.succeeded(state, now, "" if watched.report.ok else watched.report.message)
        reported = watched.report
        why = (reported.reasons.get(state.node) or reported.message) if reported else ""
        folded = self.failed(state, f"job {watched.job.id}: {why or watched.why or 'no reason given'}", now)
        if watched.end in (End.TIME_UP, End.QUEUE_TIMEOUT):
            return folded.after(self.leave(state, watched.why))
        return folded

    def _work(self, request: Request) -> Work:
        more = request.more
        wipe, fresh, leaves = Wipe(more["wipe"]), "fresh" in more, "leaves" in more
        return Work(_DESTROY, more["design"], (request.node,), wipe, fresh=fresh, leaves=leaves)


def _limits(task: TeardownTask) -> job_watch.Limits:
    return job_watch.Limits(task.destroy.interval, task.destroy.timeout, task.queue_limit)
