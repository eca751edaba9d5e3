"""Steps in which the provisioner works on the site as a whole, or on named nodes: verify, prepare, relabel."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps import job_watch
from shipyard_api.actions.steps.job_watch import Job, Submitted
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import JobStarted, WorkLeftBehind
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.provisioner import JobId, JobReport, Marker, Operation, Provisioner, Work
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Json, Look, PeerFailure, Step


class SiteWorkState(Struct, frozen=True):
    """``job`` is None until the work is submitted; ``done`` or ``failed`` is the sentence that ends the step."""

    revision: int
    limits: job_watch.Limits
    job: Job | None = None
    failed: str | None = None
    done: str | None = None

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "v": SiteWork.version,
            "revision": self.revision,
            "interval": self.limits.interval,
            "timeout": self.limits.timeout,
            "queue_limit": self.limits.queue_limit,
            "job": self.job.to_json() if self.job else None,
            "failed": self.failed,
            "done": self.done,
        }

    @classmethod
    def from_json(cls, stored: Json) -> "SiteWorkState":
        """Return the state from its stored form."""
        return cls(
            revision=stored["revision"],
            limits=job_watch.Limits(stored["interval"], stored["timeout"], stored["queue_limit"]),
            job=Job.from_json(stored["job"]) if stored["job"] else None,
            failed=stored["failed"],
            done=stored["done"],
        )


class SubmitSiteWork(ByFields, Struct, frozen=True):
    """Submit the work. The design's address is part of the intent: a setting that changes must not hide the job."""

    design: str


class PollJob(Struct, frozen=True):
    """Ask for the state of this job."""

    job: JobId
    design: str


