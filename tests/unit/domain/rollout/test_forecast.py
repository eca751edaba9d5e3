"""Forecasts against closed forms and full enumeration, and how their answers read."""

from collections.abc import Callable, Mapping
from itertools import product
from math import isclose, prod
from random import Random
from typing import Any

from shipyard_api.domain.groups import GroupStatus, Phase, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import PRIOR, Beta, Failure, PhaseAssumption
from shipyard_api.domain.rollout.forecast import Estimate, Forecast, PhaseForecast, forecast
from shipyard_api.domain.rollout.group_runs import NOTHING_DONE, Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import SERIAL, Mode, Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import Criterion
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName
from tests.factories import group, strategy
from tests.unit.tables import every_row

PREPARE, DEPLOY = 0.1, 0.2
BOTH = (1 - PREPARE) * (1 - DEPLOY)


def assumed(prepare: Failure, deploy: Failure) -> Mapping[Phase, PhaseAssumption]:
    return {Phase.PREPARE: PhaseAssumption(prepare, [60]), Phase.DEPLOY: PhaseAssumption(deploy, [600])}


def holding(*groups: DeploymentGroup, members: dict[str, str]) -> Membership:
    """Nodes are letters: a group of ``ab`` holds the nodes a and b."""
    held = {GroupName(name): frozenset(map(NodeName, nodes)) for name, nodes in members.items()}
    return Membership(strategy(*groups), held)


def foreseen(
    membership: Membership,
    *,
    failing: tuple[Failure, Failure] = (PREPARE, DEPLOY),
    runs: int = 2_000,
    seed: int = 0,
    mode: Mode = SERIAL,
    progress: Progress = NOTHING_DONE,
) -> Forecast:
    return forecast(membership, mode, assumed(*failing), runs=runs, dice=Random(seed), progress=progress)


def agrees(found: Estimate, exact: float) -> bool:
    """Whether the exact value is within twice the interval: once in 10,000 it would not be."""
    half = (found.high - found.low) / 2
    return abs(found.probability - exact) <= 2 * half


def test_a_node_that_does_not_count_changes_no_chance() -> None:
    membership = holding(group("a", critical=True, percent=100), members={"a": "abc"})
    found = foreseen(membership, progress=Progress(uncounted=frozenset({NodeName("b")})))

    assert agrees(found.success, BOTH**2)
    assert (found.relax.from_value, found.relax.to_value) == (100, 50)


SHARED = (
    holding(
        group("last", critical=True, after=["first"], minimum=2),
        group("first", percent=50),
        group("free", critical=True, maximum_failed=2),
        members={"first": "abc", "last": "cde", "free": "aef"},
    ),
    holding(
        group("one", percent=100),
        group("two", after=["one"], maximum_failed=1),
        group("three", critical=True, percent=60),
        members={"one": "ab", "two": "bcd", "three": "abcde"},
    ),
    holding(
        group("sure", critical=True, maximum_failed=2),
        group("none", critical=True, minimum=1),
        members={"sure": "abcd", "none": ""},
    ),
)


def enumerate_outcomes(membership: Membership) -> tuple[float, dict[str, float], float]:
    """Return the chance of the action and of each group, and the nodes lost, from every way the nodes may fail."""
    nodes = list(membership.nodes)
    action, lost, groups = 0.0, 0.0, dict.fromkeys(map(str, membership.groups), 0.0)
    for outcomes in product((None, *Phase), repeat=len(nodes)):
        weight = prod({None: BOTH, Phase.PREPARE: PREPARE}.get(one, (1 - PREPARE) * DEPLOY) for one in outcomes)
        fails = dict(zip(nodes, outcomes, strict=True))
        rollout = Rollout.resumed(membership, SERIAL)
        while not rollout.done:
            if move := rollout.next_move():
                rollout.start(move)
            else:
                first = rollout.running[0]
                good = frozenset(node for node in first.nodes if fails[node] is not first.phase)
                rollout.finish(first, Outcome(good))
        action += weight * (rollout.verdict() is Verdict.SUCCESS)
        lost += weight * sum(status is not NodeStatus.SUCCESS for status in rollout.nodes.values())
        for name, status in rollout.groups.items():
            groups[name] += weight * (status is GroupStatus.SUCCESS)
    return action, groups, lost


@every_row(SHARED)
def test_full_enumeration(membership: Membership) -> None:
    action, groups, lost = enumerate_outcomes(membership)

    found = foreseen(membership)

    assert agrees(found.success, action)
    assert all(agrees(one.success, groups[one.name]) for one in found.groups)
    assert isclose(found.nodes_lost, lost, abs_tol=0.05)


def test_what_is_only_measured_is_less_certain_than_what_is_given() -> None:
    """The beta-binomial distribution: no failure among n nodes has the chance of n further draws without one."""
    membership = holding(group("a", critical=True, percent=100), members={"a": "abcdefghij"})
    measured = PRIOR.observed(failed=1, succeeded=19)
    exact = prod((measured.succeeded + k) / (measured.succeeded + measured.failed + k) for k in range(10))

    assert agrees(foreseen(membership, failing=(measured, 0.0)).success, exact)
    assert exact > (1 - measured.mean) ** 10
    assert measured == Beta(PRIOR.failed + 1, PRIOR.succeeded + 19)


def test_the_same_seed_gives_the_same_answer() -> None:
    first, again, other = (foreseen(SHARED[0], runs=500, seed=seed) for seed in (3, 3, 4))

    assert first == again
    assert first.success != other.success


