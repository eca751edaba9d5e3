"""Watching one job of a provisioner: since when it runs, whether its time is up, and when to poll again.

The time limit of the work begins when the provisioner starts it; waiting in its queue is bounded on its own (product,
section 3; contract: drydock, chapter 12).
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt, DoubtfulJob, JobAnswers
from shipyard_api.domain.stored import ByFields
from shipyard_api.ports.errors import PeerError, Undecided
from shipyard_api.ports.provisioner import (
    ORDER,
    EarlierWork,
    JobId,
    JobReport,
    JobState,
    Marker,
    Operation,
    Provisioner,
    Reports,
    Work,
)
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import PeerFailure

# A peer's clock may be this far behind ours: jobs that were recorded longer before an intent cannot be mistaken for it.
_KNOWN_BEFORE = timedelta(days=1)
_MOST_NAMED = 2  # nodes of one label; of more, only their number


class Submitted(Struct, frozen=True):
    """The provisioner accepted the work as this job. ``nodes``: the only ones of the work that it has; None: all."""

    job: JobId
    nodes: tuple[NodeName, ...] | None = None


def find(
    store: Store, provisioner: Provisioner, marker: Marker, work: Work, since: datetime, answers: JobAnswers
) -> Submitted | None:
    """Return a job of this work that has no record, None if there is none.

    Where the provisioner stores no marker, it may be a job of some of the nodes: then the others are sent on their own.
    One with further nodes is this action's or not as an operator answers; raises Undecided without an answer. A
    provisioner that stores markers knows of each node what the action has begun with it.
    """
    if provisioner.capabilities.marks or work.nodes is None:
        known = _known(store, since) | _jobs(answers.others)
        job = provisioner.find(marker, work, intended_at=since, known=known)
        return Submitted(job) if job else None
    earlier = provisioner.earlier_work(marker, work, since=since, known=_jobs(answers.others))
    same = [past for past in earlier if past.operation is work.operation]
    if same:
        # A job that is ours by an answer has a record once some of its nodes were resumed; the others follow later.
        known = _known(store, since) - _jobs(answers.ours)
        same = [past for past in same if past.job not in known]
    exact = [past for past in same if set(past.nodes) == set(work.nodes)]
    if exact:
        return Submitted(next((past.job for past in exact if past.likely), exact[-1].job))
    for past in same:
        if past.job in answers.ours or set(past.nodes) <= set(work.nodes):
            return Submitted(past.job, tuple(node for node in work.nodes if node in past.nodes))
    if same and work.operation in ORDER:
        raise Undecided(_doubt(provisioner, work, same), marker=marker)
    return None


def last_operation(
    store: Store,
    provisioner: Provisioner,
    marker: Marker,
    work: Work,
    since: datetime,
    answers: JobAnswers,
    targets: Collection[NodeName],
) -> Operation | None:
    """Return the last operation on nodes of this work that the action of the marker may have lost the record of.

    ``targets``: all nodes of the action. Where the provisioner stores no marker, a job that names others is this
    action's or not as an operator answers; raises Undecided without an answer.
    """
    known = (_known(store, since) - _jobs(answers.ours)) | _jobs(answers.others)
    earlier = provisioner.earlier_work(marker, work, since=since, known=known)
    if not provisioner.capabilities.marks:
        foreign = [past for past in earlier if past.job not in answers.ours and not set(past.nodes) <= set(targets)]
        if foreign:
            raise Undecided(_doubt(provisioner, work, foreign), marker=marker)
    return earlier[-1].operation if earlier else None


def _known(store: Store, since: datetime) -> frozenset[JobId]:
    with store.begin() as tx:
        return frozenset(tx.journal.jobs_since(since - _KNOWN_BEFORE))


def _jobs(named: Collection[str]) -> frozenset[JobId]:
    return frozenset(map(JobId, named))


def _doubt(provisioner: Provisioner, work: Work, earlier: Sequence[EarlierWork]) -> Doubt:
    jobs = tuple(DoubtfulJob(past.job, past.operation.value, past.nodes) for past in earlier)
    return Doubt(provisioner.name, work.operation.value, tuple(work.nodes or ()), jobs)


def with_owners(store: Store, reports: Reports) -> Reports:
    """Return the reports, with the group and action of every job ahead that is one of ours."""
    return {
        job: report if isinstance(report, PeerError) else with_owner(store, report) for job, report in reports.items()
    }


def with_owner(store: Store, report: JobReport) -> JobReport:
    """Return the report, with the group and action of the job ahead if it is one of ours."""
    if report.ahead is None:
        return report
    ahead = report.ahead
    with store.begin() as tx:
        owner = tx.journal.owner(ahead.job)
    return replace(report, ahead=replace(ahead, whose=owner)) if owner else report


class Limits(Struct, frozen=True):
    """Seconds between polls, seconds that the work may take, seconds that it may wait before it starts.

    ``timeout`` also bounds the silence of the provisioner before the work starts.
    """

    interval: float
    timeout: float
    queue_limit: float


class Job(ByFields, Struct, frozen=True):
    """A submitted job; ``succeeded`` are nodes that were reported as done while it ran.

    ``silent_since``: since when the provisioner has not reported on it, None while it does; at first the submission.
    ``behind``: the work that it waits for in the queue, as part of a sentence.
    """

    id: JobId
    submitted_at: datetime
    running_since: datetime | None = None
    succeeded: frozenset[NodeName] = frozenset()
    silent_since: datetime | None = None
    behind: str = ""

    @classmethod
    def submitted(cls, job: JobId, now: datetime) -> "Job":
        """Return a job that the provisioner has just accepted, and not reported on."""
        return cls(job, now, silent_since=now)


class End(Enum):
    """How the watch over a job ends. ``QUEUE_TIMEOUT``: it waited too long in the queue, and has begun on no node."""

    ENDED = "ended"
    LOST = "lost"
    TIME_UP = "time up"
    QUEUE_TIMEOUT = "queue timeout"


class Watched(Struct, frozen=True):
    """What one poll of a job means. ``end`` is None while it goes on; ``report`` is this poll's, if there was one.

    ``succeeded`` are the nodes that are known to be done, from this or an earlier poll.
    """

    job: Job
    end: End | None
    report: JobReport | None
    succeeded: frozenset[NodeName]
    why: str
    poll_at: datetime


def judge(job: Job, report: JobReport | PeerFailure, limits: Limits, now: datetime) -> Watched:
    """Return what a report, or none, means for the job. A peer that does not answer only costs time."""
    current = report if isinstance(report, JobReport) else None
    job = _noted(job, current, now)
    if current is not None and current.state is JobState.ENDED:
        return Watched(job, End.ENDED, current, current.succeeded, "", now)
    if current is not None and current.state is JobState.LOST:
        return Watched(job, End.LOST, current, job.succeeded, "the provisioner no longer knows the job", now)
    end, deadline, why = limit(job, limits)
    if now >= deadline:
        if isinstance(report, PeerFailure):
            why = f"{why}; last answer: {report.detail}"
        return Watched(job, end, current, job.succeeded, why, now)
    pause = max(limits.interval, report.retry_after if isinstance(report, PeerFailure) else 0.0)
    return Watched(job, None, current, job.succeeded, "", min(deadline, now + timedelta(seconds=pause)))


def limit(job: Job, limits: Limits) -> tuple[End, datetime, str]:
    """Return the limit that applies to a job: how the watch ends by it, when, and why.

    A running job has the time of the work. A queued one has the time of the queue. Before the first report it is
    unknown which of them it is, so the time of the work counts from the submission; a silence in the queue is bounded
    likewise.
    """
    work = timedelta(seconds=limits.timeout)
    if job.running_since is not None:
        return End.TIME_UP, job.running_since + work, f"limit {limits.timeout:g} s since it started"
    if job.silent_since == job.submitted_at:
        why = f"the provisioner has not answered for {limits.timeout:g} s since the submission"
        return End.TIME_UP, job.submitted_at + work, why
    behind = f", behind {job.behind}" if job.behind else ""
    why = f"waited more than {limits.queue_limit:g} s in the provisioner's queue{behind}"
    queue = End.QUEUE_TIMEOUT, job.submitted_at + timedelta(seconds=limits.queue_limit), why
    if job.silent_since is None:
        return queue
    why = f"the provisioner has not answered for {limits.timeout:g} s; the job was in its queue{behind}"
    return min(queue, (End.TIME_UP, job.silent_since + work, why), key=lambda limit: limit[1])


def is_due(job: Job, limits: Limits, now: datetime) -> bool:
    """Return whether the time limit of a job is over: its next report decides, so it must be fresh."""
    return limit(job, limits)[1] <= now


def shown_as(labels: Mapping[NodeName, str]) -> str:
    """Return which nodes have which label, the rarest first: ``cmp01-2 Deploying, 3 Deployed``."""
    by_label: dict[str, list[NodeName]] = {}
    for node, label in sorted(labels.items()):
        by_label.setdefault(label, []).append(node)
    rarest = sorted(by_label.items(), key=lambda label: len(label[1]))
    return ", ".join(
        f"{', '.join(nodes) if len(nodes) <= _MOST_NAMED else len(nodes)} {label}" for label, nodes in rarest
    )


def described(job: Job) -> str:
    """Return the state of a job as the end of a sentence about its work; empty before the first report."""
    silent = ", no answer" if job.silent_since not in (None, job.submitted_at) else ""
    if job.running_since is not None:
        return f", running{silent}"
    if job.silent_since == job.submitted_at:
        return ""
    return f", queued{f' behind {job.behind}' if job.behind else ''}{silent}"


def last_answer(report: JobReport | PeerFailure) -> str:
    """Return what the provisioner answered to a poll, in one sentence."""
    if isinstance(report, PeerFailure):
        return report.detail
    return f"{report.state.value}{f': {report.message}' if report.message else ''}"


def _noted(job: Job, report: JobReport | None, now: datetime) -> Job:
    """Return the job with what a report, or the lack of one, shows."""
    if report is None:
        return job if job.silent_since is not None else replace(job, silent_since=now)
    if report.state is JobState.RUNNING:
        return replace(
            job, running_since=job.running_since or now, succeeded=report.succeeded, silent_since=None, behind=""
        )
    if report.state is JobState.QUEUED and job.running_since is None:
        return replace(job, silent_since=None, behind=str(report.ahead or ""))
    return replace(job, silent_since=None)
