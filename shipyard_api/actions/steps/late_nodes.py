"""Late nodes of a rollout: noticing them, and recovering each of them once (product, section 13).

A phase begins when the provisioner begins it, not in its queue. Nothing here settles a node.
"""

from datetime import datetime

from shipyard_api.actions.steps.rollout_messages import Kind, Recover, Recovered
from shipyard_api.actions.steps.rollout_state import RolloutState, Watch
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesLate, NodesNotLate
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.lateness import Lateness, OnLate
from shipyard_api.workflow.step import Folded, PeerFailure


def rule(state: RolloutState, kind: Kind) -> Lateness | None:
    """Return when nodes are late. A service has no usual duration: its steps are others each time."""
    policy = state.inputs.policy
    return policy.lateness if policy is not None and kind is not Kind.SERVICE else None


def notice(state: RolloutState, late: Lateness, now: datetime) -> tuple[Fact, ...]:
    """Return the nodes that have become late, or are no longer; the watches of their moves keep those that are."""
    facts: list[Fact] = []
    for move, watch in state.watches.items():
        began = _began(watch)
        if began is None or state.rollout is None:
            continue
        seconds = (now - began).total_seconds()
        unsettled = state.rollout.unsettled(move)
        at_work = [node for node in unsettled if node not in _done(watch)]
        known, still = set(watch.late), set(at_work)
        if over := tuple(node for node in unsettled if node in known - still):
            facts.append(NodesNotLate(move.group, move.phase, over))
        late_nodes = late.late(move.phase, (node for node in at_work if node not in known), seconds)
        watch.late = (*(node for node in watch.late if node in still), *late_nodes)
        if late_nodes:
            facts.append(NodesLate(move.group, move.phase, late_nodes, seconds, hold=late.on_late is OnLate.HOLD))
    return tuple(facts)


def next_recovery(state: RolloutState, late: Lateness | None) -> Recover | None:
    """Return the late nodes of a move that must be recovered now, None without any.

    Nodes that run acceptance tasks are left alone: a task would fail by it. Work that has ended cannot begin again.
    """
    if late is None or late.on_late not in (OnLate.POWER_CYCLE, OnLate.RETRY):
        return None
    for move, watch in state.watches.items():
        done = {*watch.tried, *state.cycled}
        nodes = tuple(node for node in watch.late if node not in done)
        if not nodes or watch.accepting is not None:
            continue
        if late.on_late is OnLate.POWER_CYCLE or watch.at_provisioner:
            return Recover(move, nodes, retry=late.on_late is OnLate.RETRY)
    return None


def again(state: RolloutState, watch: Watch) -> frozenset[NodeName]:
    """Return the nodes with which the job of a move begins again."""
    if state.inputs.policy is None or not state.inputs.policy.retries:
        return frozenset()
    return frozenset(watch.tried).intersection(state.cycled)


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


def _done(watch: Watch) -> frozenset[NodeName]:
    """Return the nodes that the phase is done with, although they are settled with their move only."""
    if watch.joining is not None:
        return watch.joining.ready
    return watch.job.succeeded if watch.accepting is None else frozenset()


def _began(watch: Watch) -> datetime | None:
    """Return when a phase began with the nodes of a move, None while it may be queued."""
    return watch.job.running_since or (None if watch.at_provisioner else watch.job.submitted_at)
