"""Watching one job of a provisioner: since when it runs, whether its time is up, and when to look again.

The time limit of the work begins when the provisioner starts it; waiting in its queue is bounded on its own (contract:
drydock, chapter 12).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Provisioner, Work
from shipyard_api.ports.state.store import Store
from shipyard_api.workflow.step import Json, Trouble

# A peer's clock may be this far from ours: jobs that were recorded longer before an intent cannot be mistaken for it.
_KNOWN_BEFORE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Question:
    """How does this job of ours stand?"""

    job: JobId
    work: Work


def ask(provisioner: Provisioner, question: object) -> JobReport:
    """Ask the provisioner."""
    if not isinstance(question, Question):
        raise TypeError(f"{question!r} is not a question about a job")
    return provisioner.report(question.job, question.work)


def answer(report: object) -> JobReport | Trouble:
    """Return what came back, which can only be a report on a job or trouble."""
    if isinstance(report, JobReport | Trouble):
        return report
    raise TypeError(f"a job was reported on with {type(report).__name__}")


def find(store: Store, provisioner: Provisioner, marker: Marker, work: Work, intended_at: datetime) -> JobId | None:
    """Return the job of an intent whose outcome is unknown, None if there is none."""
    with store.begin() as tx:
        known = tx.journal.jobs_since(intended_at - _KNOWN_BEFORE)
    return provisioner.find(marker, work, intended_at=intended_at, known=known)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds between looks, seconds that the work may take, seconds that it may wait before it starts."""

    interval: float
    timeout: float
    queue_limit: float


class End(Enum):
    """How the watch over a job ends."""

    ENDED = "ended"
    LOST = "lost"
    TIME_UP = "time up"


@dataclass(frozen=True, slots=True)
class Watched:
    """What one look at a job means. ``end`` is None while it goes on; ``report`` is what was heard this time.

    ``succeeded`` are the nodes that are known to be done, from this or an earlier look.
    """

    job: Json
    end: End | None
    report: JobReport | None
    succeeded: frozenset[NodeName]
    why: str
    look_again_at: datetime


def new(job: str, now: datetime) -> Json:
    """Return the stored form of a job that was just submitted."""
    return {"id": job, "submitted_at": now.isoformat(), "running_since": None, "succeeded": []}


def judge(job: Json, report: JobReport | Trouble, limits: Limits, now: datetime) -> Watched:
    """Return what a report, or none, means for the job. A peer that does not answer only costs time."""
    heard = report if isinstance(report, JobReport) else None
    if heard is not None and heard.state is JobState.RUNNING:
        job = {**job, "running_since": job["running_since"] or now.isoformat(), "succeeded": sorted(heard.succeeded)}
    done = frozenset(NodeName(node) for node in job["succeeded"])
    if heard is not None and heard.state is JobState.ENDED:
        return Watched(job, End.ENDED, heard, heard.succeeded, "", now)
    if heard is not None and heard.state is JobState.LOST:
        return Watched(job, End.LOST, heard, done, "the provisioner no longer knows the job", now)
    if job["running_since"] is not None:
        deadline = datetime.fromisoformat(job["running_since"]) + timedelta(seconds=limits.timeout)
        why = f"limit {limits.timeout:g} s since it started"
    else:
        deadline = datetime.fromisoformat(job["submitted_at"]) + timedelta(seconds=limits.queue_limit)
        why = f"waited more than {limits.queue_limit:g} s in the provisioner's queue"
    if now >= deadline:
        if isinstance(report, Trouble):
            why = f"{why}; last answer: {report.detail}"
        return Watched(job, End.TIME_UP, heard, done, why, now)
    return Watched(job, None, heard, done, "", min(deadline, now + timedelta(seconds=limits.interval)))
