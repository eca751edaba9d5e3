"""A peer that has machines and no jobs, as MAAS and Ironic: what a report reads, and what it begins by it.

A listing of the machines serves every report for 20 seconds. Each decision but to wait follows from the machine itself,
read just before: ``ports.provisioner`` promises that, and the suite of its contract holds each adapter to it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Operation, Work

LISTED_FOR = 20


class Machine(NamedTuple):
    """A machine: whether something is at work on it, and the jobs that have begun their work there."""

    node: NodeName
    busy: bool = False
    begun: tuple[JobId, ...] = ()

    def begin(self, job: JobId) -> "Machine":
        """Return the machine after a job has begun its work; a busy one refuses."""
        return self if self.busy else self._replace(busy=True, begun=(*self.begun, job))


Machines = tuple[Machine, ...]


class Begun(NamedTuple):
    """Work that was begun on a machine, in an action."""

    action: int
    operation: Operation
    node: NodeName


def machine_of(machines: Machines, node: NodeName) -> Machine:
    """Return the machine of a node."""
    return next(machine for machine in machines if machine.node == node)


def _report(job: JobId, done: Mapping[NodeName, bool]) -> JobReport:
    """Return the report on a job: whether its work is done, by node."""
    succeeded = frozenset(node for node, is_done in done.items() if is_done)
    if len(succeeded) == len(done):
        return JobReport(job, JobState.ENDED, ok=True, succeeded=succeeded)
    return JobReport(job, JobState.RUNNING, ok=False, succeeded=succeeded)


def reports(ask: Any, near: Any, jobs: Mapping[JobId, Work]) -> dict[JobId, JobReport]:
    """Return reports on jobs, having begun what they need; ``ask`` has ``near`` touch the peer."""
    listed: Machines | None = ask(lambda: near().list_machines(jobs))
    if listed is None:
        return {job: JobReport(job, JobState.LOST, ok=False) for job in jobs}
    made: dict[JobId, JobReport] = {}
    for job, work in jobs.items():
        made[job] = _report(job, {node: _done(ask, near, job, listed, node) for node in work.nodes or ()})
    return made


def _done(ask: Any, near: Any, job: JobId, listed: Machines, node: NodeName) -> bool:
    machine = machine_of(listed, node)
    if machine.busy and job in machine.begun:
        return False
    done: bool = ask(lambda: near().advance(job, machine))
    return done
