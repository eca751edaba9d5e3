"""How a rollout is likely to go, by simulating it many times (product, section 5, forecast).

The chance that groups and the action succeed is counted over all runs at once. How long it takes comes from playing the
first of the same runs in virtual time, because that costs more. The same dice give the same answer, and the same node
outcomes to other criteria.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from msgspec import Struct

from shipyard_api.domain.groups import GroupStatus, Phase, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import NO_TEARDOWN, Assumptions, TeardownAssumption
from shipyard_api.domain.rollout.group_runs import NOTHING_DONE, GroupRuns, NodeRuns, Progress
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Mode
from shipyard_api.domain.rollout.policy.pacing import ALL_AT_ONCE, Pace
from shipyard_api.domain.rollout.rehearsal import Rehearsal, rehearse
from shipyard_api.domain.rollout.relaxing import Relaxation, best_relaxation
from shipyard_api.domain.rollout.run_sets import Chance, Dice, RunSet
from shipyard_api.domain.strategy.strategy import GroupName

# 95 % of a normal distribution is within this number of standard deviations.
_DEVIATIONS = 1.96

# How many members and groups all rehearsals play together, and how many rehearsals there are at least and at most.
_REHEARSED = 150_000
_FEWEST, _MOST = 5, 200
# With a policy, chances are counted over the rehearsals.
_FEWEST_PACED = 50


class Estimate(Struct, frozen=True):
    """A probability from counting runs, with its 95 % interval (Wilson's score)."""

    probability: float
    low: float
    high: float

    @classmethod
    def of(cls, successes: int, runs: int) -> "Estimate":
        """Return the estimate from how many of the runs succeeded."""
        share, square = successes / runs, _DEVIATIONS**2
        centre = (share + square / (2 * runs)) / (1 + square / runs)
        half = _DEVIATIONS / (1 + square / runs) * sqrt(share * (1 - share) / runs + square / (4 * runs**2))
        # Rounding must not take the share out of its own interval.
        return cls(share, max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0))

    @classmethod
    def certain(cls, outcome: bool) -> "Estimate":  # it is the value itself
        """Return the estimate of what has happened."""
        return cls(*[float(outcome)] * 3)


class Seconds(Struct, frozen=True):
    """Percentiles of a duration."""

    p10: float
    p50: float
    p90: float


class PhaseForecast(Struct, frozen=True):
    """``starts``, ``seconds``: the medians of when it begins, in seconds from now, and of how long it runs then."""

    starts: float
    seconds: float


class GroupForecast(Struct, frozen=True):
    """``starts``, ``seconds``: the medians of when it begins, in seconds from now, and of how long it runs then.

    Both are over the runs in which it begins, and None if it has ended or never begins. ``phases``: those that have yet
    to end, in order.
    """

    name: GroupName
    critical: bool
    nodes: int
    success: Estimate
    starts: float | None
    seconds: float | None
    phases: Mapping[Phase, PhaseForecast]


class Forecast(Struct, frozen=True):
    """``nodes_lost``: how many nodes of the groups are not deployed in the end, on average."""

    runs: int
    success: Estimate
    nodes_lost: float
    seconds: Seconds
    groups: Sequence[GroupForecast]
    relax: Relaxation | None


def forecast(
    membership: Membership,
    mode: Mode,
    assumptions: Assumptions,
    *,
    runs: int,
    dice: Dice,
    progress: Progress = NOTHING_DONE,
    pace: Pace = ALL_AT_ONCE,
    teardown: TeardownAssumption = NO_TEARDOWN,
) -> Forecast:
    """Return the forecast of a rollout from its current state; groups in the order of the document.

    With a policy, everything is counted over the runs that are played, and no criterion is proposed.

    Nodes fail independently of each other, given the probabilities of a run. Timeouts, refusals and holds count as
    failures of nodes. In other modes than the default, ``nodes_lost`` is that of the default mode: where groups that
    share nodes run side by side, it may differ by those nodes.
    """
    every = (1 << runs) - 1
    nodes = draw_nodes(membership, assumptions, runs=runs, dice=dice, progress=progress)
    groups = GroupRuns(membership, nodes, progress, every)
    deployed = sum(nodes_of_group.bit_count() for nodes_of_group in groups.deployed_nodes().values())
    played = _REHEARSED // (1 + sum(1 + len(members) for members in membership.members.values()))
    rehearsals = [
        rehearse(membership, mode, progress, succeeding(nodes, run), assumptions, dice, pace, teardown)
        for run in range(min(runs, max(_FEWEST_PACED if pace.refuses else _FEWEST, min(_MOST, played))))
    ]
    if pace.refuses:
        return _counted(membership, groups, rehearsals)
    return Forecast(
        runs,
        _verdict(membership, groups, runs),
        len(nodes) - deployed / runs,
        _seconds(rehearsals),
        [_group(membership, name, rehearsals, _group_verdict(groups, name, runs)) for name in membership.groups],
        best_relaxation(membership, groups, runs),
    )


