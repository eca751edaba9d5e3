"""The arithmetic of success criteria (design: Success Criteria)."""

from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

from shipyard_api.domain.strategy.criteria import Criterion, SuccessCriteria, shortfalls

counts = st.integers(0, 10**12).flatmap(lambda members: st.tuples(st.just(members), st.integers(0, members)))
small = st.integers(0, 200).flatmap(lambda members: st.tuples(st.just(members), st.integers(0, members)))


@settings(max_examples=3 * settings.default.max_examples)
@given(small | counts, st.none() | st.integers(-1, 1), st.none() | st.integers(0, 200), st.none() | st.integers(0, 200))
@example((0, 0), 0, 1, 0)
@example((1000, 999), 0, None, None)
def test_each_criterion_is_judged_on_its_own_and_a_percentage_as_a_fraction_without_rounding(
    count: tuple[int, int], beside: int | None, minimum: int | None, maximum_failed: int | None
) -> None:
    """``beside``: how far the percentage that is asked for is from the one that was reached."""
    members, successful = count
    share = Fraction(successful, members) if members else Fraction(1)
    percent = None if beside is None else min(100, max(0, round(share * 100) + beside))

    missed = shortfalls(SuccessCriteria(percent, minimum, maximum_failed), members=members, successful=successful)

    failed = members - successful
    assert [found.criterion for found in missed] == [
        *([Criterion.PERCENT] if percent is not None and share < Fraction(percent, 100) else []),
        *([Criterion.MINIMUM] if minimum is not None and successful < minimum else []),
        *([Criterion.MAXIMUM_FAILED] if maximum_failed is not None and failed > maximum_failed else []),
    ]
    for found in missed:
        if found.criterion is Criterion.MAXIMUM_FAILED:
            assert found.actual > found.needed
        else:
            assert found.actual < found.needed
