"""What the pace of a rollout makes of it: what it stops for ever, and what it keeps from beginning now."""

from collections.abc import Iterator
from datetime import datetime

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.policy import WaveEnded
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.rollout.policy.gates import GateKind
from shipyard_api.domain.rollout.policy.pace import Blocked, OpenGate, WavePlace, WaveState
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import GroupName


def blocked(rollout: Rollout, now: datetime) -> Blocked | None:
    """Return why nothing may start now, of several reasons the one that ends first; None if no rule is why."""
    reasons: list[Blocked] = []
    for move, admission in rollout.candidates(now):
        if move is not None:
            return None
        reasons.extend(reason for reason, _ in admission.refused)
    return min(reasons, key=lambda reason: (reason.until is None, reason.until or now), default=None)


def open_gates(rollout: Rollout, now: datetime) -> tuple[OpenGate, ...]:
    """Return the gates that keep nodes from beginning now and can be answered: all but soaks, each once."""
    if not rollout.pace.has_waves:
        return ()
    gates: dict[WavePlace, OpenGate] = {}
    for reason in (reason for _, admission in rollout.candidates(now) for reason, _ in admission.refused):
        if reason.gate is None or reason.never or reason.gate[1].gate.kind is GateKind.SOAK:
            continue
        place, state = reason.gate
        name, nodes = rollout.pace.wave(place)
        deployed = tuple(node for node in sorted(nodes) if rollout.nodes[node] is NodeStatus.SUCCESS)
        gates[place] = OpenGate(place, state, deployed, name)
    return tuple(gates.values())


def enforce(rollout: Rollout, now: datetime) -> tuple[Fact, ...]:
    """Note the waves that have ended, stop what may never begin, and fail the groups that cannot succeed any more.

    Called after each change, with the time of that change.
    """
    facts: list[Fact] = []
    while rollout.pace.refuses and (
        news := (*_observed(rollout, now), *_stopped(rollout, now), *rollout.fail_hopeless(now))
    ):
        facts.extend(news)
    return tuple(facts)


def _observed(rollout: Rollout, now: datetime) -> Iterator[Fact]:
    for state in rollout.pace.observe(rollout.situation(), now):
        yield _wave_ended(state)


def _stopped(rollout: Rollout, now: datetime) -> Iterator[Fact]:
    """Withhold the nodes that no rule will ever let begin."""
    for stop in rollout.pace.stops(rollout.situation(), now):
        yield from rollout.withhold(stop.rule, stop.why, stop.nodes)
    candidates = list(rollout.candidates(now))
    refusals = [refused for _, admission in candidates for refused in admission.refused]
    moves = rollout.running or any(move is not None for move, _ in candidates)
    # Without anything that runs or ends by itself, no reason will go away. What waits for a wave that waits for a
    # window or a gate goes on after it.
    stuck = not moves and not any(reason.until or reason.gate for reason, _ in refusals if not reason.never)
    for reason, nodes in refusals:
        if reason.never or stuck:
            yield from rollout.withhold(reason.rule, reason.why, nodes)


def _wave_ended(state: WaveState) -> WaveEnded:
    group, _ = state.place
    missed = "; ".join(map(str, state.missed))
    return WaveEnded(GroupName(group) if group else None, state.name, state.nodes, state.begun, state.lost, missed)