def _counted(membership: Membership, groups: GroupRuns, rehearsals: Sequence[Rehearsal]) -> Forecast:
    """Return the forecast whose chances are shares of the rehearsals."""
    runs = len(rehearsals)
    good = sum(rehearsal.rollout.verdict() is Verdict.SUCCESS for rehearsal in rehearsals)
    lost = sum(
        status is not NodeStatus.SUCCESS for rehearsal in rehearsals for status in rehearsal.rollout.nodes.values()
    )
    forecasts: list[GroupForecast] = []
    for name in membership.groups:
        succeeded = sum(rehearsal.rollout.groups[name] is GroupStatus.SUCCESS for rehearsal in rehearsals)
        estimate = Estimate.of(succeeded, runs) if groups.open(name) else Estimate.certain(bool(succeeded))
        forecasts.append(_group(membership, name, rehearsals, estimate))
    return Forecast(runs, Estimate.of(good, runs), lost / runs, _seconds(rehearsals), forecasts, None)


def _seconds(rehearsals: Sequence[Rehearsal]) -> Seconds:
    return Seconds(*(_percentile([rehearsal.seconds for rehearsal in rehearsals], share) for share in (0.1, 0.5, 0.9)))


def draw_nodes(
    membership: Membership, assumptions: Assumptions, *, runs: int, dice: Dice, progress: Progress = NOTHING_DONE
) -> Mapping[NodeName, NodeRuns]:
    """Return how each node fares in each run, in order of name. What has happened is certain."""
    every = (1 << runs) - 1
    fails = {phase: Chance.of(assumptions[phase].chances(dice, runs)) for phase in Phase}
    drawn: dict[NodeName, NodeRuns] = {}
    for node in membership.nodes:
        # Each node takes the same share of the dice, whatever has happened to others.
        prepared, deployed = (every & ~fails[phase].draw(dice, runs) for phase in (Phase.PREPARE, Phase.DEPLOY))
        drawn[node] = _known(progress.nodes.get(node), prepared, deployed, every)
    return drawn


def succeeding(nodes: Mapping[NodeName, NodeRuns], run: int) -> Mapping[Phase, set[NodeName]]:
    """Return the nodes that succeed in each phase of one run, if they are sent."""
    return {
        Phase.PREPARE: {node for node, runs in nodes.items() if runs.prepared >> run & 1},
        Phase.DEPLOY: {node for node, runs in nodes.items() if runs.deployed >> run & 1},
    }


def _known(status: NodeStatus | None, prepared: RunSet, deployed: RunSet, every: RunSet) -> NodeRuns:
    match status:
        case NodeStatus.SUCCESS:
            return NodeRuns(every, every)
        case NodeStatus.FAILURE:
            return NodeRuns(0, 0)
        case NodeStatus.PREPARED:
            return NodeRuns(every, deployed)
    return NodeRuns(prepared, prepared & deployed)


def _verdict(membership: Membership, groups: GroupRuns, runs: int) -> Estimate:
    """Return the chance of the action; certain once its critical groups have decided."""
    critical = [name for name, group in membership.groups.items() if group.critical]
    ended = [bool(groups.succeeds[name]) for name in critical if not groups.open(name)]
    if len(ended) == len(critical) or not all(ended):
        return Estimate.certain(all(ended))
    return Estimate.of(groups.action.bit_count(), runs)


def _group_verdict(groups: GroupRuns, name: GroupName, runs: int) -> Estimate:
    successes = groups.succeeds[name]
    return Estimate.of(successes.bit_count(), runs) if groups.open(name) else Estimate.certain(bool(successes))


def _group(
    membership: Membership, name: GroupName, rehearsals: Sequence[Rehearsal], success: Estimate
) -> GroupForecast:
    ended = [rehearsal for rehearsal in rehearsals if name in rehearsal.ends]
    starts = [rehearsal.begins.get(name, 0.0) for rehearsal in ended]
    lasts = [rehearsal.ends[name] - rehearsal.begins.get(name, 0.0) for rehearsal in ended]
    return GroupForecast(
        name,
        membership.groups[name].critical,
        len(membership.members[name]),
        success,
        _percentile(starts, 0.5) if ended else None,
        _percentile(lasts, 0.5) if ended else None,
        {phase: forecast for phase in Phase if (forecast := _phase(name, phase, rehearsals))},
    )


def _phase(name: GroupName, phase: Phase, rehearsals: Sequence[Rehearsal]) -> PhaseForecast | None:
    spans = [rehearsal.phases[name, phase] for rehearsal in rehearsals if (name, phase) in rehearsal.phases]
    if not spans:
        return None
    return PhaseForecast(
        _percentile([begin for begin, _ in spans], 0.5), _percentile([end - begin for begin, end in spans], 0.5)
    )


def _percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
