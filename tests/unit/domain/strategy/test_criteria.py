"""When a phase of a group counts as successful (design: Success Criteria, Selectors)."""

from shipyard_api.domain.strategy.criteria import Criterion, SuccessCriteria, needed, shortfalls
from tests.unit.tables import every_row


def missed(criteria: SuccessCriteria, *, members: int, successful: int) -> list[Criterion]:
    return [shortfall.criterion for shortfall in shortfalls(criteria, members=members, successful=successful)]


@every_row(
    {
        "the design's example: 75 % means 3 of 4": (75, 4, 3, True),
        "1 of 3 is more than 33 %": (33, 3, 1, True),
        "1 of 3 is not rounded up to 34 %": (34, 3, 1, False),
        "29 of 100 are 29 %, which floating point does not know": (29, 100, 29, True),
        "one of very many": (100, 10**18, 10**18 - 1, False),
    },
)
def test_percent_is_judged_exactly(percent: int, members: int, successful: int, met: bool) -> None:
    criteria = SuccessCriteria(percent_successful_nodes=percent)

    assert (missed(criteria, members=members, successful=successful) == []) is met


PERCENT, MINIMUM, MAXIMUM = Criterion.PERCENT, Criterion.MINIMUM, Criterion.MAXIMUM_FAILED
SEVERAL = SuccessCriteria(percent_successful_nodes=70, minimum_successful_nodes=3, maximum_failed_nodes=1)


@every_row(
    {
        "none": (SuccessCriteria(), 5, 0, []),
        "too few": (SuccessCriteria(minimum_successful_nodes=3), 4, 2, [MINIMUM]),
        "one failure too many": (SuccessCriteria(maximum_failed_nodes=1), 4, 2, [MAXIMUM]),
        "all hold": (SEVERAL, 10, 10, []),
        "all missed": (SEVERAL, 10, 2, [PERCENT, MINIMUM, MAXIMUM]),
        "no nodes are 100 %": (SuccessCriteria(percent_successful_nodes=100), 0, 0, []),
        "no nodes are 0 nodes": (SuccessCriteria(minimum_successful_nodes=1), 0, 0, [MINIMUM]),
        "of no nodes none failed": (SuccessCriteria(maximum_failed_nodes=0), 0, 0, []),
    },
)
def test_each_criterion_is_judged_by_itself_and_all_that_are_missed_are_told(
    criteria: SuccessCriteria, members: int, successful: int, missing: list[Criterion]
) -> None:
    assert missed(criteria, members=members, successful=successful) == missing


@every_row(
    {
        "percent": (
            SuccessCriteria(percent_successful_nodes=90),
            2,
            "percent_successful_nodes is 66%, at least 90% needed",
        ),
        "minimum": (SuccessCriteria(minimum_successful_nodes=3), 2, "minimum_successful_nodes is 2, at least 3 needed"),
        "maximum": (SuccessCriteria(maximum_failed_nodes=0), 2, "maximum_failed_nodes is 1, at most 0 needed"),
    },
)
def test_a_shortfall_says_what_was_needed_and_what_was_there(
    criteria: SuccessCriteria, successful: int, text: str
) -> None:
    assert [str(shortfall) for shortfall in shortfalls(criteria, members=3, successful=successful)] == [text]


@every_row(
    {
        "none": (SuccessCriteria(), 0),
        "rounded up": (SuccessCriteria(51), 3),
        "all but one": (SuccessCriteria(maximum_failed_nodes=1), 3),
        "the strictest of all": (SuccessCriteria(50, 4, 1), 4),
        "more than there are": (SuccessCriteria(100, 5), 5),
    },
)
def test_the_least_number_of_nodes_meets_every_criterion(criteria: SuccessCriteria, least: int) -> None:
    assert needed(criteria, 4) == least
    assert missed(criteria, members=4, successful=least) == []
    assert least == 0 or missed(criteria, members=4, successful=least - 1)
