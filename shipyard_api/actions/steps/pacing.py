"""The rollout policy in the baremetal nodes step: gates as questions, state as JSON, and the reasons of a wait."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.enforcing import blocked, open_gates
from shipyard_api.domain.rollout.policy.gates import Answer, Gate, Met, Unmet
from shipyard_api.domain.rollout.policy.pace import Blocked, OpenGate, WavePlace
from shipyard_api.domain.rollout.policy.pacing import ALL_AT_ONCE, Pace, Progress
from shipyard_api.domain.rollout.policy.policy import Policy
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


class GateAnswers(Protocol):
    """Where the answers to gates come from."""

    def __call__(self, action: str, gate: OpenGate) -> Answer | Met | Unmet | None:
        """Return the answer of a gate of the action, None while there is none."""


def of(
    inputs: SiteInputs,
    members: Mapping[GroupName, frozenset[NodeName]],
    stored: JsonObject | None = None,
    uncounted: frozenset[NodeName] = frozenset(),
) -> Pace:
    """Return what paces a rollout, with its stored progress: a policy, or that it interrupts servers.

    ``uncounted``: nodes that no criterion and no budget counts.
    """
    paces, ways = inputs.policy is not None and inputs.policy.paces, inputs.ways
    if not paces and not ways.interrupted:
        return ALL_AT_ONCE
    at_once, progress = inputs.configuration.mode.max_nodes_in_flight, Progress.from_json(stored or {})
    policy = inputs.policy.policy if inputs.policy is not None and paces else Policy()
    return Pace(policy, members, at_once=at_once, uncounted=uncounted, progress=progress, ways=ways)


def stopped_nodes(stored: JsonObject) -> Mapping[NodeName, str]:
    """Return the nodes that the stored policy of a rollout has stopped, with the rule of each."""
    return {NodeName(node): rule for node, rule in stored.get("withheld", {}).items()}


def spared_nodes(stored: JsonObject) -> Sequence[NodeName]:
    """Return the nodes that were prepared before the action: to a policy, they have not begun."""
    return [NodeName(node) for node in stored.get("spared", ())]


def dump(rollout: Rollout) -> dict[str, Any] | None:
    """Return the stored form of what the policy of a rollout has made of it, None without a policy."""
    progress = rollout.pace.to_json()
    return None if progress is None else {**progress, "withheld": rollout.withheld, "spared": sorted(rollout.spared)}


def approvals(rollout: Rollout, now: datetime) -> tuple[WaveGate, ...]:
    """Return the approvals that are open now."""
    return tuple(_wave_gate(gate) for gate in open_gates(rollout, now) if gate.state.asks_person)


def _wave_gate(gate: OpenGate) -> WaveGate:
    group, place = gate.place
    return WaveGate(gate.wave, place, gate.state.index, len(gate.nodes), gate.state.since, group)


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
                return Answer(approval.approve, approval.at, approval.by, approval.reason)
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


def awaited(reason: Blocked, action: str) -> Awaited:
    """Return what an action waits for that a rule keeps from going on."""
    if reason.gate is not None and reason.gate[1].asks_person:
        return Awaited("operator", f"approval after {reason.rule}: shipyard approve {action}")
    return Awaited(POLICY, f"{reason.rule}: {reason.why}", reason.unmet, answered=bool(reason.unmet))


def waits(rollout: Rollout, now: datetime, action: str) -> Awaited | None:
    """Return what an action waits for of which nothing runs, with the open approvals; None if no rule is why.

    A look must wait for the same as the time between two looks: each change is a line of the journal, and an approval
    is taken only for a gate that is shown.
    """
    if rollout.running or (reason := blocked(rollout, now)) is None:
        return None
    return replace(awaited(reason, action), gates=approvals(rollout, now))


def stopped(rollout: Rollout) -> str:
    """Return the end of a sentence about the nodes that the policy has stopped, empty without any."""
    if not rollout.withheld:
        return ""
    rules = ", ".join(dict.fromkeys(rollout.withheld.values()))
    return f"; stopped by the policy ({rules}): {len(rollout.withheld)} nodes"


def answer(
    rollout: Rollout, answers: Mapping[tuple[WavePlace, int], Answer | Met | Unmet], now: datetime
) -> Iterator[Fact]:
    """Keep the answers of gates, and return those of peers as facts; answers of people are facts already."""
    for (place, index), given in answers.items():
        if isinstance(given, Met):
            group = f" of group {place[0]}" if place[0] else ""
            wave = f"wave {rollout.pace.wave(place)[0]}{group}"
            yield Noted("Wave Gate Passed", f"{given.by} lets what follows {wave} begin: {given.detail}")
        rollout.pace.answer(
            place, index, Answer(True, now, given.by, given.detail) if isinstance(given, Met) else given
        )
