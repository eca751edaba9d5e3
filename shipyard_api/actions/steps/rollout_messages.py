"""What the baremetal nodes step asks of its peers, and what comes back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from shipyard_api.actions.steps import job_watch, joining
from shipyard_api.actions.steps.acceptance import Acceptance
from shipyard_api.actions.steps.software.software_stage import NoPlan
from shipyard_api.actions.steps.software.task_item import LookAtTask, Results, StartTask
from shipyard_api.actions.steps.specifications import Planned
from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.deploy_steps.planning import (
    RequestedSteps,
    only,
    requested_from_json,
    requested_to_json,
    work_steps,
)
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.hardware.compare import Compared
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.policy.gates import Answer, Met, Unmet
from shipyard_api.domain.rollout.policy.pace import OpenGate, WavePlace
from shipyard_api.domain.rollout.ways import Way, WayPhase
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobId, JobReport, Operation, Wipe, Work
from shipyard_api.workflow.step import Json, PeerFailure

_OPERATIONS: Mapping[WayPhase | None, Operation] = {
    WayPhase.PREPARE: Operation.PREPARE_NODES,
    WayPhase.DEPLOY: Operation.DEPLOY_NODES,
    WayPhase.REBUILD: Operation.REBUILD_NODES,
    WayPhase.SERVICE: Operation.SERVICE_NODES,
    WayPhase.POWER: Operation.POWER_CYCLE_NODES,
}


def operation(way: Way, phase: Phase) -> Operation:
    """Return the operation of the provisioner that is the job of a phase. Raises KeyError for a drain."""
    return _OPERATIONS[way.job(phase)]


def wipe(way: Way, phase: Phase) -> Wipe:
    """Return what a phase may erase. A preparation undeploys, and would clean, a node whose deployment failed."""
    kept = way is Way.PRESERVING and phase is Phase.PREPARE
    return Wipe.OS_DISK_ONLY if kept else Wipe.ALL


MOST_TOLD = 3  # different answers in the summary of one poll


class SelectMembers(Struct, frozen=True):
    """Ask which nodes the groups hold, and for the acceptance tasks of the groups."""

    inputs: SiteInputs
    action: str = ""


class CompareHardware(Struct, frozen=True):
    """Ask how nodes of the next move differ from the hardware that the revision expects."""

    move: Move
    nodes: tuple[NodeName, ...]
    revision: int


class SeekCases(Struct, frozen=True):
    """Look for what failed and late nodes have in common. ``ended``: nothing of the action is left to do."""

    action: str
    inputs: SiteInputs
    ended: bool = False


class SoughtCases(Struct, frozen=True):
    """How the open cases have changed. ``answered``: whether the search has an answer."""

    facts: tuple[Fact, ...]
    answered: bool = True


class PollJobs(Struct, frozen=True):
    """Ask for the state of these jobs, each about its unsettled nodes, and which nodes have joined the cluster.

    ``accepting``: acceptance tasks that run. ``machines``: ask for the state of every machine too, because the time of
    a job is up. ``gates``: those of the rollout policy of the action that must be passed now. ``policy``: what
    the action waits for if only its policy keeps it from going on. ``cases``: look also for what failures have in
    common. ``hardware``: what the next move waits for. ``drains``: drains to go on with, with their unsettled nodes.
    ``uncordons``: jobs whose nodes are uncordoned when these are done.
    """

    jobs: Mapping[JobId, Work]
    joining: tuple[NodeName, ...]
    accepting: tuple[LookAtTask, ...] = ()
    machines: bool = False
    gates: tuple[OpenGate, ...] = ()
    action: str = ""
    policy: Awaited | None = None
    cases: SeekCases | None = None
    hardware: CompareHardware | None = None
    drains: Mapping[JobId, tuple[NodeName, ...]] = msgspec.field(default_factory=dict)
    uncordons: frozenset[JobId] = frozenset()


@dataclass(frozen=True, slots=True)
class SubmitMove:
    """Submit the nodes of a move.

    The design's address is part of the intent: a setting that changes meanwhile must not hide the job from ``find``.
    ``steps``: those of the nodes in the phase. ``approvals``: those that are open when the move is decided. They are
    not part of the intent: None in one that is taken up.
    """

    move: Move
    design: str
    way: Way = Way.NEW
    steps: RequestedSteps = field(default_factory=dict)
    approvals: tuple[WaveGate, ...] | None = field(default=None, compare=False)

    @property
    def work(self) -> Work:
        """The move as the provisioner gets it. Raises KeyError for a drain."""
        phase, steps = self.move.phase, work_steps(self.steps)
        return Work(operation(self.way, phase), self.design, self.move.nodes, wipe(self.way, phase), steps)

    @property
    def drains(self) -> bool:
        """Whether polls drain the nodes: the job is only their watch."""
        return self.way.job(self.move.phase) is WayPhase.DRAIN

    def to_json(self) -> Json:
        """Return the stored form."""
        flags: dict[str, Any] = {self.way.value: True} if self.way.value else {}
        steps = {"steps": requested_to_json(self.steps)} if self.steps else {}
        return flags | steps | move_to_json(self.move) | {"design": self.design}

    @classmethod
    def from_json(cls, stored: Json) -> "SubmitMove":
        """Return the effect from its stored form."""
        steps = requested_from_json(stored.get("steps", ()))
        way = next((candidate for candidate in Way if stored.get(candidate.value)), Way.NEW)
        return cls(move_from_json(stored), stored["design"], way, steps)


class AcceptNodes(Struct, frozen=True):
    """Start an acceptance task on nodes of a move, and look at it where it runs; may be repeated."""

    move: Move
    start: StartTask

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"move": move_to_json(self.move), "accept": self.start.to_json()}

    @classmethod
    def from_json(cls, stored: Json) -> "AcceptNodes":
        """Return the effect from its stored form."""
        return cls(move_from_json(stored["move"]), StartTask.from_json(stored["accept"]))


class Recover(Struct, frozen=True):
    """Switch late nodes of a move, on which ``job`` works, off and on, or ``retry`` it with them.

    A power cycle whose outcome is unknown is the only one. For a retry nothing is sent: polls of the job ask for it.
    """

    move: Move
    nodes: tuple[NodeName, ...]
    job: JobId
    retry: bool = False

    def to_json(self) -> Json:
        """Return the stored form."""
        what = "retry" if self.retry else "power_cycle"
        job = {"job": self.job} if self.job else {}
        return {"move": move_to_json(self.move), what: list(self.nodes), **job}

    @staticmethod
    def is_in(stored: Json) -> bool:
        """Return whether this is the stored form of such an effect."""
        return "power_cycle" in stored or "retry" in stored

    @classmethod
    def from_json(cls, stored: Json) -> "Recover":
        """Return the effect from its stored form."""
        retry = "retry" in stored
        nodes = stored["retry" if retry else "power_cycle"]
        # Releases before this one stored no job; such an effect is looked up, and never performed.
        return cls(move_from_json(stored["move"]), tuple(map(NodeName, nodes)), JobId(stored.get("job", "")), retry)


class Recovered(Struct, frozen=True):
    """It was done with the nodes, but for those that were ``refused``; ``unknown``: or it may have been."""

    refused: Mapping[NodeName, str] = msgspec.field(default_factory=dict)
    unknown: bool = False


def move_to_json(move: Move) -> dict[str, Any]:
    """Return the stored form of a move."""
    return {"group": move.group, "phase": move.phase.value, "nodes": list(move.nodes), "batch": move.batch}


def move_from_json(stored: Mapping[str, Any]) -> Move:
    """Return a move from its stored form."""
    nodes = tuple(NodeName(node) for node in stored["nodes"])
    return Move(GroupName(stored["group"]), Phase(stored["phase"]), nodes, stored["batch"])


def steps_of(inputs: SiteInputs, phase: Phase, nodes: Collection[NodeName]) -> RequestedSteps:
    """Return the steps of these nodes in this phase: of templates in a deployment, of a runbook or a burn-in before."""
    if phase is Phase.DEPLOY:
        return only(inputs.deploy_steps, nodes)
    return inputs.preparing([node for node in nodes if node not in inputs.ways.serviced])


class Members(Struct, frozen=True):
    """The nodes of each group, and the acceptance tasks of those that have any, or why these cannot run.

    ``to_release``: machines that only a deployment releases, with the provisioner's label of each. ``uncounted``: all
    nodes with a hold by which no criterion counts them. ``planned``: what the nodes are given. ``clusters``: the
    members of each etcd cluster among the servers that are interrupted.
    """

    by_group: Mapping[GroupName, frozenset[NodeName]]
    acceptance: Acceptance | NoPlan | None = None
    to_release: Mapping[NodeName, str] = msgspec.field(default_factory=dict)
    uncounted: frozenset[NodeName] = frozenset()
    planned: Planned = Planned()  # immutable
    clusters: Mapping[str, tuple[NodeName, ...]] = msgspec.field(default_factory=dict)


class Answers(Struct, frozen=True):
    """What the peers reported; ``readiness`` is None where the cluster was not asked.

    ``accepted``: how acceptance tasks stand, by the key of each that was looked at. ``machines``: the provisioner's
    own labels of machines by lower-case name, None where they were not asked for. ``gates``: those that were answered.
    ``uncounted``: as of ``Members``, None if it is unknown. ``cases``, and how nodes of the next move
    differ (``hardware``): None if it was not asked.
    """

    reports: Mapping[JobId, JobReport | PeerError | PeerFailure] | PeerFailure
    readiness: joining.Answer | None
    accepted: Mapping[tuple[str, NodeName], Results | PeerFailure] = msgspec.field(default_factory=dict)
    machines: Mapping[str, str] | None = None
    gates: Mapping[tuple[WavePlace, int], Answer | Met | Unmet] = msgspec.field(default_factory=dict)
    uncounted: frozenset[NodeName] | None = None
    cases: SoughtCases | None = None
    hardware: Compared | PeerFailure | None = None

    def of(self, job: JobId) -> JobReport | PeerFailure:
        """Return the report on a job, or why there is none."""
        if isinstance(self.reports, PeerFailure):
            return self.reports
        report = self.reports[job]
        return PeerFailure.of(report) if isinstance(report, PeerError) else report

    def labels(self, nodes: Collection[NodeName]) -> dict[NodeName, str]:
        """Return the provisioner's labels of these nodes, of those that it showed."""
        machines = self.machines or {}
        return {node: machines[node.lower()] for node in nodes if machines.get(node.lower())}

    def usable(self) -> bool:
        """Return whether any peer answered what it was asked."""
        return any(not isinstance(answer, PeerFailure) for answer in self._each())

    def summary(self) -> str:
        """Return what the peers answered, in one sentence: the troubles, else the states of the jobs."""
        troubles = [answer.detail for answer in self._each() if isinstance(answer, PeerFailure)]
        reports = [job_watch.last_answer(answer) for answer in self._each() if isinstance(answer, JobReport)]
        said = list(dict.fromkeys(troubles or reports))
        return "; ".join(said[:MOST_TOLD])

    def _each(self) -> list[JobReport | joining.Answer | Results]:
        reports = [self.reports] if isinstance(self.reports, PeerFailure) else [self.of(job) for job in self.reports]
        return [*reports, *([] if self.readiness is None else [self.readiness]), *self.accepted.values()]
