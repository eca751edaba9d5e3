"""Steps of work on the whole site: one submission, then polls until the work ends or its time is up."""

import dataclasses
from datetime import datetime
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.job_watch import End, Job, Limits, Submitted, Watched
from shipyard_api.actions.steps.site_work import PollJob, SiteWork, SiteWorkState, SubmitSiteWork
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import JobStarted, WorkLeftBehind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Look, PeerFailure
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import store_with_jobs
from tests.unit.tables import every_row

SITE = DeploymentConfiguration(
    verify_site=PhaseLimits(5, 60), prepare_site=PhaseLimits(10, 300), queue_limit=1000, join=False
)
LIMITS = Limits(interval=10, timeout=300, queue_limit=1000)
ID, DESIGN = JobId("job-1"), "fake://design/7"
QUEUED_JOB, RUNNING_JOB = Job(ID, T0), Job(ID, T0, at(20))
NEW = SiteWorkState(7, LIMITS)
QUEUED, RUNNING = replace(NEW, job=QUEUED_JOB), replace(NEW, job=RUNNING_JOB)
SILENT = replace(NEW, job=replace(RUNNING_JOB, silent_since=at(40)))
POLL, SUBMIT = PollJob(ID, DESIGN), SubmitSiteWork(DESIGN)
SILENCE = PeerFailure("503 no answer", refused=False)
REFUSAL = PeerFailure("403 forbidden", refused=True)


def step(provisioner: FakeProvisioner | None = None, store: Any = None) -> SiteWork:
    return SiteWork(
        StepId("prepare_site"),
        Operation.PREPARE_SITE,
        lambda configuration: configuration.prepare_site,
        cast(Store, store),
        provisioner or FakeProvisioner(),
    )


STEP = step()


def report(state: JobState, message: str = "", *, ok: bool = False) -> JobReport:
    return JobReport(ID, state, ok, message=message)


def left(why: str) -> WorkLeftBehind:
    return WorkLeftBehind("prepare_site", ID, DESIGN, None, why)


def test_it_begins_with_the_limits_of_its_operation() -> None:
    inputs = SiteInputs(7, SITE, None).to_json()
    assert STEP.begin(ActionInputs.from_json(inputs)) == NEW
    verify = dataclasses.replace(STEP, limits=lambda configuration: configuration.verify_site)
    assert verify.begin(ActionInputs.from_json(inputs)) == SiteWorkState(7, Limits(5, 60, 1000))


@every_row(
    {
        "submits": (NEW, Act(SUBMIT, give_up_at=at(305))),
        "polls-in-the-queue": (QUEUED, Look(POLL)),
        "done": (replace(RUNNING, done="success"), Done("success")),
        "failed": (replace(RUNNING, failed="it broke"), Failed("it broke")),
    },
)
def test_what_comes_next(state: SiteWorkState, expected: Act[SubmitSiteWork] | Look[PollJob] | Done | Failed) -> None:
    assert STEP.decide(state, at(5)) == expected


@every_row(
    {
        "accepted": (
            Submitted(ID),
            Folded(replace(NEW, job=Job.submitted(ID, at(5))), (JobStarted("prepare_site", ID),)),
        ),
        "refused": (REFUSAL, Folded(replace(NEW, failed="403 forbidden"))),
        "given-up": (SILENCE, Folded(replace(NEW, failed="503 no answer"))),
    },
)
def test_what_an_answer_to_the_submission_means(
    answer: Submitted | PeerFailure, expected: Folded[SiteWorkState]
) -> None:
    assert STEP.fold(NEW, SUBMIT, answer, at(5)) == expected


IN_QUEUE = "waited more than 1000 s in the provisioner's queue"
AT_WORK = "limit 300 s since it started"


def out_of_time(of: SiteWorkState, why: str) -> Folded[SiteWorkState]:
    failed = f"prepare_site did not end in time ({why}); job job-1 may still be working"
    if why == IN_QUEUE:
        failed = f"prepare_site did not begin in time ({why}); job job-1 may still begin"
    return Folded(replace(of, failed=failed), (left(why),))


POLLS = {
    "queued": (QUEUED, report(JobState.QUEUED), at(5), Folded(QUEUED, wait_until=at(15))),
    "queued longer than its limit": (QUEUED, report(JobState.QUEUED), at(1000), out_of_time(QUEUED, IN_QUEUE)),
    "starts": (QUEUED, report(JobState.RUNNING), at(20), Folded(RUNNING, wait_until=at(30))),
    "running": (RUNNING, report(JobState.RUNNING), at(40), Folded(RUNNING, wait_until=at(50))),
    "time up": (RUNNING, report(JobState.RUNNING), at(320), out_of_time(RUNNING, AT_WORK)),
    "no answer": (RUNNING, SILENCE, at(40), Folded(SILENT, wait_until=at(50))),
    "ended well": (
        RUNNING,
        report(JobState.ENDED, "all verified", ok=True),
        at(40),
        Folded(replace(RUNNING, done="all verified")),
    ),
    "ended badly": (
        RUNNING,
        report(JobState.ENDED, "no network"),
        at(40),
        Folded(replace(RUNNING, failed="prepare_site failed (job job-1): no network")),
    ),
    "lost": (
        RUNNING,
        report(JobState.LOST),
        at(40),
        Folded(replace(RUNNING, failed="prepare_site failed (job job-1): the provisioner no longer knows the job")),
    ),
}


@every_row(POLLS)
def test_what_a_poll_means(
    state: SiteWorkState, answer: JobReport | PeerFailure, now: datetime, expected: Folded[SiteWorkState]
) -> None:
    assert STEP.fold(state, POLL, answer, now) == expected


@every_row(
    {
        "nothing-submitted": (NEW, ()),
        "queued": (QUEUED, (left("stopped by ops"),)),
        "running": (RUNNING, (left("stopped by ops"),)),
        "done": (replace(RUNNING, done="success"), ()),
        "failed-and-left-behind-already": (replace(RUNNING, failed="out of time"), ()),
    },
)
def test_a_stop_leaves_the_job_behind(state: SiteWorkState, expected: tuple[Fact, ...]) -> None:
    assert STEP.leave(state, "stopped by ops") == expected


def test_an_interrupted_submission_is_searched_for_the_design_of_the_intent() -> None:
    provisioner = FakeProvisioner(now=lambda: at(1))
    site_work = step(provisioner, store_with_jobs())
    assert site_work.find(SUBMIT, Marker("m"), T0, JobAnswers()) is None
    submitted = site_work.perform(SUBMIT, Marker("m"))
    assert site_work.find(SUBMIT, Marker("m"), T0, JobAnswers()) == submitted
    assert site_work.find(SubmitSiteWork("fake://design/6"), Marker("m"), T0, JobAnswers()) is None


def test_a_job_without_a_report_lacks_no_node_and_one_with_a_report_says_why() -> None:
    n1, n2, n3 = map(NodeName, ("n1", "n2", "n3"))
    named = dataclasses.replace(STEP, nodes=(n1, n2, n3))
    ended = JobReport(ID, JobState.ENDED, False, frozenset({n1}), frozenset({n2}), {n2: "no power"}, message="2 failed")
    watched = Watched(RUNNING_JOB, End.ENDED, ended, frozenset({n1}), "", T0)
    assert named._lacks(watched) == {n2: "no power", n3: "2 failed"}
    assert named._lacks(replace(watched, report=None)) == {}
