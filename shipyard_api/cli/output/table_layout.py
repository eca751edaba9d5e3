"""How a table is made to fit the width of a terminal. Pure.

What costs the reader least is tried first: what the items of a column have in common is said once, times lose what is
below a second, columns without content go, and columns stand closer. No name, id or count is ever cut.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from shipyard_api.cli.output.printout import Table

GAP = 3  # blanks between columns; the contract's eight would not fit most terminals
_CLOSER = 2
_CLOSEST = 1
_TIME = re.compile(r"(\d{4})-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)?")
_WORD = re.compile(r"(?:\d+-)?\d\d-\d\d \d\d:\d\d:\S+|\S+")  # a time counts as one
_PART = re.compile(r"\S+")
_ITEM = re.compile(r"[a-z]+/\S+")
_TALL = 2  # lines; a row with more is avoided if there is another way


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that fits: how wide each column is, the blanks between them, and the lines that stand above it.

    ``below``: the last column stands below its row, as lines of its own; it has no width then.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    above: Sequence[str]
    widths: Sequence[int] = ()
    gap: int = GAP
    below: bool = False


def fit(part: Table, room: int) -> Fitted | None:
    """Return the table so that it fits into ``room`` characters, or None if that takes cutting names."""
    least: Fitted | None = None
    for tried, word in _attempts(part):
        columns = list(zip(tried.headers, *tried.rows, strict=True))[: -1 if tried.below else None]
        widths = _widths(columns, room - tried.gap * (len(columns) - 1), word)
        if not widths:
            continue
        titles = [
            title if number >= len(widths) or len(title) <= widths[number] else title.replace("/", "/ ")
            for number, title in enumerate(tried.headers)
        ]
        fitted = replace(tried, widths=widths, headers=titles)
        if not _is_tall(fitted):
            return fitted
        least = least or fitted
    return least


def _is_tall(fitted: Fitted) -> bool:
    """Say whether a cell takes more than a few lines because its column is narrow."""
    return any(
        len(line) > _TALL * width
        for row in fitted.rows
        for cell, width in zip(row, fitted.widths, strict=False)
        for line in cell.split("\n")
    )


def _attempts(part: Table) -> Iterator[tuple[Fitted, re.Pattern[str]]]:
    """Yield tables, each narrower than the one before, with what must not be broken in their cells."""
    tried = Fitted(part.headers, part.rows, [])
    yield tried, _WORD
    squeezes: list[Callable[[Fitted], Fitted]] = [_without_common_beginnings, _to_the_second, _without_empty_columns]
    for squeeze in squeezes:
        tried = squeeze(tried)
        yield tried, _WORD
    yield replace(tried, gap=_CLOSER), _WORD
    tried = _without_common_days(tried)
    for gap in (GAP, _CLOSER, _CLOSEST):
        yield replace(tried, gap=gap), _WORD
    if len(tried.headers) > 2:
        for gap in (_CLOSER, _CLOSEST):
            yield replace(tried, gap=gap, below=True), _WORD
    for gap in (_CLOSER, _CLOSEST):
        yield replace(tried, gap=gap), _PART
    if len(tried.headers) > 2:
        yield replace(tried, gap=_CLOSEST, below=True), _PART


def _without_common_beginnings(part: Fitted) -> Fitted:
    """Say once what all items of a column begin with, such as ``step/ID/``, and which one it is if there is only one.

    A beginning that the column's title says already, as ``action/`` below Action, is not said again.
    """
    above, kept = [], []
    for number, (title, *cells) in enumerate(zip(part.headers, *part.rows, strict=True)):
        common = _common(cells)
        if number and len(cells) > 1 and _ITEM.fullmatch(cells[0]) and len(set(cells)) == 1:
            above.append(f"{title}: {cells[0]}")
            continue
        if common and common.lower() != f"{title.lower()}/":
            above.append(f"{common}…")
        kept.append((title, *(cell.removeprefix(common) for cell in cells)))
    return _of_columns(part, kept, above)


def _common(cells: Sequence[str]) -> str:
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(min(cells), max(cells), strict=False))
    before, slash, _ = "".join(letter for letter, _ in shared).rpartition("/")
    return before + slash if re.fullmatch(r"[a-z]\w*(/[\w.-]+)*", before) else ""


def _to_the_second(part: Fitted) -> Fitted:
    return replace(part, rows=[[_second(cell) for cell in row] for row in part.rows])


def _second(cell: str) -> str:
    found = _TIME.fullmatch(cell)
    return f"{found[1]}-{found[2]} {found[3]}" if found else cell


def _without_empty_columns(part: Fitted) -> Fitted:
    columns = zip(part.headers, *part.rows, strict=True)
    return _of_columns(part, [column for number, column in enumerate(columns) if not number or any(column[1:])])


def _without_common_days(part: Fitted) -> Fitted:
    """Say the day, or the year, of all times in a column once."""
    above, kept = [], []
    for title, *cells in zip(part.headers, *part.rows, strict=True):
        found = [_TIME.fullmatch(cell) for cell in cells if cell]
        days = {(time[1], time[2]) if time else None for time in found}
        years = {day and day[0] for day in days}
        common = ""
        if len(found) > 1 and None not in days and len(years) == 1:
            year, day = str(years.pop()), min(day for day in days if day)[1]
            common = f"{year}-{day} " if len(days) == 1 else f"{year}-"
            above.append(f"{title}: {common.rstrip()} …" if len(days) == 1 else f"{title}: {common}…")
        kept.append((title, *(cell.removeprefix(common) for cell in cells)))
    return _of_columns(part, kept, above)


def _of_columns(part: Fitted, columns: Sequence[Sequence[str]], above: Sequence[str] = ()) -> Fitted:
    headers, *rows = zip(*columns, strict=True)
    return replace(part, headers=headers, rows=rows, above=[*part.above, *above])


def _widths(columns: Sequence[Sequence[str]], room: int, word: re.Pattern[str]) -> list[int] | None:
    """Return how wide each column may be without cutting a word, or None if there is no room for that."""
    least, most = [], []
    for title, *cells in columns:
        told = [title.replace("/", "/ "), *cells]
        least.append(max(len(one) for cell in told for one in word.findall(cell) or [""]))
        most.append(max(len(line) for cell in (title, *cells) for line in cell.split("\n")))
    if sum(least) > room:
        return None
    widths = list(least)
    # Shares of what is left are equal, and what a column does not need goes to those that lack more.
    lacking = sorted((more - less, number) for number, (less, more) in enumerate(zip(least, most, strict=True)))
    for behind, (lack, number) in enumerate(lacking):
        widths[number] += min(lack, (room - sum(widths)) // (len(lacking) - behind))
    return widths
