"""The peer: jobs that it has accepted, and requests on their way to it. It keeps its promises and no others.

With marks, as MAAS and Ironic have them, a request may arrive at any later time: its marker shows that it is known.
Without, as with Drydock, each request that arrives is a job of its own.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import EarlierWork, JobId, JobReport, JobState, Marker, Operation


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job. ``began``: how often its work was really begun on its nodes."""

    job: JobId
    marker: Marker
    operation: Operation
    nodes: tuple[NodeName, ...]
    created: datetime
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A request that has left. ``owner``: the worker that waits for the answer, None if it does not any more."""

    owner: int | None
    marker: Marker
    operation: Operation
    nodes: tuple[NodeName, ...]
    left: datetime
    job: JobId | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """All jobs, the oldest first."""

    marks: bool
    jobs: tuple[Accepted, ...] = ()

    def accept(self, request: Request, now: datetime) -> tuple["Peer", JobId]:
        """Return the peer after a request has arrived, and the job that it answers with."""
        if self.marks and (known := self.marked(request.marker)):
            return self, known
        job = JobId(f"job-{len(self.jobs) + 1}")
        accepted = Accepted(job, request.marker, request.operation, request.nodes, now)
        return replace(self, jobs=(*self.jobs, accepted)), job

    def marked(self, marker: Marker) -> JobId | None:
        """Return the job of a marker."""
        return next((job.job for job in self.jobs if job.marker == marker), None)

    def find(self, request: Request, since: datetime, known: frozenset[JobId]) -> JobId | None:
        """Return the job of earlier work as this, as ``ports.provisioner`` promises it."""
        if self.marks:
            return self.marked(request.marker)
        same = (request.operation, request.nodes)
        jobs = (job for job in self.jobs if (job.operation, job.nodes) == same and job.job not in known)
        return next((job.job for job in jobs if job.created >= since), None)

    def earlier(self, operation: Operation, since: datetime, known: frozenset[JobId]) -> list[EarlierWork]:
        """Return the jobs since then that have no record."""
        jobs = (job for job in self.jobs if job.created >= since and job.job not in known)
        return [EarlierWork(job.job, job.operation, job.nodes) for job in jobs]

    def report(self, job: JobId) -> JobReport:
        """Return the report on a job: every node succeeds."""
        accepted = next((accepted for accepted in self.jobs if accepted.job == job), None)
        if accepted is None:
            return JobReport(job, JobState.LOST, ok=False)
        if not accepted.ended:
            return JobReport(job, JobState.RUNNING, ok=False)
        return JobReport(job, JobState.ENDED, ok=True, succeeded=frozenset(accepted.nodes))

    def end(self, job: JobId) -> "Peer":
        """Return the peer after a job has ended."""
        jobs = tuple(replace(known, ended=True) if known.job == job else known for known in self.jobs)
        return replace(self, jobs=jobs)

    def begun_twice(self) -> tuple[Operation, NodeName] | None:
        """Return an operation that was begun twice on a node."""
        begun: set[tuple[Operation, NodeName]] = set()
        for job in self.jobs:
            for node in job.nodes:
                if (job.operation, node) in begun:
                    return job.operation, node
                begun.add((job.operation, node))
        return None
