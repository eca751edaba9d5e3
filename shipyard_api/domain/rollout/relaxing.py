"""Find the criterion whose relaxation helps an action most."""

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.rollout.group_runs import GroupRuns
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.strategy.criteria import Criterion, SuccessCriteria
from shipyard_api.domain.strategy.strategy import GroupName

_WORTH = 0.01
_SHARE = 0.9

# A look at one group with other criteria costs a step for every group.
_LOOKS = 1_000_000
_FEWEST = 5


class Relaxation(Struct, frozen=True):
    """A criterion of a group, as it is and as it could be, and the chance that the action succeeds then."""

    group: GroupName
    criterion: Criterion
    from_value: int
    to_value: int
    probability_after: float


def best_relaxation(membership: Membership, runs: GroupRuns, number: int) -> Relaxation | None:
    """Return the single criterion that gains most, None if none gains a hundredth; ``number``: that of the runs.

    The criterion is the one that gains most if it asks for one node only. It is relaxed no further than nine tenths of
    that gain need.
    """
    before = runs.action.bit_count()
    # Most groups cost one look for all of their criteria, and of very many groups only those that fail most are tried.
    worst = sorted(filter(runs.failures, membership.groups), key=runs.failures, reverse=True)
    tried = frozenset(worst[: max(_FEWEST, _LOOKS // len(membership.groups))])
    hopeful = [name for name in membership.groups if name in tried and runs.action_with(name, None) != runs.action]
    best: tuple[int, GroupName, Criterion, int] | None = None
    for name in hopeful:
        criteria = membership.groups[name].success_criteria
        for criterion in Criterion:
            value = getattr(criteria, criterion.value)
            if value is None or _steps(criterion, value, runs.counted(name)) < 1:
                continue
            weakest = _relaxed(criterion, value, _steps(criterion, value, runs.counted(name)))
            reached = runs.action_with(name, _with(criteria, criterion, weakest)).bit_count()
            if reached - before > (best[0] if best else _WORTH * number):
                best = (reached - before, name, criterion, value)
    if best is None:
        return None
    gain, name, criterion, value = best
    criteria = membership.groups[name].success_criteria

    def reached_by(steps: int) -> int:
        return runs.action_with(name, _with(criteria, criterion, _relaxed(criterion, value, steps))).bit_count()

    low, high = 0, _steps(criterion, value, runs.counted(name))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached_by(middle) - before >= _SHARE * gain else (middle, high)
    return Relaxation(name, criterion, value, _relaxed(criterion, value, high), reached_by(high) / number)


def _steps(criterion: Criterion, value: int, members: int) -> int:
    """Return by how much the criterion can be relaxed so that it still asks for one node."""
    return members - 1 - value if criterion is Criterion.MAXIMUM_FAILED else value - 1


def _relaxed(criterion: Criterion, value: int, steps: int) -> int:
    return value + steps if criterion is Criterion.MAXIMUM_FAILED else value - steps


def _with(criteria: SuccessCriteria, criterion: Criterion, value: int) -> SuccessCriteria:
    match criterion:
        case Criterion.PERCENT:
            return replace(criteria, percent_successful_nodes=value)
        case Criterion.MINIMUM:
            return replace(criteria, minimum_successful_nodes=value)
        case Criterion.MAXIMUM_FAILED:
            return replace(criteria, maximum_failed_nodes=value)
