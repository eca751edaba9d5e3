"""What a policy makes of nodes that do not count."""

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.modes import SERIAL, Mode
from shipyard_api.domain.rollout.moves import Outcome
from shipyard_api.domain.rollout.paced import PacedRollout
from shipyard_api.domain.rollout.policy.budgets import Amount, Budget
from shipyard_api.domain.rollout.policy.pacing import Pacing
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.waves import Wave, Waves
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


def paced(policy: Policy, uncounted: str, mode: Mode = SERIAL) -> PacedRollout:
    rollout = PacedRollout(Strategy((ALL,)), {ALL.name: NODES}, mode)
    rollout.pace(Pacing(policy, rollout.members))
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
    rollout.enforce(T0)

    after = rollout.next_move(T0)
    assert move.nodes == ("n1",)
    assert " ".join(after.nodes if after else ()) == goes_on


def test_a_node_that_counts_again_is_judged_again() -> None:
    rollout = paced(ONE_AWAY, "n1 n2")
    first = rollout.next_move(T0)
    assert first.nodes == tuple(map(NodeName, ("n1", "n2", "n3")))
    rollout.start(first)
    rollout.leave_out(())

    assert rollout.blocked(T0) is not None
    assert str(rollout.pacing.domains[0]) == "budget site"
    assert len(rollout.pacing.domains[0].nodes) == len(NODES)
