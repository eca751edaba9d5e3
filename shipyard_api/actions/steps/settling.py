"""Settling the moves of a rollout: early certainties of a running move, its end, and groups without work."""

import dataclasses
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from shipyard_api.actions.steps import pacing
from shipyard_api.actions.steps.rollout_state import RolloutState, Watch
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseEnded
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.enforcing import blocked, enforce
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.workflow.step import Folded


def progress(
    watch: Watch, rollout: Rollout, move: Move, certain: Outcome, failed: frozenset[NodeName]
) -> tuple[Fact, ...]:
    """Settle the nodes of a running move whose outcome is certain."""
    watch.done = (*watch.done, *(node for node in rollout.unsettled(move) if node in certain.succeeded))
    return rollout.progress(move, certain, failed)


def finish(watch: Watch, rollout: Rollout, move: Move, outcome: Outcome, message: str) -> tuple[Fact, ...]:
    """End a move. Its watch is not needed any more."""
    good = len(watch.done) + len(outcome.succeeded.intersection(rollout.unsettled(move)))
    wait = watch.joining or watch.accepting
    timed_out = outcome.timed_out or outcome.never_begun or bool(wait and wait.timed_out)
    status = PhaseStatus.TIMEOUT if timed_out else _status(good, len(move.nodes))
    return (PhaseEnded(move.group, move.phase, status, message, move.batch), *rollout.finish(move, outcome))


def released(
    system: str, members: Mapping[GroupName, frozenset[NodeName]], to_release: Mapping[NodeName, str]
) -> tuple[Fact, ...]:
    """Return that these machines go on to their deployment, which releases them, without a preparation."""
    facts: list[Fact] = []
    for node, label in to_release.items():
        group = next(name for name, nodes in members.items() if node in nodes)
        why = f"{system} shows {label}: its deployment releases the machine; if it still fails by that, retry once more"
        facts.append(NodesChanged(group, Phase.PREPARE, NodeStatus.PREPARED, (node,), reasons={node: why}))
    return tuple(facts)


def unprepared(members: Mapping[GroupName, frozenset[NodeName]], nodes: Collection[NodeName]) -> tuple[Fact, ...]:
    """Return that these nodes go on to their deployment without a preparation."""
    facts: list[Fact] = []
    left = set(nodes)
    for group, names in members.items():
        if ready := tuple(sorted(left & names)):
            facts.append(NodesChanged(group, Phase.PREPARE, NodeStatus.PREPARED, ready))
            left.difference_update(ready)
    return tuple(facts)


def failures(facts: tuple[Fact, ...]) -> tuple[NodeName, ...]:
    """Return the nodes whose deployment failed; those that a hold, or wrong hardware, kept from it did not."""
    changes = [fact for fact in facts if isinstance(fact, NodesChanged)]
    failed = (fact for fact in changes if fact.status is NodeStatus.FAILURE and not (fact.held or fact.hardware))
    return tuple(node for fact in failed for node in fact.nodes)


def settled(folded: Folded[RolloutState], rollout: Rollout, now: datetime, pause: float) -> Folded[RolloutState]:
    """Begin what needs no provisioner, and wait only if nothing else may begin: for jobs, or for the policy.

    After a submission the action waits for what its intent named. ``pause``: seconds between two looks at a gate that
    nothing is known to end.
    """
    folded = folded.after(settle(rollout, now))
    if rollout.done or rollout.next_move(now) is not None:
        return dataclasses.replace(folded, wait_until=None)
    reason = blocked(rollout, now)
    if reason is None:
        return folded
    moments = [moment for moment in (folded.wait_until, reason.until) if moment is not None]
    if not rollout.running and reason.gate is not None:
        moments.append(now + timedelta(seconds=pause))
    wait_until = max(min(moments, default=now), now)
    awaited = folded.awaited
    if awaited is None and not rollout.running:
        awaited = pacing.awaited(reason, folded.state.action)
    if awaited is not None:
        awaited = replace(awaited, gates=pacing.approvals(rollout, now))
    return dataclasses.replace(folded, wait_until=wait_until, awaited=awaited)


def settle(rollout: Rollout, now: datetime) -> tuple[Fact, ...]:
    """Enforce the policy, and begin the groups whose nodes others moved, or that have none.

    An empty set of names must never be sent: to Drydock it means success (contract: drydock, 7, trap 3). When nothing
    is left to do, the report of the whole follows.
    """
    facts = list(enforce(rollout, now))
    while (move := rollout.next_move(now)) is not None and not move.nodes:
        facts.extend((*rollout.start(move), *enforce(rollout, now)))
    if rollout.done:
        facts.append(rollout.report())
    return tuple(facts)


def _status(good: int, of: int) -> PhaseStatus:
    if good == of:
        return PhaseStatus.SUCCESS
    return PhaseStatus.PARTIAL_SUCCESS if good else PhaseStatus.FAILURE