@dataclass(frozen=True, slots=True)
class SiteWork(Step[SiteWorkState, PollJob, SubmitSiteWork, Submitted | JobReport]):
    """One piece of work, submitted once and polled until it ends or its time is up. ``nodes``: None for the site.

    ``done``: facts that are recorded when it has succeeded. ``tolerant``: its failure does not fail the step.
    """

    version: ClassVar[int] = 2

    id: StepId
    operation: Operation
    limits: Callable[[DeploymentConfiguration], PhaseLimits]
    store: Store
    provisioner: Provisioner
    always: bool = False
    nodes: tuple[NodeName, ...] | None = None
    done: tuple[Fact, ...] = ()
    tolerant: bool = False

    def begin(self, inputs: ActionInputs) -> SiteWorkState:
        """Start with nothing submitted."""
        configuration = inputs.of_site.configuration
        phase = self.limits(configuration)
        limits = job_watch.Limits(phase.interval, phase.timeout, configuration.queue_limit)
        return SiteWorkState(inputs.revision, limits)

    load_state = staticmethod(SiteWorkState.from_json)
    load_effect = staticmethod(SubmitSiteWork.from_json)

    def decide(self, state: SiteWorkState, now: datetime) -> Act[SubmitSiteWork] | Look[PollJob] | Done | Failed:
        """Submit, then poll, then end."""
        if state.failed is not None:
            return Done(state.failed) if self.tolerant else Failed(state.failed)
        if state.done is not None:
            return Done(state.done)
        design = self.provisioner.design_reference(state.revision)
        if state.job is None:
            return Act(SubmitSiteWork(design), give_up_at=now + timedelta(seconds=state.limits.timeout))
        return Look(PollJob(state.job.id, design))

    def perform(self, effect: SubmitSiteWork, marker: Marker) -> Submitted:
        """Submit the work."""
        return Submitted(self.provisioner.submit(marker, self._work(effect.design)))

    def find(self, effect: SubmitSiteWork, marker: Marker, since: datetime, answers: JobAnswers) -> Submitted | None:
        """Look for the job that may have been started; one of a part of the nodes is none of this step's."""
        found = job_watch.find(self.store, self.provisioner, marker, self._work(effect.design), since, answers)
        return found if found is None or found.nodes is None else None

    def unmarked(self, effect: SubmitSiteWork) -> bool:
        """Return whether the provisioner keeps no mark of the work."""
        return not self.provisioner.capabilities.marks

    def ask(self, question: PollJob) -> JobReport:
        """Poll the job."""
        report = self.provisioner.report(question.job, self._work(question.design))
        return job_watch.with_owner(self.store, report)

    def fold(
        self,
        state: SiteWorkState,
        asked: PollJob | SubmitSiteWork,
        report: Submitted | JobReport | PeerFailure,
        now: datetime,
    ) -> Folded[SiteWorkState]:
        """Keep the job's id, or judge its report."""
        if isinstance(report, Submitted):
            submitted = replace(state, job=Job.submitted(report.job, now))
            return Folded(submitted, (JobStarted(self.operation.value, report.job),))
        if state.job is not None:
            return self._judge(state, state.job, report, now)
        detail = report.detail if isinstance(report, PeerFailure) else report.message
        return Folded(replace(state, failed=detail))

    def awaits(self, state: SiteWorkState, asked: PollJob | SubmitSiteWork) -> Awaited:
        """Return the provisioner, with the state of the job."""
        state_of_job, deadline = "", None
        if state.job is not None:
            state_of_job, deadline = job_watch.described(state.job), job_watch.limit(state.job, state.limits)[1]
        return Awaited(self.provisioner.name, f"{self.operation.value}{state_of_job}", deadline=deadline)

    def touches(self, effect: SubmitSiteWork) -> tuple[NodeName, ...]:
        """Return the named nodes."""
        return self.nodes or ()

    def work(self, effect: SubmitSiteWork) -> NodeWork:
        """Return a teardown for the destruction of nodes."""
        return NodeWork.TEARDOWN if self.operation is Operation.DESTROY_NODES else NodeWork.OTHER

    def leave(self, state: SiteWorkState, why: str) -> tuple[Fact, ...]:
        """Return the job that goes on."""
        if state.job is None or state.done is not None or state.failed is not None:
            return ()
        design = self.provisioner.design_reference(state.revision)
        return (WorkLeftBehind(self.operation.value, state.job.id, design, self.nodes, why),)

    def _judge(
        self, state: SiteWorkState, job: Job, report: JobReport | PeerFailure, now: datetime
    ) -> Folded[SiteWorkState]:
        watched = job_watch.judge(job, report, state.limits, now)
        state = replace(state, job=watched.job)
        match watched.end:
            case None:
                awaited = self.awaits(state, PollJob(job.id, ""))
                answer, answered = job_watch.last_answer(report), isinstance(report, JobReport)
                awaited = replace(awaited, last_answer=answer, answered=answered)
                return Folded(state, wait_until=watched.poll_at, awaited=awaited)
            case job_watch.End.TIME_UP | job_watch.End.QUEUE_TIMEOUT:
                begun = watched.end is job_watch.End.TIME_UP
                failed = (
                    f"{self.operation.value} did not {'end' if begun else 'begin'} in time ({watched.why}); "
                    f"job {job.id} may still {'be working' if begun else 'begin'}"
                )
                return Folded(replace(state, failed=failed), self.leave(state, watched.why))
            case job_watch.End.ENDED if watched.report is not None and watched.report.ok and not self._lacks(watched):
                return Folded(replace(state, done=watched.report.message or "success"), self.done)
            case _:
                detail = watched.report.message if watched.report and watched.report.message else watched.why
                if lacking := self._lacks(watched):
                    detail = "; ".join(f"{node}: {why}" for node, why in lacking.items())
                failed = f"{self.operation.value} failed (job {job.id}): {detail or 'no reason given'}"
                return Folded(replace(state, failed=failed))

    def _lacks(self, watched: job_watch.Watched) -> dict[NodeName, str]:
        """Return the named nodes that are not among the successes, each with the reason."""
        report = watched.report
        if report is None:
            return {}
        why = report.message or "no reason given"
        return {node: report.reasons.get(node, why) for node in self.nodes or () if node not in watched.succeeded}

    def _work(self, design: str) -> Work:
        return Work(self.operation, design, self.nodes)
