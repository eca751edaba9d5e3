"""Polling the peers of a rollout: the jobs at the provisioner, the cluster, acceptance tasks, and late machines."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from msgspec import Struct

from shipyard_api.actions.steps import job_watch, uncounted
from shipyard_api.actions.steps.draining import Drains
from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.actions.steps.pacing import GateAnswers
from shipyard_api.actions.steps.rollout_messages import Answers, PollJobs
from shipyard_api.actions.steps.software.task_item import Results, TaskItem
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.gates import Answer, Met, Unmet
from shipyard_api.domain.rollout.policy.pace import WavePlace
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.errors import PeerError, Refused
from shipyard_api.ports.provisioner import JobId, JobReport, Provisioner, Reports, Work, each_report
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import PeerFailure

LOG = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")
_Of = TypeVar("_Of", bound=Mapping[JobId, JobReport | PeerError | PeerFailure])


class Peers(Struct, frozen=True):
    """Whom the step polls: the executors of the phases, and who knows of nodes and gates; fields as of the step."""

    store: Store
    provisioner: Provisioner
    cluster: Cluster | None
    tasks: TaskItem
    drains: Drains | None
    gates: GateAnswers | None
    hardware: Hardware | None


def answers(question: PollJobs, peers: Peers) -> Answers:
    """Return what the peers answer; raises only if none does. Machines that cannot be listed have no label."""
    gates, hardware, drains = peers.gates, peers.hardware, peers.drains
    errors: list[PeerError] = []

    def asked(ask: Callable[[], _Answer]) -> _Answer | PeerFailure:
        try:
            return ask()
        except PeerError as error:
            errors.append(error)
            return PeerFailure.of(error)

    reports: Mapping[JobId, JobReport | PeerError | PeerFailure] | PeerFailure = {}
    readiness: Mapping[NodeName, ObservedMember] | PeerFailure | None = None
    if question.jobs:
        reports = asked(lambda: _reports(question, peers))
    if question.drains and drains:
        drained = asked(lambda: each_report(question.drains, drains.report))
        reports = {**_each(question.jobs, reports), **_each(question.drains, drained)}
    if question.joining:
        readiness = asked(lambda: _readiness(peers, question.joining))
    accepted: dict[tuple[str, NodeName], Results | PeerFailure] = {}
    for look in question.accepting:
        accepted[look.work.key] = asked(partial(peers.tasks.ask, look))
    machines = asked(lambda: _labels(peers.provisioner)) if question.machines else None
    compare, compared = question.hardware, None
    if compare is not None and hardware is not None:
        revision = Revision(compare.revision)
        compared = asked(lambda: hardware.compared(revision, compare.nodes))
    given: dict[tuple[WavePlace, int], Answer | Met | Unmet] = {}
    for gate in question.gates if gates else ():
        answer = gates(question.action, gate) if gates else None
        if answer is not None:
            given[gate.place, gate.state.index] = answer
    questions = (
        sum(map(bool, (question.jobs, question.drains, question.joining, question.machines, question.hardware)))
        + len(question.accepting)
        + len(question.gates)
    )
    if errors and len(errors) == questions:
        raise errors[0]
    if isinstance(reports, Mapping):
        errors += [report for report in reports.values() if isinstance(report, PeerError)]
    for failure in errors:
        LOG.warning("peer in trouble", extra={"trouble": str(failure)})
    labels = {} if isinstance(machines, PeerFailure) else machines
    return Answers(reports, readiness, accepted, labels, given, uncounted.ask(peers.store), hardware=compared)


def _reports(question: PollJobs, peers: Peers) -> Reports:
    """Return the reports of the provisioner. Nodes that need not be ready before are uncordoned."""
    reports = job_watch.with_owners(peers.store, peers.provisioner.reports(question.jobs))

    def report(job: JobId, _: Work) -> JobReport:
        match reports[job]:
            case PeerError() as error:
                raise error
            case JobReport() as answer:
                if job in question.uncordons and peers.drains:
                    peers.drains.uncordon(answer.succeeded)
                return answer

    return each_report(question.jobs, report)


def _each(jobs: Iterable[JobId], answer: _Of | PeerFailure) -> _Of | Mapping[JobId, PeerFailure]:
    """Return the answer for each job, with the failure as that of all of them."""
    return dict.fromkeys(jobs, answer) if isinstance(answer, PeerFailure) else answer


def to_release(store: Store, provisioner: Provisioner, nodes: frozenset[NodeName]) -> Mapping[NodeName, str]:
    """Return the nodes whose last deployment left them in a state that no preparation accepts, with its label."""
    labels = provisioner.capabilities.limits.released_by_deploy
    if not labels:
        return {}
    with store.begin() as tx:
        failed = nodes & tx.nodes.failed()
    machines = provisioner.conditions() if failed else ()
    shown = {machine.name.lower(): machine.status for machine in machines if machine.status.lower() in labels}
    return {node: shown[node.lower()] for node in sorted(failed) if node.lower() in shown}


def _readiness(peers: Peers, nodes: tuple[NodeName, ...]) -> Mapping[NodeName, ObservedMember]:
    """Return the readiness of the nodes. Those that are ready after a power cycle are uncordoned."""
    if peers.cluster is None:
        raise Refused("Kubernetes", "readiness", "this worker is configured with no cluster ([kubernetes])")
    readiness = peers.cluster.readiness(nodes)
    if peers.drains:
        peers.drains.uncordon(node for node, member in readiness.items() if member.ready and member.cordoned)
    return readiness


def _labels(provisioner: Provisioner) -> Mapping[str, str]:
    return {machine.name.lower(): machine.status for machine in provisioner.conditions()}
