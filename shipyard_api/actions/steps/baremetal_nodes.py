"""The baremetal nodes step: prepares and deploys the groups of the strategy, one after another (seed 000, Process).

Its state is the rollout: members, statuses, and the one job that runs. Members are what the provisioner's own
selection says, asked once and kept, so that a group means the same nodes from beginning to end.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from shipyard_api.actions.steps import job_watch
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout import (
    GroupChanged,
    GroupStatus,
    MembersKnown,
    Move,
    NodesKept,
    Outcome,
    Phase,
    PhaseEnded,
    PhaseStarted,
    PhaseStatus,
    Reason,
    Rollout,
    Verdict,
    WorkLeftBehind,
)
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy import GroupName
from shipyard_api.ports.provisioner import JobReport, Marker, Operation, Provisioner, Work
from shipyard_api.ports.store import Store
from shipyard_api.workflow.step import Act, Decision, Done, Failed, Folded, Json, Look, Trouble

_OPERATIONS = {Phase.PREPARE: Operation.PREPARE_NODES, Phase.DEPLOY: Operation.DEPLOY_NODES}
CRITICAL_FAILED = "One or more deployment groups marked as critical have failed"


@dataclass(frozen=True, slots=True)
class SelectMembers:
    """Which nodes do the groups hold?"""

    inputs: SiteInputs


@dataclass(frozen=True, slots=True)
class BaremetalNodes:
    """The step. Learning the members is tried for ``patience`` seconds, every ``pause`` seconds."""

    id: StepId
    store: Store
    provisioner: Provisioner
    patience: float
    pause: float
    always: bool = False

    def begin(self, inputs: Json) -> Json:
        """Start without knowing any member."""
        kept = tuple(NodeName(node) for node in inputs.get("kept", ()))
        return RolloutState(SiteInputs.from_json(inputs), kept=kept, kept_from=inputs.get("retried", "")).to_json()

    def decide(self, state: Json, now: datetime) -> Decision:
        """Learn the members, then make one move after another, then give the verdict."""
        stands = RolloutState.from_json(state)
        if stands.failed:
            return Failed(stands.failed)
        if stands.rollout is None:
            return Look(SelectMembers(stands.inputs))
        running = stands.rollout.running
        if stands.job is not None and running is not None:
            return Look(job_watch.Question(stands.job["id"], _work(self._effect(running, stands.inputs.revision))))
        move = stands.rollout.next_move()
        if move is not None:
            effect = self._effect(move, stands.inputs.revision)
            limit = timedelta(seconds=stands.patience(move.phase).timeout)
            return Act(effect, give_up_at=now + limit)
        if stands.rollout.verdict() is Verdict.FAILED:
            return Failed(f"{CRITICAL_FAILED}; {stands.summary()}")
        return Done(stands.summary())

    def perform(self, effect: Json, marker: Marker) -> object:
        """Hand the nodes of a move to the provisioner."""
        return self.provisioner.submit(marker, _work(effect))

    def find(self, effect: Json, marker: Marker, intended_at: datetime) -> object | None:
        """Look for the job that may have been started."""
        return job_watch.find(self.store, self.provisioner, marker, _work(effect), intended_at)

    def look(self, effect: object) -> object:
        """Ask for the members, or how the job stands."""
        if not isinstance(effect, SelectMembers):
            return job_watch.ask(self.provisioner, effect)
        groups = effect.inputs.strategy.groups
        design = self.provisioner.design_reference(effect.inputs.revision)
        selected = self.provisioner.select_nodes(design, [group.selectors for group in groups])
        return {group.name: nodes for group, nodes in zip(groups, selected, strict=True)}

    def fold(self, state: Json, effect: object, report: object, now: datetime) -> Folded:
        """Bring the rollout forward by what came back."""
        stands = RolloutState.from_json(state)
        if stands.rollout is None:
            return self._fold_members(stands, report, now)
        if stands.job is None:
            return self._fold_submission(stands, stands.rollout, report, now)
        return self._fold_report(stands, stands.rollout, job_watch.answer(report), now)

    def _fold_members(self, stands: RolloutState, report: object, now: datetime) -> Folded:
        if isinstance(report, Trouble):
            since = datetime.fromisoformat(stands.since or now.isoformat())
            if report.refused or now - since >= timedelta(seconds=self.patience):
                stands.failed = f"the nodes of the groups could not be learnt: {report.detail}"
                return Folded(stands.to_json())
            stands.since = since.isoformat()
            return Folded(stands.to_json(), wait_until=now + timedelta(seconds=self.pause))
        if not isinstance(report, dict):
            raise TypeError(f"members were reported as {type(report).__name__}")
        members: dict[GroupName, frozenset[NodeName]] = report
        strategy = stands.inputs.strategy
        stands.rollout = Rollout(strategy, members)
        facts: tuple[object, ...] = (MembersKnown(strategy, members),)
        if kept := tuple(node for node in stands.kept if node in stands.rollout.nodes):
            done = dict.fromkeys(kept, NodeStatus.SUCCESS)
            stands.rollout.restore(nodes=done, groups={}, reasons={}, running=None)
            facts = (*facts, NodesKept(kept, stands.kept_from))
        facts = (*facts, *_settle_empty(stands.rollout))
        return Folded(stands.to_json(), facts)

    def _fold_submission(self, stands: RolloutState, rollout: Rollout, report: object, now: datetime) -> Folded:
        move = rollout.next_move()
        if move is None:
            raise ValueError("a move was submitted that is not the next one")
        if not isinstance(report, Trouble):
            stands.job = job_watch.new(str(report), now)
            facts: tuple[object, ...] = (
                *rollout.start(move),
                PhaseStarted(move.group, move.phase, move.nodes, str(report)),
            )
            return Folded(stands.to_json(), facts)
        if report.refused:
            # Refused once is refused for every group: going on would only turn the site's nodes into failures.
            stands.failed = f"{move.phase.value} of group {move.group} was refused: {report.detail}"
            return Folded(stands.to_json())
        outcome = Outcome(timed_out=True, reasons=dict.fromkeys(move.nodes, report.detail))
        facts = (*rollout.start(move), *_finish(rollout, move, outcome, report.detail))
        return Folded(stands.to_json(), facts)

    def _fold_report(
        self, stands: RolloutState, rollout: Rollout, report: JobReport | Trouble, now: datetime
    ) -> Folded:
        move = rollout.running
        if move is None or stands.job is None:
            raise ValueError("a job was reported on, but no move is running")
        patience = stands.patience(move.phase)
        limits = job_watch.Limits(patience.interval, patience.timeout, stands.inputs.configuration.queue_limit)
        job = stands.job["id"]
        watched = job_watch.judge(stands.job, report, limits, now)
        stands.job = watched.job
        if watched.end is None:
            return Folded(stands.to_json(), wait_until=watched.look_again_at)
        stands.job = None
        heard = watched.report
        timed_out = watched.end is job_watch.End.TIME_UP
        why = f"{watched.why}; job {job} may still be working" if timed_out else watched.why
        outcome = Outcome(
            succeeded=watched.succeeded,
            timed_out=timed_out,
            reasons={
                **(dict.fromkeys(move.nodes, why) if why else {}),
                **(heard.reasons if heard else {}),
            },
        )
        message = "; ".join(part for part in (why, heard.message if heard else "") if part)
        facts = _finish(rollout, move, outcome, message)
        if timed_out:
            facts = (*self._left(move, job, stands, watched.why), *facts)
        return Folded(stands.to_json(), facts)

    def leave(self, state: Json, why: str) -> tuple[object, ...]:
        """Return what goes on without us, and that the group that was at work has failed by it."""
        stands = RolloutState.from_json(state)
        move = stands.rollout.running if stands.rollout is not None else None
        if stands.job is None or move is None:
            return ()
        return (
            *self._left(move, stands.job["id"], stands, why),
            PhaseEnded(move.group, move.phase, PhaseStatus.STOPPED, f"{why}; job {stands.job['id']} may be at work"),
            GroupChanged(move.group, GroupStatus.FAILED, move.phase, Reason.STOPPED, why),
        )

    def _left(self, move: Move, job: str, stands: RolloutState, why: str) -> tuple[object, ...]:
        operation, design = _OPERATIONS[move.phase], self.provisioner.design_reference(stands.inputs.revision)
        return (WorkLeftBehind(operation.value, job, design, move.nodes, why),)

    def _effect(self, move: Move, revision: int) -> Json:
        """Return a move as it is intended. The address of the design is part of it: a setting that changes meanwhile
        must not hide the job from `find`.
        """
        return {
            "group": move.group,
            "phase": move.phase.value,
            "nodes": list(move.nodes),
            "design": self.provisioner.design_reference(revision),
        }


def _work(effect: Json) -> Work:
    nodes = tuple(NodeName(node) for node in effect["nodes"])
    return Work(_OPERATIONS[Phase(effect["phase"])], effect["design"], nodes)


def _finish(rollout: Rollout, move: Move, outcome: Outcome, message: str) -> tuple[object, ...]:
    """End the running move, and every move after it that has no node to send."""
    ended = PhaseEnded(move.group, move.phase, _status(move, outcome), message)
    return (ended, *rollout.finish(outcome), *_settle_empty(rollout))


def _settle_empty(rollout: Rollout) -> tuple[object, ...]:
    """Make the moves that need no provisioner: nobody in the group, or all its nodes were moved by other groups.

    An empty set of names must never be sent: to Drydock it means success (contract: drydock, 7, trap 3). When nothing
    is left to do, the report of the whole follows.
    """
    facts: list[object] = []
    while (move := rollout.next_move()) is not None and not move.nodes:
        facts.extend(rollout.start(move))
        facts.extend(rollout.finish(Outcome()))
    if rollout.done:
        facts.append(rollout.report())
    return tuple(facts)


def _status(move: Move, outcome: Outcome) -> PhaseStatus:
    if outcome.timed_out:
        return PhaseStatus.TIMEOUT
    good = sum(node in outcome.succeeded for node in move.nodes)
    if good == len(move.nodes):
        return PhaseStatus.SUCCESS
    return PhaseStatus.PARTIAL_SUCCESS if good else PhaseStatus.FAILURE
