"""What a policy makes of nodes that do not count, and of a window that closes while a group is at work."""

from datetime import time, timedelta

from msgspec.structs import replace

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.enforcing import blocked, enforce
from shipyard_api.domain.rollout.moves import SERIAL, Mode, Outcome
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget
from shipyard_api.domain.rollout.policy.pacing import Pace
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.waves import Wave, Waves
from shipyard_api.domain.rollout.policy.windows import Unit, Window, Windows
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import Strategy
from tests.factories import group
from tests.unit.actions.steps.instants import T0
from tests.unit.tables import every_row

NODES = [NodeName(f"n{number}") for number in range(1, 5)]
ALL = group("all")
CANARY = Policy(Waves((Wave("canary", Amount(1)),)))
ONE_AWAY = Policy(budgets=(Budget("site", max_unavailable=Amount(1)),))
NONE_LOST = Policy(budgets=(Budget("site", max_lost=Amount(0)),))
A_THIRD_AWAY = Policy(budgets=(Budget("site", max_unavailable=Amount(34, percent=True)),))


def paced(policy: Policy, uncounted: str, mode: Mode = SERIAL) -> Rollout:
    rollout = Rollout(Strategy((ALL,)), {ALL.name: NODES}, mode, Pace(policy, {ALL.name: frozenset(NODES)}))
    rollout.leave_out(map(NodeName, uncounted.split()))
    return rollout


@every_row(
    {
        "a budget": (ONE_AWAY, "", "n1"),
        "a node in no budget": (ONE_AWAY, "n1", "n1 n2"),
        "a share of four": (A_THIRD_AWAY, "", "n1"),
        "a share of three": (A_THIRD_AWAY, "n4", "n1 n4"),
    },
)
def test_an_uncounted_node_begins_beside_the_budget(policy: Policy, uncounted: str, begins: str) -> None:
    move = paced(policy, uncounted).next_move(T0)

    assert " ".join(move.nodes) == begins


@every_row(
    {
        "a wave that has failed": (CANARY, "", ""),
        "a wave whose failure does not count": (CANARY, "n1", "n2"),
        "a wave before an uncounted node": (CANARY, "n2", ""),
        "a budget that is used up": (NONE_LOST, "", ""),
        "a node that is not in the budget": (NONE_LOST, "n2", "n2"),
    },
)
def test_the_loss_of_an_uncounted_node_stops_nothing(policy: Policy, uncounted: str, goes_on: str) -> None:
    rollout = paced(policy, uncounted, Mode(max_nodes_in_flight=1))
    move = rollout.next_move(T0)
    rollout.start(move)
    rollout.finish(move, Outcome())
    enforce(rollout, T0)

    after = rollout.next_move(T0)
    assert move.nodes == ("n1",)
    assert " ".join(after.nodes if after else ()) == goes_on


def test_a_node_that_counts_again_is_judged_again() -> None:
    rollout = paced(ONE_AWAY, "n1 n2")
    first = rollout.next_move(T0)
    assert first.nodes == tuple(map(NodeName, ("n1", "n2", "n3")))
    rollout.start(first)
    rollout.leave_out(())

    assert blocked(rollout, T0) is not None
    assert str(rollout.pace.domains[0]) == "budget site"
    assert len(rollout.pace.domains[0].nodes) == len(NODES)


BEGIN = T0.replace(hour=22, minute=0, second=0, microsecond=0)
CLOSE = BEGIN + timedelta(hours=1)
HOUR = Windows((Window("UTC", time(22), 3600),))
TWENTY_MINUTES = {Phase.PREPARE: 600.0, Phase.DEPLOY: 600.0}


@every_row(
    {
        (f"{name}, {unit.value}"): (policy, unit)
        for name, policy in {"a budget": ONE_AWAY, "a wave": CANARY}.items()
        for unit in Unit
    }
)
def test_a_node_begins_only_in_a_window_however_many_of_its_group_have_begun(policy: Policy, unit: Unit) -> None:
    rollout = paced(replace(policy, windows=replace(HOUR, unit=unit), seconds=TWENTY_MINUTES), "")
    rollout.start(rollout.next_move(BEGIN))
    rollout.finish(rollout.running[0], Outcome(frozenset(NODES)))
    rollout.start(rollout.next_move(CLOSE))  # what has begun ends
    rollout.finish(rollout.running[0], Outcome(frozenset(NODES)))
    enforce(rollout, CLOSE)

    part = f"the 1200 s of a {unit.value}"
    late, early = CLOSE - timedelta(minutes=10), CLOSE - timedelta(minutes=30)
    assert [rollout.next_move(moment) for moment in (CLOSE, late)] == [None, None]
    assert rollout.next_move(early) is not None
    assert [(blocked(rollout, moment).why, blocked(rollout, moment).until) for moment in (CLOSE, late)] == [
        ("closed until 2026-03-02T22:00:00Z", BEGIN + timedelta(days=1)),
        (f"{part} do not end before the window closes at 2026-03-01T23:00:00Z", BEGIN + timedelta(days=1)),
    ]
