"""What earlier actions of the site say about its phases (product, section 5: measured from this site's history)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.rollout.assumptions import PRIOR, Assumptions, PhaseAssumption, TeardownAssumption
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.strategy.strategy import GroupName

# Without history a phase is taken to last from a quarter to three quarters of its time limit, in equal steps.
_SHARES = tuple(0.25 + step / 20 for step in range(11))


class PhaseHistory(Struct, frozen=True):
    """The outcomes of nodes in a phase, and how long phases of groups took: seconds, in ascending order.

    ``groups``: the same seconds, by the name of the group.
    """

    failed: int = 0
    succeeded: int = 0
    seconds: Sequence[float] = ()
    groups: Mapping[GroupName, Sequence[float]] = field(default_factory=dict)

    @property
    def nodes(self) -> int:
        """How many outcomes of nodes there are."""
        return self.failed + self.succeeded


class TeardownHistory(Struct, frozen=True):
    """How long servers took to be taken down and destroyed, in seconds and in ascending order.

    ``alone``: the part of each in which no other server left, of those that left beside others.
    """

    whole: Sequence[float] = ()
    alone: Sequence[float] = ()


def assume_teardown(ways: Ways, history: TeardownHistory, limit: float) -> TeardownAssumption:
    """Return what to assume of teardowns; ``limit``: the seconds that one may take at most."""
    whole = history.whole or tuple(share * limit for share in _SHARES)
    return TeardownAssumption(ways, whole, history.alone)


def assume(
    history: Mapping[Phase, PhaseHistory], limits: Mapping[Phase, float], given: Mapping[Phase, float]
) -> Assumptions:
    """Return what to assume of both phases; ``given`` probabilities replace measured ones. ``limits``: in seconds."""
    assumed = {}
    for phase in Phase:
        measured = history.get(phase, PhaseHistory())
        failure = PRIOR.observed(failed=measured.failed, succeeded=measured.succeeded)
        # Even one phase says more about a site than its time limits do.
        seconds = measured.seconds or tuple(share * limits[phase] for share in _SHARES)
        assumed[phase] = PhaseAssumption(given.get(phase, failure), seconds, measured.groups)
    return assumed
