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


PERCENT, MINIMUM, MAXIMUM = Criterion.PERCENT, Criterion.MINIMUM, Criterion.MAXIMUM_FAILED
SEVERAL = SuccessCriteria(percent_successful_nodes=70, minimum_successful_nodes=3, maximum_failed_nodes=1)


@pytest.mark.parametrize(
    ("criteria", "members", "successful", "missing"),
    [
        pytest.param(SuccessCriteria(), 5, 0, [], id="none"),
        pytest.param(SuccessCriteria(minimum_successful_nodes=3), 4, 2, [MINIMUM], id="too few"),
        pytest.param(SuccessCriteria(minimum_successful_nodes=3), 4, 3, [], id="just enough"),
        pytest.param(SuccessCriteria(maximum_failed_nodes=1), 4, 3, [], id="as many failures as may be"),
        pytest.param(SuccessCriteria(maximum_failed_nodes=1), 4, 2, [MAXIMUM], id="one failure too many"),
        pytest.param(SEVERAL, 10, 10, [], id="all hold"),
        pytest.param(SEVERAL, 10, 8, [MAXIMUM], id="one of several missed"),
        pytest.param(SEVERAL, 10, 6, [PERCENT, MAXIMUM], id="two missed"),
        pytest.param(SEVERAL, 10, 2, [PERCENT, MINIMUM, MAXIMUM], id="all missed"),
        pytest.param(SuccessCriteria(percent_successful_nodes=100), 0, 0, [], id="no nodes are 100 %"),
        pytest.param(SuccessCriteria(minimum_successful_nodes=1), 0, 0, [MINIMUM], id="no nodes are 0 nodes"),
        pytest.param(SuccessCriteria(minimum_successful_nodes=0), 0, 0, [], id="0 nodes are enough for 0"),
        pytest.param(SuccessCriteria(maximum_failed_nodes=0), 0, 0, [], id="of no nodes none failed"),
    ],
)
def test_each_criterion_is_judged_by_itself_and_all_that_are_missed_are_told(
    criteria: SuccessCriteria, members: int, successful: int, missing: list[Criterion]
) -> None:
    assert missed(criteria, members=members, successful=successful) == missing


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
