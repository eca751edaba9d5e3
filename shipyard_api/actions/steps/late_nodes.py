"""Late nodes of a rollout: noticing them, and recovering each of them once (product, section 13).

A phase begins when the provisioner begins it, not in its queue. Nothing here settles a node.
"""

from collections.abc import Mapping
from datetime import datetime

from shipyard_api.actions.steps.rollout_messages import Answers, PollJobs, Recover, Recovered
from shipyard_api.actions.steps.rollout_state import RolloutState, Watch
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesLate, NodesNotLate
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.policy.lateness import Lateness, OnLate
from shipyard_api.ports.provisioner import JobReport, Operation, Provisioner, Work
from shipyard_api.workflow.step import Folded, PeerFailure


def rule(state: RolloutState) -> Lateness | None:
    """Return when nodes are late, None if the policy says nothing about it."""
    return state.inputs.policy.lateness if state.inputs.policy is not None else None


def over(state: RolloutState, late: Lateness | None, now: datetime) -> frozenset[Move]:
    """Return the moves with nodes that are late as far as is known, and not noted as late: the next poll reads them."""
    if late is None:
        return frozenset()
    moves = state.watches.items()
    return frozenset(move for move, watch in moves if _late(state, late, move, now).keys() - set(watch.late))


def notice(state: RolloutState, late: Lateness, asked: PollJobs, answers: Answers, now: datetime) -> tuple[Fact, ...]:
    """Return the nodes that have become late, or are no longer; the watches of their moves keep those that are.

    Only an answer that was read for this poll makes a node late: an older one may have been overtaken by its end. A
    node is held once in an action.
    """
    facts: list[Fact] = []
    for move, watch in state.watches.items():
        nodes = _late(state, late, move, now)
        if done := tuple(node for node in watch.late if node not in nodes):
            facts.append(NodesNotLate(move.group, move.phase, done))
        known = tuple(node for node in watch.late if node in nodes)
        new = [node for node in nodes if node not in known] if _is_read(watch, asked, answers) else []
        watch.late = (*known, *new)
        held = [node for node in new if late.on_late is OnLate.HOLD and node not in state.cycled]
        state.cycled = (*state.cycled, *held)
        for hold in (True, False):
            if usual := {node: nodes[node] for node in new if (node in held) is hold}:
                facts.append(NodesLate(move.group, move.phase, usual, _seconds(watch, now), hold=hold))
    return tuple(facts)


def next_recovery(state: RolloutState, late: Lateness | None) -> Recover | None:
    """Return the late nodes of a move that must be recovered now, None without any.

    Nodes that the provisioner is done with are left alone, whatever they wait for.
    """
    if late is None or late.on_late not in (OnLate.POWER_CYCLE, OnLate.RETRY):
        return None
    for move, watch in state.watches.items():
        done = {*watch.tried, *state.cycled}
        nodes = tuple(node for node in watch.late if node not in done)
        if nodes and watch.at_provisioner:
            return Recover(move, nodes, watch.job.id, retry=late.on_late is OnLate.RETRY)
    return None


def again(state: RolloutState, watch: Watch) -> frozenset[NodeName]:
    """Return the nodes with which the job of a move begins again."""
    if state.inputs.policy is None or not state.inputs.policy.retries:
        return frozenset()
    return frozenset(watch.tried).intersection(state.cycled)


def perform(effect: Recover, provisioner: Provisioner, operation: Operation) -> Recovered:
    """Power-cycle the nodes on which their job still works. Nothing is sent to begin again: polls ask for it."""
    return Recovered({} if effect.retry else provisioner.power_cycle(effect.job, Work(operation, "", effect.nodes)))


def fold(state: RolloutState, effect: Recover, report: Recovered | PeerFailure) -> Folded[RolloutState]:
    """Record the outcome of a recovery. A node that was refused or held is not tried again in this phase."""
    if isinstance(report, PeerFailure):
        refused = dict(report.nodes) or dict.fromkeys(effect.nodes, report.detail)
        sent: tuple[NodeName, ...] = ()
    else:
        refused = dict(report.refused)
        sent = tuple(node for node in effect.nodes if node not in refused)
    watch = state.watches[effect.move]
    watch.tried = (*watch.tried, *refused, *sent)
    state.cycled = (*state.cycled, *sent)
    unknown = isinstance(report, Recovered) and report.unknown
    phase, verb = effect.move.phase.value, "Begun Again" if effect.retry else "Power-Cycled"
    how = "once; the time limit of its phase stays" if effect.retry else "once; its phase goes on"
    how = "the outcome is unknown, and it is not repeated" if unknown else how
    facts = [Noted(f"Late Node {verb}", f"node {node}, late in {phase}: {how}") for node in sent]
    facts += [Noted(f"Late Node Not {verb}", f"node {node}, late in {phase}: {why}") for node, why in refused.items()]
    return Folded(state, tuple(facts))


def _late(state: RolloutState, late: Lateness, move: Move, now: datetime) -> Mapping[NodeName, float]:
    """Return the late nodes of a move, each with its limit, in the order of the move.

    The clock of a node runs while the provisioner works on it, and anew while it waits for Kubernetes. Acceptance tasks
    have time limits of their own. Nodes that stay installed have no usual duration: each service has other steps.
    """
    if state.way(move).stays:
        return {}
    watch = state.watches[move]
    done = watch.job.succeeded if watch.joining is None else frozenset(move.nodes) - watch.joining.nodes
    unsettled = state.rollout.unsettled(move) if state.rollout and watch.accepting is None else ()
    return late.late(move.phase, (node for node in unsettled if node not in done), _seconds(watch, now))


def _seconds(watch: Watch, now: datetime) -> float:
    """Return how long the work on the nodes of a move, or their wait, has lasted; 0 while it may be queued."""
    began = watch.joining.since if watch.joining else watch.job.running_since
    return (now - began).total_seconds() if began else 0.0


def _is_read(watch: Watch, asked: PollJobs, answers: Answers) -> bool:
    """Return whether this poll has read how the nodes of a move are."""
    if watch.joining is not None:
        return isinstance(answers.readiness, Mapping)
    work = asked.jobs.get(watch.job.id)
    return work is not None and work.fresh and isinstance(answers.of(watch.job.id), JobReport)
