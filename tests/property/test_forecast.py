"""A forecast follows the rules of the rollout: it counts over all runs what the rollout does in each of them."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.groups import GroupStatus, Phase, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import PhaseAssumption
from shipyard_api.domain.rollout.forecast import draw_nodes, succeeding
from shipyard_api.domain.rollout.group_runs import NOTHING_DONE, GroupRuns, Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import SERIAL, Mode
from shipyard_api.domain.rollout.rehearsal import rehearse
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from tests.property.sites import NODES, Site, modes, sites, some

RUNS = 8
EVERY = (1 << RUNS) - 1
probabilities = st.sampled_from([0.0, 0.1, 0.4, 0.7, 1.0])


def assumed(prepare: float, deploy: float) -> dict[Phase, PhaseAssumption]:
    return {Phase.PREPARE: PhaseAssumption(prepare, [1, 2, 3]), Phase.DEPLOY: PhaseAssumption(deploy, [4, 8])}


def counted(site: Site, prepare: float, deploy: float, seed: int, progress: Progress = NOTHING_DONE) -> GroupRuns:
    membership = Membership(site.strategy, site.members)
    nodes = draw_nodes(membership, assumed(prepare, deploy), runs=RUNS, dice=Random(seed), progress=progress)
    return GroupRuns(membership, nodes, progress, EVERY)


def check(site: Site, mode: Mode, failing: tuple[float, float], seed: int, progress: Progress) -> None:
    membership, assumptions = Membership(site.strategy, site.members), assumed(*failing)
    nodes = draw_nodes(membership, assumptions, runs=RUNS, dice=Random(seed), progress=progress)
    groups = GroupRuns(membership, nodes, progress, EVERY)
    deployed = groups.deployed_nodes()
    for run in range(RUNS):
        dice = Random(run)
        ended = rehearse(membership, mode, progress, succeeding(nodes, run), assumptions, dice).rollout
        assert ended.done
        succeeded = {name for name, status in ended.groups.items() if status is GroupStatus.SUCCESS}
        assert succeeded == {name for name, runs in groups.succeeds.items() if runs >> run & 1}
        assert (ended.verdict() is Verdict.SUCCESS) == bool(groups.action >> run & 1)
        if mode == SERIAL:
            done = {node for node, status in ended.nodes.items() if status is NodeStatus.SUCCESS}
            assert done == {node for node, runs in deployed.items() if runs >> run & 1}


@given(sites(), modes | st.just(SERIAL), st.tuples(probabilities, probabilities), st.integers(0, 99), some(NODES))
def test_every_run_ends_as_the_rollout_of_its_nodes(
    site: Site, mode: Mode, failing: tuple[float, float], seed: int, uncounted: frozenset[NodeName]
) -> None:
    check(site, mode, failing, seed, Progress(uncounted=uncounted if seed % 2 else frozenset()))


@given(sites(), modes | st.just(SERIAL), st.tuples(probabilities, probabilities), st.integers(0, 99), st.integers(0, 9))
def test_a_rollout_under_way_goes_on_from_where_it_stands(
    site: Site, mode: Mode, failing: tuple[float, float], seed: int, moves: int
) -> None:
    rollout = site.rollout(mode)
    while not rollout.done and (moves or not rollout.running):
        if move := rollout.next_move():
            rollout.start(move)
        else:
            moves -= 1
            rollout.finish(rollout.running[0], site.fate.outcome(rollout.running[0]))

    running = dict.fromkeys(rollout.running, 1.5)
    check(site, mode, failing, seed, Progress(rollout.nodes, rollout.groups, rollout.reasons, running))


@given(sites(), probabilities, probabilities, st.integers(0, 99))
def test_more_failures_never_help_and_weaker_criteria_never_harm(
    site: Site, few: float, more: float, seed: int
) -> None:
    few, more = sorted((few, more))
    worse, better = counted(site, more, few, seed), counted(site, few, few, seed)

    assert worse.action & ~better.action == 0
    for group in site.strategy.groups:
        assert better.action & ~better.action_with(group.name, SuccessCriteria()) == 0
