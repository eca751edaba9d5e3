"""One item of all rows of a table fails if any row does, and names it."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.unit.tables import every_row


def is_even(number: int) -> None:
    assert number % 2 == 0


def differ(one: object, other: object) -> None:
    with pytest.raises(AssertionError):
        assert one == other


def rows_that_fail(test: Any, rows: Mapping[str, Any] | Iterable[Any]) -> list[str]:
    try:
        every_row(rows)(test)()
    except BaseExceptionGroup as group:
        return [failure.__notes__[0] for failure in group.exceptions]
    except (AssertionError, pytest.fail.Exception) as failure:
        return failure.__notes__
    return []


@pytest.mark.parametrize(
    ("test", "rows", "failing"),
    [
        pytest.param(is_even, {"zero": 0, "two": 2}, [], id="none fails"),
        pytest.param(is_even, {"zero": 0, "one": 1, "two": 2}, ["one"], id="one fails"),
        pytest.param(is_even, {"one": 1, "two": 2, "three": 3}, ["one", "three"], id="the first and the last fail"),
        pytest.param(is_even, [1, 2, 3], ["1", "3"], id="rows without names"),
        pytest.param(differ, {"same": (1, 1), "other": (1, 2)}, ["same"], id="several values, and an error not raised"),
        pytest.param(differ, [pytest.param(1, 1, id="same")], ["same"], id="rows of pytest"),
    ],
)
def test_an_item_names_every_row_that_fails(test: Any, rows: Any, failing: list[str]) -> None:
    assert rows_that_fail(test, rows) == [f"in the row: {name}" for name in failing]


def test_a_table_without_rows_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        every_row({})(is_even)
