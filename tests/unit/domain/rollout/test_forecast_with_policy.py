"""Forecasts with a policy: what it costs in time, and what it saves."""

from datetime import UTC, datetime, time
from itertools import product
from math import prod
from random import Random

import pytest

from shipyard_api.domain.groups import GroupStatus, Phase, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import PhaseAssumption
from shipyard_api.domain.rollout.enforcing import enforce, open_gates
from shipyard_api.domain.rollout.forecast import Forecast, forecast
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.group_statuses import GroupStatuses
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import SERIAL, Outcome
from shipyard_api.domain.rollout.planning import plan_groups
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget
from shipyard_api.domain.rollout.policy.gates import Gate, GateKind
from shipyard_api.domain.rollout.policy.pacing import Pace
from shipyard_api.domain.rollout.policy.pacing import Progress as PolicyProgress
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.waves import Scope, Wave, Waves
from shipyard_api.domain.rollout.policy.windows import Window, Windows
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy
from tests.unit.tables import every_row

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
STRATEGY = Strategy((DeploymentGroup(GroupName("a"), True, (), (), SuccessCriteria(percent_successful_nodes=90)),))
MEMBERS = {GroupName("a"): frozenset(NodeName(f"n{number}") for number in range(10))}
SECONDS = {Phase.PREPARE: 600.0, Phase.DEPLOY: 1200.0}
CANARY = Waves((Wave("canary", Amount(1)),))
AT_NOON = Progress(at=NOON)


def foretold(policy: Policy, failing: float = 0.0, runs: int = 200) -> Forecast:
    phases = {phase: PhaseAssumption(failing, [SECONDS[phase]]) for phase in Phase}
    membership = Membership(STRATEGY, MEMBERS)
    pace = Pace(policy, membership.members)
    return forecast(membership, SERIAL, phases, runs=runs, dice=Random(1), progress=AT_NOON, pace=pace)


@every_row(
    {
        "nothing": (Policy(), 1800),
        "a canary doubles it": (Policy(CANARY), 2 * 1800),
        "a soak counts, approvals do not": (
            Policy(Waves((Wave("c", Amount(1), gates=(Gate(GateKind.SOAK, 900), *[Gate(GateKind.APPROVAL)] * 2)),))),
            2 * 1800 + 900,
        ),
        "four at a time": (Policy(budgets=(Budget("site", max_unavailable=Amount(4)),)), 3 * 1800),
        "the night": (Policy(windows=Windows((Window("UTC", time(22), 3600),)), seconds=SECONDS), 10 * 3600 + 1800),
    },
)
def test_a_policy_takes_time(policy: Policy, seconds: float) -> None:
    found = foretold(policy, runs=10)  # no dice are thrown, so that all are the same

    assert (found.success.probability, found.seconds.p50) == (1.0, seconds)


def test_a_canary_saves_nodes_where_all_would_fail() -> None:
    plain, careful = (foretold(policy, failing=1.0, runs=10) for policy in (Policy(), Policy(CANARY)))

    assert plain.nodes_lost == careful.nodes_lost == 10  # not deployed
    assert careful.success.probability == 0.0
    assert careful.seconds.p50 == 600


FAILS = {Phase.PREPARE: 0.2, Phase.DEPLOY: 0.3}
FOUR = Membership(
    Strategy(
        (
            DeploymentGroup(GroupName("a"), True, (), (), SuccessCriteria(percent_successful_nodes=60)),
            DeploymentGroup(GroupName("b"), True, (GroupName("a"),), (), SuccessCriteria(minimum_successful_nodes=1)),
        )
    ),
    {
        GroupName("a"): frozenset(NodeName(f"n{number}") for number in range(3)),
        GroupName("b"): frozenset([NodeName("n3")]),
    },
)


def played(policy: Policy) -> tuple[float, float]:
    """Return the chance of success and the nodes lost, from playing every way in which the nodes may fail."""
    good = (1 - FAILS[Phase.PREPARE]) * (1 - FAILS[Phase.DEPLOY])
    weights = {None: good, Phase.PREPARE: FAILS[Phase.PREPARE]}
    success, lost = 0.0, 0.0
    for ends in product((None, *Phase), repeat=len(FOUR.nodes)):
        weight = prod(weights.get(end, (1 - FAILS[Phase.PREPARE]) * FAILS[Phase.DEPLOY]) for end in ends)
        fails = dict(zip(FOUR.nodes, ends, strict=True))
        rollout = Rollout.resumed(FOUR, SERIAL, Pace(policy, FOUR.members))
        enforce(rollout, NOON)
        while not rollout.done:
            if move := rollout.next_move(NOON):
                rollout.start(move)
            else:
                first = rollout.running[0]
                rollout.finish(first, Outcome(frozenset(n for n in first.nodes if fails[n] is not first.phase)))
            enforce(rollout, NOON)
        success += weight * (rollout.verdict() is Verdict.SUCCESS)
        lost += weight * sum(status is not NodeStatus.SUCCESS for status in rollout.nodes.values())
    return success, lost


