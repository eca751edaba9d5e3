"""The peer: jobs that it has accepted, and requests on their way to it. It keeps its promises and no others.

With marks, as MAAS and Ironic have them, a request may arrive at any later time: its marker shows that it is known.
Without, as with Drydock, each request that arrives is a job of its own.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from typing import NamedTuple

from shipyard_api.adapters.drydock.translate import CLOCK_SLACK
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import EarlierWork, JobId, JobReport, JobState, Marker, Operation
from tests.model.machines import Begun, Machines, machine_of
from tests.model.symmetry import Folds, folds


class Accepted(NamedTuple):
    """A job. ``began``: how often its work was really begun on its nodes."""

    job: JobId
    marker: Marker
    operation: Operation
    nodes: tuple[NodeName, ...]
    created: datetime
    ended: bool = False
    action: int = 0


class Request(NamedTuple):
    """A request that has left. ``owner``: the worker that waits for the answer, None if it does not any more."""

    owner: int | None
    marker: Marker
    operation: Operation
    nodes: tuple[NodeName, ...]
    left: datetime
    job: JobId | None = None
    action: int = 0


@dataclass(frozen=True)
class Peer:
    """All jobs, the oldest first. ``machines``: if jobs are only marks; ``begun``: what was done with machines."""

    marks: bool
    jobs: tuple[Accepted, ...] = ()
    machines: Machines = ()
    begun: tuple[Begun, ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.marks, self.jobs, self.machines, self.begun))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def folds(self) -> Folds:
        """What distinguishes the peer, and its mirror image; a marker follows from the rest of a job."""
        return folds(tuple(job._replace(marker=Marker("")) for job in self.jobs))

    @lru_cache(maxsize=200_000)  # noqa: B019  # a peer is a value
    def accept(self, request: Request, now: datetime) -> tuple["Peer", JobId]:
        """Return the peer after a request has arrived, and the job that it answers with."""
        if self.marks and (known := self.marked(request.marker)):
            return self, known
        job = JobId(f"job-{len(self.jobs) + 1}")
        accepted = Accepted(job, request.marker, request.operation, request.nodes, now, action=request.action)
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

    def earlier(self, nodes: Collection[NodeName], since: datetime, known: frozenset[JobId]) -> list[EarlierWork]:
        """Return the jobs on these nodes since then that have no record, on clocks that may differ."""
        jobs = (job for job in self.jobs if job.created >= since - CLOCK_SLACK and job.job not in known)
        of_nodes = (job for job in jobs if not set(nodes).isdisjoint(job.nodes))
        return [EarlierWork(job.job, job.operation, job.nodes, job.created >= since) for job in of_nodes]

    def report(self, job: JobId) -> JobReport:
        """Return the report on a job: every node succeeds."""
        accepted = next((accepted for accepted in self.jobs if accepted.job == job), None)
        if accepted is None:
            return JobReport(job, JobState.LOST, ok=False)
        if not accepted.ended:
            return JobReport(job, JobState.RUNNING, ok=False)
        return JobReport(job, JobState.ENDED, ok=True, succeeded=frozenset(accepted.nodes))

    @lru_cache(maxsize=200_000)  # noqa: B019  # a peer is a value
    def end(self, job: JobId) -> "Peer":
        """Return the peer after a job has ended."""
        jobs = tuple(known._replace(ended=True) if known.job == job else known for known in self.jobs)
        return replace(self, jobs=jobs)

    @cached_property
    def begun_twice(self) -> tuple[Operation, NodeName] | None:
        """An operation that was begun twice on a node in one action."""
        effects = (
            self.begun
            if self.machines
            else [Begun(job.action, job.operation, node) for job in self.jobs for node in job.nodes]
        )
        twice = (effect for place, effect in enumerate(effects) if effect in effects[:place])
        return next(((effect.operation, effect.node) for effect in twice), None)

    def begin(self, job: JobId, node: NodeName) -> "Peer":
        """Return the peer after a job has begun its work on a machine, which a busy one refuses."""
        known = next(known for known in self.jobs if known.job == job)
        before = machine_of(self.machines, node)
        after = before.begin(job)
        if after is before:
            return self
        machines = tuple(after if machine is before else machine for machine in self.machines)
        return replace(self, machines=machines, begun=(*self.begun, Begun(known.action, known.operation, node)))

    def settle(self, node: NodeName) -> "Peer":
        """Return the peer after what is at work on a machine has ended."""
        machines = tuple(machine._replace(busy=machine.busy and machine.node != node) for machine in self.machines)
        return replace(self, machines=machines)

    def is_deployed(self, node: NodeName) -> bool:
        """Return whether the last work on a node was a deployment that has ended."""
        last = next((job for job in reversed(self.jobs) if node in job.nodes), None)
        return last is not None and last.ended and last.operation is Operation.DEPLOY_NODES
