"""Steps that let the provisioner do something to the site as a whole: verify it, prepare it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from shipyard_api.actions.steps import job_watch
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import JobStarted, WorkLeftBehind
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.provisioner import Marker, Operation, Provisioner, Work
from shipyard_api.ports.state.store import Store
from shipyard_api.workflow.step import Act, Decision, Done, Failed, Folded, Json, Look, Trouble


@dataclass(frozen=True, slots=True)
class SiteWork:
    """One piece of site-wide work, submitted once and watched until it ends or its time is up."""

    id: StepId
    operation: Operation
    patience: Callable[[DeploymentConfiguration], PhaseLimits]
    store: Store
    provisioner: Provisioner
    always: bool = False

    def begin(self, inputs: Json) -> Json:
        """Start with nothing submitted."""
        configuration = SiteInputs.from_json(inputs).configuration
        patience = self.patience(configuration)
        return {
            "v": 1,
            "revision": inputs["revision"],
            "interval": patience.interval,
            "timeout": patience.timeout,
            "queue_limit": configuration.queue_limit,
            "job": None,
            "failed": None,
            "done": None,
        }

    def decide(self, state: Json, now: datetime) -> Decision:
        """Submit, then watch, then end."""
        if state["failed"] is not None:
            return Failed(state["failed"])
        if state["done"] is not None:
            return Done(state["done"])
        # The address is part of the intent: a setting that changes meanwhile must not hide the job from `find`.
        effect = {"design": self.provisioner.design_reference(state["revision"])}
        if state["job"] is None:
            return Act(effect, give_up_at=now + timedelta(seconds=state["timeout"]))
        return Look(job_watch.Question(state["job"]["id"], self._work(effect)))

    def perform(self, effect: Json, marker: Marker) -> object:
        """Submit the work."""
        return self.provisioner.submit(marker, self._work(effect))

    def find(self, effect: Json, marker: Marker, intended_at: datetime) -> object | None:
        """Look for the job that may have been started."""
        return job_watch.find(self.store, self.provisioner, marker, self._work(effect), intended_at)

    def look(self, effect: object) -> object:
        """Ask how the job stands."""
        return job_watch.ask(self.provisioner, effect)

    def fold(self, state: Json, effect: object, report: object, now: datetime) -> Folded:
        """Keep the job's id, or judge what it says."""
        if state["job"] is None:
            if isinstance(report, Trouble):
                return Folded({**state, "failed": report.detail})
            job = str(report)
            return Folded({**state, "job": job_watch.new(job, now)}, (JobStarted(self.operation.value, job),))
        limits = job_watch.Limits(state["interval"], state["timeout"], state["queue_limit"])
        watched = job_watch.judge(state["job"], job_watch.answer(report), limits, now)
        job = state["job"]["id"]
        state = {**state, "job": watched.job}
        match watched.end:
            case None:
                return Folded(state, wait_until=watched.look_again_at)
            case job_watch.End.TIME_UP:
                told = f"{self.operation.value} did not end in time ({watched.why}); job {job} may still be working"
                return Folded({**state, "failed": told}, self.leave(state, watched.why))
            case job_watch.End.ENDED if watched.report is not None and watched.report.ok:
                return Folded({**state, "done": watched.report.message or "success"})
            case _:
                told = watched.report.message if watched.report and watched.report.message else watched.why
                return Folded(
                    {**state, "failed": f"{self.operation.value} failed (job {job}): {told or 'no reason given'}"}
                )

    def leave(self, state: Json, why: str) -> tuple[Fact, ...]:
        """Return what goes on without us."""
        if state["job"] is None:
            return ()
        design = self.provisioner.design_reference(state["revision"])
        return (WorkLeftBehind(self.operation.value, state["job"]["id"], design, None, why),)

    def _work(self, effect: Json) -> Work:
        return Work(self.operation, effect["design"])