GROUP_SECONDS = 660


@every_row(
    {
        "one after another": (SERIAL, 3 * GROUP_SECONDS, [0, GROUP_SECONDS, 2 * GROUP_SECONDS]),
        "two at once": (Mode(max_parallel_groups=2), 2 * GROUP_SECONDS, [0, GROUP_SECONDS, 0]),
        "node by node": (Mode(max_nodes_in_flight=1), 5 * GROUP_SECONDS, None),
    },
)
def test_a_makespan_follows_the_mode(mode: Mode, seconds: int, starts: list[int] | None) -> None:
    chain = holding(group("a"), group("b", after=["a"]), group("c"), members={"a": "ab", "b": "cd", "c": "e"})

    found = foreseen(chain, failing=(0.0, 0.0), runs=20, mode=mode)

    assert {found.seconds.p10, found.seconds.p50, found.seconds.p90} == {seconds}
    assert starts is None or [one.starts for one in found.groups] == starts
    for one in found.groups:
        prepare, deploy = (one.phases[phase] for phase in Phase)
        assert (prepare.starts, deploy.starts + deploy.seconds) == (one.starts, one.starts + one.seconds)
        assert deploy.starts == prepare.starts + prepare.seconds


def test_a_running_action_is_foreseen_from_where_it_stands() -> None:
    chain = holding(
        group("a", critical=True, percent=100),
        group("b", critical=True, after=["a"], percent=100),
        members={"a": "ab", "b": "c"},
    )
    a, b = map(GroupName, "ab")
    progress = Progress(
        nodes={NodeName("a"): NodeStatus.PREPARED, NodeName("b"): NodeStatus.PREPARED},
        groups={a: GroupStatus.DEPLOYING},
        running={Move(a, Phase.DEPLOY, (NodeName("a"), NodeName("b"))): 500.0},
    )

    found = foreseen(chain, progress=progress)

    assert agrees(found.success, (1 - DEPLOY) ** 2 * BOTH)
    assert (found.seconds.p10, found.seconds.p90) == (100, 100 + GROUP_SECONDS)
    assert [one.starts for one in found.groups] == [0, 100]
    assert found.groups[0].phases == {Phase.DEPLOY: PhaseForecast(0, 100)}
    assert found.groups[1].phases == {Phase.PREPARE: PhaseForecast(100, 60), Phase.DEPLOY: PhaseForecast(160, 600)}
    lost = Progress(nodes={NodeName("a"): NodeStatus.FAILURE}, groups={a: GroupStatus.FAILED, b: GroupStatus.FAILED})
    ended = foreseen(chain, progress=lost)
    assert (ended.success.probability, ended.seconds.p90, ended.relax) == (0.0, 0.0, None)
    assert [one.seconds for one in ended.groups] == [None, None]


def test_the_expected_end_of_a_phase_does_not_recede() -> None:
    phase = PhaseAssumption(0.0, [50, 100])
    ends = [phase.duration(GroupName("g"), Random(1), passed) for passed in (0, 60, 100, 130, 150)]

    assert ends[1:] == [100, 150, 150, 150]
    assert [phase.outlasted(passed) for passed in (0, 150, 151)] == [False, False, True]


def numbered(count: int) -> dict[str, Any]:
    return {"members": {"big": [f"n{number}" for number in range(count)], "small": ["x"]}}


@every_row(
    {
        "a percentage is lowered": (
            group("big", critical=True, percent=100, minimum=1),
            Criterion.PERCENT,
            100,
            lambda value: 85 <= value < 100,
        ),
        "a maximum is raised": (
            group("big", critical=True, maximum_failed=0),
            Criterion.MAXIMUM_FAILED,
            0,
            lambda value: 1 < value <= 8,
        ),
        "a minimum is lowered": (
            group("big", critical=True, minimum=40, percent=10),
            Criterion.MINIMUM,
            40,
            lambda value: 32 <= value < 40,
        ),
    },
)
def test_the_criterion_to_relax_is_the_one_that_decides(
    big: DeploymentGroup, criterion: Criterion, from_value: int, is_least: Callable[[int], bool]
) -> None:
    small = group("small", critical=True, percent=100)
    found = foreseen(holding(small, big, **numbered(40)), failing=(0.02, 0.04), runs=1_000)

    assert (found.relax.group, found.relax.criterion, found.relax.from_value) == ("big", criterion, from_value)
    # Not further than it helps: a handful of 40 nodes fail.
    assert is_least(found.relax.to_value)
    assert found.relax.probability_after > found.success.probability + 0.5


def test_nothing_is_relaxed_where_nothing_is_gained() -> None:
    free = holding(group("free", percent=100), group("sure", critical=True), members={"free": "ab", "sure": "c"})
    # Two criteria that ask for the same: relaxing one of them alone gains nothing.
    twice = holding(group("both", critical=True, percent=100, maximum_failed=0), members={"both": "abc"})

    # A group must still ask for a node.
    single = holding(group("one", critical=True, minimum=1), members={"one": "a"})

    assert [foreseen(one, runs=500).relax for one in (free, twice, single)] == [None, None, None]


@every_row(
    [(0, 10, (0.0, 0.278)), (10, 10, (0.722, 1.0)), (5, 10, (0.237, 0.763)), (900, 1000, (0.880, 0.917))],
)
def test_intervals_are_wilsons(successes: int, runs: int, interval: tuple[float, float]) -> None:
    found = Estimate.of(successes, runs)

    assert (round(found.low, 3), round(found.high, 3)) == interval
