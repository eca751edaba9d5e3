"""The arithmetic of success criteria (design: Success Criteria)."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.domain.strategy.criteria import Criterion, SuccessCriteria, shortfalls

counts = st.integers(0, 10**12).flatmap(lambda members: st.tuples(st.just(members), st.integers(0, members)))
small = st.integers(0, 200).flatmap(lambda members: st.tuples(st.just(members), st.integers(0, members)))
criteria = st.builds(
    SuccessCriteria,
    percent_successful_nodes=st.none() | st.integers(0, 100),
    minimum_successful_nodes=st.none() | st.integers(0, 200),
    maximum_failed_nodes=st.none() | st.integers(0, 200),
)


@given(counts | small, st.integers(-1, 1))
def test_a_percentage_is_compared_as_a_fraction_without_rounding(count: tuple[int, int], beside: int) -> None:
    members, successful = count
    share = Fraction(successful, members) if members else Fraction(1)
    percent = min(100, max(0, round(share * 100) + beside))

    missed = shortfalls(SuccessCriteria(percent_successful_nodes=percent), members=members, successful=successful)

    assert (missed == ()) == (share >= Fraction(percent, 100))


@given(small, criteria)
def test_criteria_are_judged_each_on_its_own(count: tuple[int, int], given_: SuccessCriteria) -> None:
    members, successful = count
    alone = [
        SuccessCriteria(percent_successful_nodes=given_.percent_successful_nodes),
        SuccessCriteria(minimum_successful_nodes=given_.minimum_successful_nodes),
        SuccessCriteria(maximum_failed_nodes=given_.maximum_failed_nodes),
    ]

    together = shortfalls(given_, members=members, successful=successful)

    assert together == tuple(
        found for one in alone for found in shortfalls(one, members=members, successful=successful)
    )


@given(small, criteria)
def test_one_more_success_never_turns_a_pass_into_a_failure(count: tuple[int, int], given_: SuccessCriteria) -> None:
    members, successful = count
    if successful < members and not shortfalls(given_, members=members, successful=successful):
        assert not shortfalls(given_, members=members, successful=successful + 1)


@given(st.integers(1, 200), criteria)
def test_all_nodes_successful_meets_everything_but_a_minimum_above_their_number(
    members: int, given_: SuccessCriteria
) -> None:
    missed = {found.criterion for found in shortfalls(given_, members=members, successful=members)}

    assert missed == ({Criterion.MINIMUM} if (given_.minimum_successful_nodes or 0) > members else set())


@given(small, criteria)
def test_a_shortfall_shows_numbers_that_really_fall_short(count: tuple[int, int], given_: SuccessCriteria) -> None:
    members, successful = count
    for found in shortfalls(given_, members=members, successful=successful):
        if found.criterion is Criterion.MAXIMUM_FAILED:
            assert found.actual > found.needed
        else:
            assert found.actual < found.needed
