"""What a forecast assumes of a phase: failure probability and duration; and of teardowns before it."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.run_sets import Dice
from shipyard_api.domain.rollout.ways import NO_WAYS, Ways
from shipyard_api.domain.strategy.strategy import GroupName


class Beta(Struct, frozen=True):
    """A failure probability that is known from ``failed`` failures among ``failed + succeeded`` nodes, or fractions.

    Each run draws its own, so a forecast from few nodes is less certain than one from many.
    """

    failed: float
    succeeded: float

    def observed(self, *, failed: int, succeeded: int) -> "Beta":
        """Return the belief after further nodes (the conjugate update of a beta prior)."""
        return Beta(self.failed + failed, self.succeeded + succeeded)

    @property
    def mean(self) -> float:
        """The expected probability."""
        return self.failed / (self.failed + self.succeeded)


# A phase may last this many times as long as the longest of the sample before its end is unknown.
_OVERTIME = 1.5

PRIOR = Beta(0.2, 9.8)
"""Before anything is measured: 2 % of the nodes fail a phase, and the first ten nodes weigh as much as that guess.

The small number of failures says that most sites hardly fail, and a few fail often.
"""

Failure = float | Beta
"""The failure probability of a node in a phase: a number, or a belief about it."""


class PhaseAssumption(Struct, frozen=True):
    """``seconds``: a sample of how long a phase of a group took, in ascending order; not empty.

    ``groups``: the samples of the groups that have one of their own.
    """

    failure: Failure
    seconds: Sequence[float]
    groups: Mapping[GroupName, Sequence[float]] = field(default_factory=dict)

    def chances(self, dice: Dice, runs: int) -> Sequence[float]:
        """Return the failure probability of each run."""
        if isinstance(self.failure, Beta):
            return [dice.betavariate(self.failure.failed, self.failure.succeeded) for _ in range(runs)]
        return [self.failure] * runs

    def duration(self, group: GroupName, dice: Dice, passed: float = 0.0) -> float:
        """Return a duration of the group's sample, in seconds, for a phase that has already lasted ``passed`` seconds.

        Beyond the group's sample, that of all groups counts. A phase that has lasted longer than any of both is
        expected to end when it has outlasted it.
        """
        for seconds in (self.groups.get(group, ()), self.seconds):
            first = bisect_right(seconds, passed)
            if longer := len(seconds) - first:
                return seconds[first + int(dice.random() * longer)]
        return max(passed, self._longest)

    def lasting(self, change: Callable[[Sequence[float]], Sequence[float]]) -> "PhaseAssumption":
        """Return the assumption with changed samples, in ascending order."""
        groups = {name: change(seconds) for name, seconds in self.groups.items()}
        return replace(self, seconds=change(self.seconds), groups=groups)

    def outlasted(self, passed: float) -> bool:
        """Return whether a phase has lasted so much longer than the sample that the sample says nothing of its end."""
        return passed > self._longest

    @property
    def _longest(self) -> float:
        return _OVERTIME * self.seconds[-1]


class TeardownAssumption(Struct, frozen=True):
    """How long the servers that have a way by ``ways`` take to be taken down before they are prepared.

    ``whole``: a sample of how long one took, in seconds; ``alone``: of the part in which no other server leaves.
    """

    ways: Ways = NO_WAYS
    whole: Sequence[float] = ()
    alone: Sequence[float] = ()

    def duration(self, move: Move, dice: Dice) -> float:
        """Return how long the nodes of a move take, all on one way, in seconds; 0 if they stay up.

        They take as long as the slowest, and the others leave one after another.
        """
        if move.phase is not Phase.PREPARE or move.nodes[0] not in self.ways.reinstalled:
            return 0.0
        slowest = max(_drawn(self.whole, dice) for _ in move.nodes)
        return slowest + sum(_drawn(self.alone, dice) for _ in move.nodes[1:] if self.alone)


def _drawn(sample: Sequence[float], dice: Dice) -> float:
    return sample[int(dice.random() * len(sample))]


NO_TEARDOWN = TeardownAssumption()

Assumptions = Mapping[Phase, PhaseAssumption]
"""Of both phases."""
