"""What the submission of a move means to its rollout: a job to watch, or nodes that the provisioner was not given."""

from datetime import datetime

from shipyard_api.actions.steps import hardware, leaving, taking_down
from shipyard_api.actions.steps.job_watch import Job
from shipyard_api.actions.steps.rollout_state import RolloutState, Watch
from shipyard_api.actions.steps.settling import finish
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.groups import PhaseStatus
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.ports.provisioner import JobId
from shipyard_api.workflow.step import Folded, PeerFailure

AFTER_REFUSAL = (
    "Correct the cause, then start a new action; retry this one only if it failed and the design stays the same."
)


def fold_job(state: RolloutState, rollout: Rollout, move: Move, job: JobId, now: datetime) -> Folded[RolloutState]:
    """Watch the job of a move, which begins with it unless its nodes were taken down before."""
    facts, batch = tuple[Fact, ...](), move.batch
    hardware.sent(state, move)
    if (taken_down := taking_down.running(state, move)) is not None:
        batch = taking_down.submitted(state, rollout, taken_down, move.nodes, job, now).batch
    else:
        facts = rollout.start(move)
        state.watches[move] = Watch(Job.submitted(job, now))
    return Folded(state, (*facts, PhaseStarted(move.group, move.phase, move.nodes, job, batch)))


def fold_failure(
    state: RolloutState, rollout: Rollout, move: Move, trouble: PeerFailure, design: str
) -> Folded[RolloutState]:
    """Fail what was not submitted; held nodes only, so that the others follow."""
    if (taken_down := taking_down.running(state, move)) is not None:
        return Folded(state, _not_prepared(state, rollout, taken_down, trouble))
    if trouble.nodes:
        return Folded(state, rollout.hold(move, trouble.nodes))
    if trouble.refused:
        return _refused(state, rollout, move, trouble, design)
    facts = rollout.start(move)
    outcome = Outcome(timed_out=True, reasons=dict.fromkeys(move.nodes, trouble.detail), why=trouble.detail)
    ended = PhaseEnded(move.group, move.phase, PhaseStatus.TIMEOUT, trouble.detail, move.batch)
    return Folded(state, (*facts, ended, *rollout.finish(move, outcome)))


def _not_prepared(state: RolloutState, rollout: Rollout, move: Move, trouble: PeerFailure) -> tuple[Fact, ...]:
    """Fail the nodes of a move that were taken down, and that the provisioner was not given."""
    left = rollout.unsettled(move)
    if held := tuple(node for node in left if node in trouble.nodes):
        outcome = Outcome(reasons=trouble.nodes, held=True)
        if held != left:
            return rollout.progress(move, outcome, held)
    else:
        why = f"{move.phase.value} was refused: {trouble.detail}" if trouble.refused else trouble.detail
        outcome = Outcome(timed_out=not trouble.refused, reasons=dict.fromkeys(left, why), why=why)
    return finish(state.watches.pop(move), rollout, move, outcome, trouble.detail)


def _refused(
    state: RolloutState, rollout: Rollout, move: Move, trouble: PeerFailure, design: str
) -> Folded[RolloutState]:
    """Fail the group; and the step, if the provisioner would refuse every other group too."""
    why = f"{move.phase.value} was refused: {trouble.detail.rstrip('.')}. {AFTER_REFUSAL}"
    noted = Noted("Submission Refused", f"group {move.group}: {why}")
    facts = (noted, *rollout.refuse(move, why))
    if not trouble.whole_site:
        return Folded(state, tuple(facts))
    state.failed = f"group {move.group}: {why}"
    return Folded(state, (*facts, *leaving.left(state, rollout, design, state.failed)))
