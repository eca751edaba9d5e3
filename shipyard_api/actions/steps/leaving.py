"""What a rollout leaves behind when Shipyard no longer waits for the jobs of its moves."""

from shipyard_api.actions.steps import node_waits
from shipyard_api.actions.steps.job_watch import Watched
from shipyard_api.actions.steps.rollout_messages import operation
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.actions.steps.settling import finish, progress
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.phases import PhaseEnded
from shipyard_api.domain.groups import PhaseStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.ways import Way, WayPhase
from shipyard_api.ports.provisioner import JobId


def straggler(
    way: Way,
    design: str,
    move: Move,
    job: JobId,
    nodes: tuple[NodeName, ...],
    done: frozenset[NodeName],
    why: str,
) -> tuple[WorkLeftBehind, ...]:
    """Return the straggler of a move; it holds the nodes that its job is not done with.

    A drain goes on only while it is polled, so it leaves none.
    """
    if way.job(move.phase) is WayPhase.DRAIN:
        return ()
    held = tuple(node for node in nodes if node not in done) or nodes
    return (WorkLeftBehind(operation(way, move.phase).value, job, design, held, why),)


def never_begun(state: RolloutState, rollout: Rollout, move: Move, design: str, watched: Watched) -> tuple[Fact, ...]:
    """Return the facts about a job that the provisioner kept in its queue for too long."""
    job, nodes = watched.job.id, rollout.unsettled(move)
    why = f"{watched.why}; job {job} may still begin"
    outcome = Outcome(why=why, never_begun=True)
    behind = straggler(state.way(move), design, move, job, nodes, frozenset(), watched.why)
    return (*behind, *finish(state.watches.pop(move), rollout, move, outcome, why))


def left(state: RolloutState, rollout: Rollout, design: str, why: str) -> tuple[Fact, ...]:
    """Return the jobs of all running moves as left behind, and what the rollout has failed by it."""
    facts: list[Fact] = []
    for move in rollout.running:
        watch = state.watches[move]
        detail = why
        facts.extend(node_waits.leave(state, move, why))
        if watch.at_provisioner and not node_waits.waits(state, move):
            facts.extend(progress(watch, rollout, move, Outcome(watch.job.succeeded), frozenset()))
        if watch.at_provisioner and (unsettled := rollout.unsettled(move)):
            job = watch.job.id
            facts.extend(straggler(state.way(move), design, move, job, unsettled, frozenset(), why))
            detail = f"{why}; job {job} may be at work"
        facts.append(PhaseEnded(move.group, move.phase, PhaseStatus.STOPPED, detail, move.batch))
    return (*facts, *rollout.stop(why), rollout.report())
