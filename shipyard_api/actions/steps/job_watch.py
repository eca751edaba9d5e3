"""Watching one job of a provisioner: since when it runs, whether its time is up, and when to poll again.

The time limit of the work begins when the provisioner starts it; waiting in its queue is bounded on its own (contract:
drydock, chapter 12).
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Provisioner, Work
from shipyard_api.ports.state.store import Store
from shipyard_api.workflow.step import Json, Trouble

# A peer's clock may be this far from ours: jobs that were recorded longer before an intent cannot be mistaken for it.
_KNOWN_BEFORE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Submitted:
    """The provisioner accepted the work as this job."""

    job: JobId


def find(store: Store, provisioner: Provisioner, marker: Marker, work: Work, intended_at: datetime) -> Submitted | None:
    """Return the job of an intent whose outcome is unknown, None if there is none."""
    with store.begin() as tx:
        known = tx.journal.jobs_since(intended_at - _KNOWN_BEFORE)
    job = provisioner.find(marker, work, intended_at=intended_at, known=known)
    return None if job is None else Submitted(job)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds between polls, seconds that the work may take, seconds that it may wait before it starts."""

    interval: float
    timeout: float
    queue_limit: float


@dataclass(frozen=True, slots=True)
class Job:
    """A submitted job; ``succeeded`` are nodes that were reported as done while it ran."""

    id: JobId
    submitted_at: datetime
    running_since: datetime | None = None
    succeeded: frozenset[NodeName] = frozenset()

    def to_json(self) -> Json:
        """Return the stored form."""
        return {
            "id": self.id,
            "submitted_at": self.submitted_at.isoformat(),
            "running_since": self.running_since.isoformat() if self.running_since else None,
            "succeeded": sorted(self.succeeded),
        }

    @classmethod
    def from_json(cls, stored: Json) -> "Job":
        """Return the job from its stored form."""
        return cls(
            JobId(stored["id"]),
            datetime.fromisoformat(stored["submitted_at"]),
            datetime.fromisoformat(stored["running_since"]) if stored["running_since"] else None,
            frozenset(NodeName(node) for node in stored["succeeded"]),
        )


class End(Enum):
    """How the watch over a job ends."""

    ENDED = "ended"
    LOST = "lost"
    TIME_UP = "time up"


@dataclass(frozen=True, slots=True)
class Watched:
    """What one poll of a job means. ``end`` is None while it goes on; ``report`` is this poll's, if there was one.

    ``succeeded`` are the nodes that are known to be done, from this or an earlier poll.
    """

    job: Job
    end: End | None
    report: JobReport | None
    succeeded: frozenset[NodeName]
    why: str
    poll_at: datetime


def judge(job: Job, report: JobReport | Trouble, limits: Limits, now: datetime) -> Watched:
    """Return what a report, or none, means for the job. A peer that does not answer only costs time."""
    current = report if isinstance(report, JobReport) else None
    if current is not None and current.state is JobState.RUNNING:
        job = replace(job, running_since=job.running_since or now, succeeded=current.succeeded)
    if current is not None and current.state is JobState.ENDED:
        return Watched(job, End.ENDED, current, current.succeeded, "", now)
    if current is not None and current.state is JobState.LOST:
        return Watched(job, End.LOST, current, job.succeeded, "the provisioner no longer knows the job", now)
    if job.running_since is not None:
        deadline = job.running_since + timedelta(seconds=limits.timeout)
        why = f"limit {limits.timeout:g} s since it started"
    else:
        deadline = job.submitted_at + timedelta(seconds=limits.queue_limit)
        why = f"waited more than {limits.queue_limit:g} s in the provisioner's queue"
    if now >= deadline:
        if isinstance(report, Trouble):
            why = f"{why}; last answer: {report.detail}"
        return Watched(job, End.TIME_UP, current, job.succeeded, why, now)
    return Watched(job, None, current, job.succeeded, "", min(deadline, now + timedelta(seconds=limits.interval)))
