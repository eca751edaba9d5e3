"""The rollout policy in the baremetal nodes step: gates as questions, state as JSON, and the reasons of a wait."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.paced import PacedRollout
from shipyard_api.domain.rollout.policy.gates import Answer, Gate, Met, Unmet
from shipyard_api.domain.rollout.policy.pacing import Blocked, OpenGate, Pacing, Progress, WavePlace
from shipyard_api.domain.rollout.rehearsal import Pace
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.errors import PeerError, Refused
from shipyard_api.ports.metrics import Queries
from shipyard_api.storage.unit_of_work import Store

LOG = logging.getLogger(__name__)

POLICY = "the rollout policy"
"""Who an action waits for that a rule of its policy keeps from going on."""

# A rollout asks with the time of each move; only a rehearsal has a begin.
_UNUSED = datetime.fromtimestamp(0, UTC)


class GateAnswers(Protocol):
    """Where the answers to gates come from."""

    def __call__(self, action: str, gate: OpenGate) -> Answer | Met | Unmet | None:
        """Return the answer of a gate of the action, None while there is none."""


def rollout_type(inputs: SiteInputs) -> type[Rollout]:
    """Return the class of the rollout: only a site whose policy paces it has a paced one."""
    return PacedRollout if inputs.policy is not None and inputs.policy.paces else Rollout


def begin(inputs: SiteInputs, members: Mapping[GroupName, frozenset[NodeName]]) -> Rollout:
    """Return the rollout of a site before its first move."""
    rollout = rollout_type(inputs)(inputs.strategy, members, inputs.configuration.mode)
    pace(rollout, inputs)
    return rollout


def pace(rollout: Rollout, inputs: SiteInputs, stored: Mapping[str, Any] | None = None) -> None:
    """Set the policy of a rollout that has one, with its stored state."""
    if isinstance(rollout, PacedRollout) and (now := at(inputs, rollout.members, _UNUSED, stored)):
        rollout.pace(now.pacing, now.waves, spared=now.spared, withheld=now.withheld)


def at(
    inputs: SiteInputs,
    members: Mapping[GroupName, frozenset[NodeName]],
    begin: datetime,
    stored: Mapping[str, Any] | None = None,
    uncounted: frozenset[NodeName] = frozenset(),
) -> Pace | None:
    """Return the policy of a rollout at the moment ``begin``, with its stored state; None without one that paces it.

    ``uncounted``: nodes that no criterion and no budget counts.
    """
    if inputs.policy is None or not inputs.policy.paces:
        return None
    stored = stored or {}
    progress = Progress(
        {(course, wave): _moment(at) for course, wave, at in stored.get("ended", ())},
        {},
    )
    for course, wave, index, passed, at, by, detail in stored.get("answers", ()):
        progress.answers.setdefault((course, wave), {})[index] = Answer(passed, _moment(at), by, detail)
    at_once = inputs.configuration.mode.max_nodes_in_flight
    pacing = Pacing(inputs.policy.policy, members, at_once=at_once, uncounted=uncounted)
    spared = [NodeName(node) for node in stored.get("spared", ())]
    withheld = {NodeName(node): rule for node, rule in stored.get("withheld", {}).items()}
    return Pace(pacing, begin, progress, spared, withheld)


def spare(rollout: Rollout, nodes: Collection[NodeName]) -> None:
    """Note the nodes that were prepared before the action: to a policy, they have not begun."""
    if isinstance(rollout, PacedRollout):
        rollout.spared.update(nodes)


def dump(rollout: Rollout) -> dict[str, Any] | None:
    """Return the stored form of what the policy of a rollout has made of it, None without a policy."""
    if not isinstance(rollout, PacedRollout):
        return None
    waves = rollout.waves
    return {
        "ended": [[course, wave, at.isoformat()] for (course, wave), at in waves.ended.items()],
        "answers": [
            [course, wave, index, answer.passed, answer.at.isoformat(), answer.by, answer.detail]
            for (course, wave), answers in waves.answers.items()
            for index, answer in answers.items()
        ],
        "withheld": rollout.withheld,
        "spared": sorted(rollout.spared),
    }


def blocked(rollout: Rollout, now: datetime) -> Blocked | None:
    """Return which rule keeps the rollout from starting the next move, None if none does."""
    return rollout.blocked(now) if isinstance(rollout, PacedRollout) and rollout.next_move(now) is None else None


def gates(rollout: Rollout, now: datetime) -> tuple[OpenGate, ...]:
    """Return the gates that are open now and can be answered."""
    return rollout.open_gates(now) if isinstance(rollout, PacedRollout) else ()


def approvals(rollout: Rollout, now: datetime) -> tuple[WaveGate, ...]:
    """Return the approvals that are open now."""
    return tuple(_wave_gate(rollout, gate) for gate in gates(rollout, now) if gate.state.asks_person)


def _wave_gate(rollout: Rollout, gate: OpenGate) -> WaveGate:
    if not isinstance(rollout, PacedRollout):
        raise TypeError("only a rollout with a policy has gates")
    group, place = gate.place
    name = rollout.pacing.wave_name(gate.place)
    return WaveGate(group, name, place, gate.state.index, len(gate.nodes), gate.state.since)


def answers(store: Store, queries: Queries | None = None) -> GateAnswers:
    """Return the answers that people have given, as the store holds them, and those of queries.

    ``queries``: None where no Prometheus is configured.
    """

    def ask(action: str, gate: OpenGate) -> Answer | Met | Unmet | None:
        if not gate.state.asks_person:
            return _queried(queries, gate.state.gate)
        with store.begin() as tx:
            _, given = tx.actions.approvals(ActionId(action))
        place, index, since = gate.place, gate.state.index, gate.state.since
        for approval in reversed(given):
            if ((approval.gate.group, approval.gate.place), approval.gate.index, approval.gate.since) == (
                place,
                index,
                since,
            ):
                return Answer(approval.passed, approval.at, approval.by, approval.reason)
        return None

    return ask


def _queried(queries: Queries | None, gate: Gate) -> Met | Unmet:
    if queries is None:
        return Unmet("this worker is configured with no Prometheus ([prometheus] url)")
    try:
        result = queries.ask(gate.query)
    except PeerError as error:
        LOG.warning("peer in trouble", extra={"trouble": str(error)})
        # A query that is rejected has an answer.
        passes = not gate.strict and not isinstance(error, Refused)
        return Met(queries.name, f"not strict: {error}") if passes else Unmet(str(error))
    return Met(queries.name, result.text) if result.holds else Unmet(f"does not hold: {result.text}")


def awaited(rollout: Rollout, reason: Blocked, action: str) -> Awaited:
    """Return what an action waits for that a rule keeps from going on."""
    if reason.gate is None or not isinstance(rollout, PacedRollout):
        return Awaited(POLICY, f"{reason.rule}: {reason.why}")
    place, gate = reason.gate
    if gate.asks_person:
        return Awaited("operator", f"approval after {reason.rule}: shipyard approve {action}")
    unmet = rollout.waves.unmet.get((place, gate.index), "")
    return Awaited(POLICY, f"{reason.rule}: {reason.why}", unmet, answered=bool(unmet))


def waits(rollout: Rollout, now: datetime, action: str) -> Awaited | None:
    """Return what an action waits for of which nothing runs, with the open approvals; None if no rule is why.

    A look must wait for the same as the time between two looks: each change is a line of the journal, and an approval
    is taken only for a gate that is shown.
    """
    if rollout.running or (reason := blocked(rollout, now)) is None:
        return None
    return replace(awaited(rollout, reason, action), gates=approvals(rollout, now))


def stopped(rollout: Rollout) -> str:
    """Return the end of a sentence about the nodes that the policy has stopped, empty without any."""
    if not isinstance(rollout, PacedRollout) or not rollout.withheld:
        return ""
    rules = ", ".join(dict.fromkeys(rollout.withheld.values()))
    return f"; stopped by the policy ({rules}): {len(rollout.withheld)} nodes"


def enforce(rollout: Rollout, now: datetime) -> tuple[Fact, ...]:
    """Stop what the policy lets never begin; see the paced rollout."""
    return rollout.enforce(now) if isinstance(rollout, PacedRollout) else ()


def answer(
    rollout: Rollout, answers: Mapping[tuple[WavePlace, int], Answer | Met | Unmet], now: datetime
) -> Iterator[Fact]:
    """Keep the answers of gates, and return those of peers as facts; answers of people are facts already."""
    if not isinstance(rollout, PacedRollout):
        return
    for (place, index), given in answers.items():
        if isinstance(given, Unmet):
            rollout.waves.unmet[place, index] = given.detail
            continue
        if isinstance(given, Met):
            group = f" of group {place[0]}" if place[0] else ""
            wave = f"wave {rollout.pacing.wave_name(place)}{group}"
            yield Noted("Wave Gate Passed", f"{given.by} lets what follows {wave} begin: {given.detail}")
        answer = Answer(True, now, given.by, given.detail) if isinstance(given, Met) else given
        rollout.waves.answers.setdefault(place, {})[index] = answer


def _moment(stored: str) -> datetime:
    return datetime.fromisoformat(stored)
