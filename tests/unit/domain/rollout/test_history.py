"""What is assumed of a site, and how good forecasts from its history are."""

from collections.abc import Mapping
from random import Random

import pytest

from shipyard_api.domain.groups import Phase, Verdict
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.assumptions import PRIOR, Assumptions, Beta, PhaseAssumption
from shipyard_api.domain.rollout.forecast import draw_nodes, succeeding
from shipyard_api.domain.rollout.group_runs import NOTHING_DONE, GroupRuns
from shipyard_api.domain.rollout.history import PhaseHistory, assume
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import SERIAL
from shipyard_api.domain.rollout.rehearsal import rehearse
from shipyard_api.domain.strategy.strategy import GroupName
from tests.factories import group, strategy
from tests.unit.tables import every_row

LIMITS = {Phase.PREPARE: 1000.0, Phase.DEPLOY: 2000.0}


@every_row(
    {
        "no history": (PhaseHistory(), {}, PRIOR, (250, 500, 750)),
        "nodes without durations": (PhaseHistory(3, 97), {}, Beta(3.2, 106.8), (250, 500, 750)),
        "measured": (PhaseHistory(0, 5, [60, 70, 90]), {}, Beta(0.2, 14.8), (60, 70, 90)),
        "a single phase": (PhaseHistory(0, 1, [60]), {}, Beta(0.2, 10.8), (60, 60, 60)),
        "given": (PhaseHistory(3, 7), {Phase.PREPARE: 0.5}, 0.5, (250, 500, 750)),
    },
)
def test_what_is_measured_replaces_what_is_usual(
    measured: PhaseHistory, given: Mapping[Phase, float], failure: float | Beta, seconds: tuple[float, ...]
) -> None:
    found = assume({Phase.PREPARE: measured}, LIMITS, given)[Phase.PREPARE]

    assert found.failure == (pytest.approx(failure) if isinstance(failure, float) else failure)
    middle = len(found.seconds) // 2
    assert tuple(round(found.seconds[place]) for place in (0, middle, -1)) == seconds


NIGHTS, RUNS = 150, 100


def night(dice: Random) -> tuple[Membership, dict[Phase, float]]:
    """Return a site with up to 30 nodes, and the hidden probabilities that a node of it fails."""
    sizes = [dice.randint(2, 10) for _ in range(3)]
    names = [[f"g{place}n{number}" for number in range(size)] for place, size in enumerate(sizes)]
    one, two, three = (
        group("g0", critical=True, percent=dice.choice([80, 90, 100])),
        group("g1", critical=dice.random() < 0.5, after=["g0"], maximum_failed=dice.randint(0, 3)),
        group("g2", critical=True, after=dice.choice([["g0"], ["g1"], []]), minimum=dice.randint(1, sizes[2])),
    )
    members = {GroupName(f"g{place}"): frozenset(map(NodeName, nodes)) for place, nodes in enumerate(names)}
    hidden = {phase: dice.choice([0.0, 0.01, 0.03, 0.1, 0.25]) * dice.random() * 2 for phase in Phase}
    return Membership(strategy(one, two, three), members), hidden


def observed(hidden: float, nodes: int, dice: Random) -> PhaseHistory:
    failed = sum(dice.random() < hidden for _ in range(nodes))
    return PhaseHistory(failed, nodes - failed)


def chance(membership: Membership, assumptions: Assumptions, seed: int) -> float:
    nodes = draw_nodes(membership, assumptions, runs=RUNS, dice=Random(seed))
    return GroupRuns(membership, nodes, NOTHING_DONE, (1 << RUNS) - 1).action.bit_count() / RUNS


def test_forecasts_from_history_are_nearly_as_good_as_an_oracles() -> None:
    """150 nights of sites with one to five nights of history: Brier score at most 0.05 above that of the truth."""
    dice = Random(7)
    measured = oracle = 0.0
    for seed in range(NIGHTS):
        membership, hidden = night(dice)
        truth = {phase: PhaseAssumption(hidden[phase], [1.0]) for phase in Phase}
        history = {phase: observed(hidden[phase], dice.randint(1, 5) * len(membership.nodes), dice) for phase in Phase}
        played = succeeding(draw_nodes(membership, truth, runs=1, dice=Random(-seed - 1)), 0)
        ended = rehearse(membership, SERIAL, NOTHING_DONE, played, truth, Random(seed)).rollout
        outcome = ended.verdict() is Verdict.SUCCESS
        measured += (chance(membership, assume(history, LIMITS, {}), seed) - outcome) ** 2
        oracle += (chance(membership, truth, seed) - outcome) ** 2

    assert measured / NIGHTS <= oracle / NIGHTS + 0.05
    # The score tells forecasts apart: that of an even chance is 0.25.
    assert oracle / NIGHTS < 0.2
