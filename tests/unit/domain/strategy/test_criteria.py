"""When a phase of a group counts as successful (design: Success Criteria, Selectors)."""

import pytest

from shipyard_api.domain.strategy.criteria import Criterion, Shortfall, SuccessCriteria, needed, shortfalls


def missed(criteria: SuccessCriteria, *, members: int, successful: int) -> list[Criterion]:
    return [shortfall.criterion for shortfall in shortfalls(criteria, members=members, successful=successful)]


@pytest.mark.parametrize(
    ("percent", "members", "successful", "met"),
    [
        pytest.param(75, 4, 3, True, id="the design's example: 75 % means 3 of 4"),
        pytest.param(75, 4, 2, False, id="2 of 4 are not 75 %"),
        pytest.param(100, 3, 3, True, id="all"),
        pytest.param(100, 3, 2, False, id="all but one are not 100 %"),
        pytest.param(0, 3, 0, True, id="0 % asks for nothing"),
        pytest.param(33, 3, 1, True, id="1 of 3 is more than 33 %"),
        pytest.param(34, 3, 1, False, id="1 of 3 is not rounded up to 34 %"),
        pytest.param(67, 3, 2, False, id="2 of 3 are not rounded up to 67 %"),
        pytest.param(29, 100, 29, True, id="29 of 100 are 29 %, which floating point does not know"),
        pytest.param(100, 10**18, 10**18 - 1, False, id="one of very many"),
    ],
)
def test_percent_is_judged_exactly(percent: int, members: int, successful: int, met: bool) -> None:
    criteria = SuccessCriteria(percent_successful_nodes=percent)

    assert (missed(criteria, members=members, successful=successful) == []) is met


@pytest.mark.parametrize(("successful", "met"), [(2, False), (3, True), (4, True)])
def test_minimum_successful_nodes_must_complete_the_phase(successful: int, met: bool) -> None:
    criteria = SuccessCriteria(minimum_successful_nodes=3)

    assert (missed(criteria, members=4, successful=successful) == []) is met


@pytest.mark.parametrize(("successful", "met"), [(4, True), (3, True), (2, False)])
def test_maximum_failed_nodes_may_have_failed_and_no_more(successful: int, met: bool) -> None:
    criteria = SuccessCriteria(maximum_failed_nodes=1)

    assert (missed(criteria, members=4, successful=successful) == []) is met


@pytest.mark.parametrize("successful", [0, 1, 5])
def test_without_criteria_nothing_is_checked(successful: int) -> None:
    assert shortfalls(SuccessCriteria(), members=5, successful=successful) == ()


@pytest.mark.parametrize(
    ("successful", "expected"),
    [
        pytest.param(10, [], id="all hold"),
        pytest.param(8, [Criterion.MAXIMUM_FAILED], id="one missed fails the group"),
        pytest.param(6, [Criterion.PERCENT, Criterion.MAXIMUM_FAILED], id="two missed"),
        pytest.param(2, [Criterion.PERCENT, Criterion.MINIMUM, Criterion.MAXIMUM_FAILED], id="all missed"),
    ],
)
def test_each_criterion_is_evaluated_separately_and_all_shortfalls_are_told(
    successful: int, expected: list[Criterion]
) -> None:
    criteria = SuccessCriteria(percent_successful_nodes=70, minimum_successful_nodes=3, maximum_failed_nodes=1)

    assert missed(criteria, members=10, successful=successful) == expected


def test_a_group_without_nodes_counts_as_100_percent() -> None:
    assert missed(SuccessCriteria(percent_successful_nodes=100), members=0, successful=0) == []


def test_a_group_without_nodes_counts_as_0_nodes_and_fails_a_minimum() -> None:
    assert missed(SuccessCriteria(minimum_successful_nodes=1), members=0, successful=0) == [Criterion.MINIMUM]
    assert missed(SuccessCriteria(minimum_successful_nodes=0), members=0, successful=0) == []


def test_a_group_without_nodes_has_no_failed_nodes_either() -> None:
    assert missed(SuccessCriteria(maximum_failed_nodes=0), members=0, successful=0) == []


@pytest.mark.parametrize(
    ("criteria", "successful", "text"),
    [
        pytest.param(
            SuccessCriteria(percent_successful_nodes=90),
            2,
            "percent_successful_nodes is 66%, at least 90% needed",
            id="percent",
        ),
        pytest.param(
            SuccessCriteria(minimum_successful_nodes=3),
            2,
            "minimum_successful_nodes is 2, at least 3 needed",
            id="minimum",
        ),
        pytest.param(
            SuccessCriteria(maximum_failed_nodes=0),
            2,
            "maximum_failed_nodes is 1, at most 0 needed",
            id="maximum",
        ),
    ],
)
def test_a_shortfall_says_what_was_needed_and_what_was_there(
    criteria: SuccessCriteria, successful: int, text: str
) -> None:
    assert [str(shortfall) for shortfall in shortfalls(criteria, members=3, successful=successful)] == [text]


def test_a_missed_percentage_never_reads_as_if_it_had_been_met() -> None:
    (shortfall,) = shortfalls(SuccessCriteria(percent_successful_nodes=100), members=1000, successful=999)

    assert shortfall == Shortfall(Criterion.PERCENT, needed=100, actual=99)


@pytest.mark.parametrize(
    ("criteria", "least"),
    [
        pytest.param(SuccessCriteria(), 0, id="none"),
        pytest.param(SuccessCriteria(75), 3, id="exactly"),
        pytest.param(SuccessCriteria(51), 3, id="rounded up"),
        pytest.param(SuccessCriteria(maximum_failed_nodes=1), 3, id="all but one"),
        pytest.param(SuccessCriteria(maximum_failed_nodes=9), 0, id="more may fail than there are"),
        pytest.param(SuccessCriteria(50, 4, 1), 4, id="the strictest of all"),
        pytest.param(SuccessCriteria(100, 5), 5, id="more than there are"),
    ],
)
def test_the_least_number_of_nodes_meets_every_criterion(criteria: SuccessCriteria, least: int) -> None:
    assert needed(criteria, 4) == least
    assert missed(criteria, members=4, successful=least) == []
    assert least == 0 or missed(criteria, members=4, successful=least - 1)
