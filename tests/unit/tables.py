"""Tests that are tables: a row a line, its name in words first."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

Rows = Mapping[str, Any] | Iterable[Any]


def table(names: str | tuple[str, ...], rows: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Make an item of each row, for tests that take fixtures too; ``names`` are those of its values, as of pytest."""
    return pytest.mark.parametrize(names, rows.values(), ids=rows.keys())


def every_row(rows: Rows) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make one item of all rows, which names each row that fails; for tests that take nothing but a row's values.

    Rows without names, and those of ``pytest.param``, are taken as well.
    """
    named = list(_named(rows))

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        alone = len(inspect.signature(test).parameters) == 1

        def check() -> None:
            failures = []
            for name, row in named:
                try:
                    test(row) if alone else test(*row)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001  # raised below
                    failure.add_note(f"in the row: {repr(row) if name is None else name}")
                    failures.append(failure)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(named)} rows fail", failures)

        # Reports name the file of the test, and pytest looks for no fixtures.
        functools.update_wrapper(check, test)
        check.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        return check

    assert named, "a table without rows"
    return decorate


def _named(rows: Rows) -> Iterator[tuple[str | None, Any]]:
    if isinstance(rows, Mapping):
        yield from rows.items()
        return
    for row in rows:
        if hasattr(row, "marks"):  # of pytest.param
            assert not row.marks
            yield str(row.id), row.values if len(row.values) > 1 else row.values[0]
        else:
            yield None, row
