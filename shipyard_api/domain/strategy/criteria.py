"""Success criteria of a group's phase (seed 000, Success Criteria)."""

from enum import Enum

from msgspec import Struct


class Criterion(Enum):
    """The three thresholds; the values are the field names of the document."""

    PERCENT = "percent_successful_nodes"
    MINIMUM = "minimum_successful_nodes"
    MAXIMUM_FAILED = "maximum_failed_nodes"


class SuccessCriteria(Struct, frozen=True):
    """Thresholds of a group; None where not given. Without any threshold a group always succeeds."""

    percent_successful_nodes: int | None = None
    minimum_successful_nodes: int | None = None
    maximum_failed_nodes: int | None = None


class Shortfall(Struct, frozen=True):
    """One missed criterion. ``needed`` and ``actual`` are a percentage or a number of nodes, as in the criterion.

    An ``actual`` percentage is rounded down, so that it never reads as if the criterion were met.
    """

    criterion: Criterion
    needed: int
    actual: int

    def __str__(self) -> str:
        at = "at most" if self.criterion is Criterion.MAXIMUM_FAILED else "at least"
        unit = "%" if self.criterion is Criterion.PERCENT else ""
        return f"{self.criterion.value} is {self.actual}{unit}, {at} {self.needed}{unit} needed"


def needed(criteria: SuccessCriteria, members: int) -> int:
    """Return the least number of successful nodes that meets every criterion; above ``members`` if none does."""
    percent, allowed = criteria.percent_successful_nodes or 0, criteria.maximum_failed_nodes
    return max(
        -(-percent * members // 100),  # rounded up
        criteria.minimum_successful_nodes or 0,
        0 if allowed is None else members - allowed,
    )


def shortfalls(criteria: SuccessCriteria, *, members: int, successful: int) -> tuple[Shortfall, ...]:
    """Return every criterion that ``successful`` of ``members`` nodes miss; empty means success.

    Criteria are independent. A group without members has 100 % success, but 0 successful nodes, so a
    minimum above 0 fails it (seed 000, Selectors). The percentage is compared exactly, without rounding.
    """
    missed = []
    percent, minimum, allowed = (
        criteria.percent_successful_nodes,
        criteria.minimum_successful_nodes,
        criteria.maximum_failed_nodes,
    )
    if percent is not None and members and 100 * successful < percent * members:
        missed.append(Shortfall(Criterion.PERCENT, percent, 100 * successful // members))
    if minimum is not None and successful < minimum:
        missed.append(Shortfall(Criterion.MINIMUM, minimum, successful))
    if allowed is not None and members - successful > allowed:
        missed.append(Shortfall(Criterion.MAXIMUM_FAILED, allowed, members - successful))
    return tuple(missed)