@every_row(
    {
        "a canary": Policy(CANARY),
        "waves over the action": Policy(Waves((Wave("one", Amount(1)),), Scope.ACTION)),
        "none may be lost": Policy(budgets=(Budget("site", max_lost=Amount(0)),)),
    },
)
def test_a_forecast_agrees_with_played_rollouts(policy: Policy) -> None:
    success, lost = played(policy)
    phases = {phase: PhaseAssumption(FAILS[phase], [SECONDS[phase]]) for phase in Phase}

    pace = Pace(policy, FOUR.members)

    found = forecast(FOUR, SERIAL, phases, runs=80, dice=Random(1), progress=AT_NOON, pace=pace)

    # Twice the interval: once in 10,000 it would not be.
    assert abs(found.success.probability - success) <= found.success.high - found.success.low
    assert found.nodes_lost == pytest.approx(lost, abs=0.5)


def test_more_runs_than_are_played_change_no_chance() -> None:
    found = foretold(Policy(CANARY), runs=2000)

    assert (found.runs, found.groups[0].success.probability) == (200, 1.0)


def test_a_plan_says_when_the_waves_of_a_group_begin() -> None:
    policy = Policy(CANARY, windows=Windows((Window("UTC", time(22), 2 * 3600),)), seconds=SECONDS)
    assumed = {phase: PhaseAssumption(0.0, [SECONDS[phase]]) for phase in Phase}

    (group,) = plan_groups(STRATEGY, MEMBERS, SERIAL, (), assumed, Pace(policy, MEMBERS), NOON)
    (plain,) = plan_groups(STRATEGY, MEMBERS, SERIAL)

    begins = NOON.replace(hour=22)
    assert [(wave.name, len(wave.nodes), wave.starts) for wave in group.waves] == [
        ("canary", 1, begins),
        ("rest", 9, begins.replace(minute=30)),
    ]
    assert plain.waves == ()


def test_a_plan_sends_what_the_policy_lets_through() -> None:
    racks = {node: {"rack": "r1"} for node in MEMBERS[GroupName("a")]}
    policy = Policy(budgets=(Budget("racks", "rack", max_unavailable=Amount(3)),), topology=racks)

    (group,) = plan_groups(STRATEGY, MEMBERS, SERIAL, pace=Pace(policy, MEMBERS), at=NOON)

    assert len(group.sends) == 10
    assert group.can_succeed


@every_row(
    {
        "a query": (Gate(GateKind.QUERY, query="up", limit=60), True, [GateKind.QUERY]),
        "an approval": (Gate(GateKind.APPROVAL), True, [GateKind.APPROVAL]),
        "a soak ends by itself": (Gate(GateKind.SOAK, 60), True, []),
        "the wave before it has not ended": (Gate(GateKind.QUERY, query="up"), False, []),
    },
)
def test_the_gates_that_a_rollout_waits_for_are_those_that_a_rehearsal_would_pass(
    gate: Gate, ended: bool, kinds: list[GateKind]
) -> None:
    policy = Policy(Waves((Wave("canary", Amount(1), gates=(gate,)),)))
    nodes = {NodeName("n0"): NodeStatus.SUCCESS if ended else NodeStatus.PREPARED}
    pace = Pace(policy, MEMBERS, progress=PolicyProgress({("a", 0): NOON} if ended else {}))

    rollout = Rollout.resumed(
        Membership(STRATEGY, MEMBERS), SERIAL, pace, nodes=nodes, groups={GroupName("a"): GroupStatus.DEPLOYING}
    )

    assert [one.state.gate.kind for one in open_gates(rollout, NOON)] == kinds


def test_thousands_of_groups_of_the_same_nodes_are_looked_at_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins and has nothing to send; asking all others every time would take the square of their number."""
    names = [GroupName(f"g{number}") for number in range(200)]
    groups = [DeploymentGroup(name, False, (), (), SuccessCriteria()) for name in names]
    membership = Membership(Strategy(tuple(groups)), dict.fromkeys(names, MEMBERS[GroupName("a")]))
    looked, opened = [], GroupStatuses.opened
    monkeypatch.setattr(GroupStatuses, "opened", lambda *given: looked.append(given[1]) or opened(*given))
    policy = Policy(budgets=(Budget("site", max_unavailable=Amount(4)),))
    phases = {phase: PhaseAssumption(0.0, [SECONDS[phase]]) for phase in Phase}

    pace = Pace(policy, membership.members)

    forecast(membership, SERIAL, phases, runs=1, dice=Random(1), progress=AT_NOON, pace=pace)

    assert len(looked) < 20 * len(names)
