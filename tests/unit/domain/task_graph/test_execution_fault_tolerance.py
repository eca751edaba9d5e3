"""How many nodes of a group may fail (contract: fuel-task-graph, 4.4)."""

import pytest

from shipyard_api.domain.task_graph.execution import ToleranceError, nodes_that_may_fail
from tests.unit.tables import every_row


@every_row(
    [
        (None, 10, None),
        (3, 10, 3),
        ("3", 10, 3),
        (30, 10, 10),
        ("20%", 10, 2),
        ("2%", 99, 1),
        ("100%", 10, 10),
        ("-1", 10, 9),
        (-20, 10, 0),
        ("20%", 0, 0),
        ("-30%", 7, 4),
        ("-0%", 10, 0),
        (" 5 ", 10, 5),
        (" 20 %\t", 10, 2),
        ("9" * 9, 10, 10),
        ("-" + "9" * 9, 10, 0),
    ],
)
def test_numbers_percentages_and_nodes_that_must_succeed(
    tolerance: int | str | None, nodes: int, expected: int | None
) -> None:
    assert nodes_that_may_fail(tolerance, nodes) == expected


@every_row(["", " ", "x", "%", "-", "- 5", "-101%", "101%", "1.5", "3 %%", "--1", "٣", "9" * 10, True])
def test_anything_else_is_refused(tolerance: int | str) -> None:
    with pytest.raises(ToleranceError):
        nodes_that_may_fail(tolerance, 10)
