"""Fitting a table into the width of a terminal. Pure.

Layouts are tried in order of what they cost the reader: a prefix shared by a whole column is printed once, times are
rounded to seconds, empty columns are left out, gaps get narrower. No name, id or count is ever broken.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from shipyard_api.cli.output.printout import TextTable

GAP = 3  # blanks between columns; the contract's eight would not fit most terminals
_NARROW_GAP = 2
_LEAST_GAP = 1
_TIME = re.compile(r"(\d{4})-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)?")
_UNBROKEN = re.compile(r"(?:\d+-)?\d\d-\d\d \d\d:\d\d:\S+|\S+")  # words; a time is one word
_PIECE = re.compile(r"\S+")
_ITEM = re.compile(r"[a-z]+/\S+")
_TALL = 2  # lines; a layout with taller cells is only used if every other one has them, too


@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table with the width of each column, the gap between them, and the lines to print above it.

    ``below``: the last column is printed below its row, as lines of its own, and has no width.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    above: Sequence[str]
    widths: Sequence[int] = ()
    gap: int = GAP
    below: bool = False


def fit(table: TextTable, room: int) -> TableLayout | None:
    """Return a layout within ``room`` characters, or None if a name would have to be broken."""
    tall: TableLayout | None = None
    for tried, word in _layouts(table):
        columns = list(zip(tried.headers, *tried.rows, strict=True))[: -1 if tried.below else None]
        widths = _widths(columns, room - tried.gap * (len(columns) - 1), word)
        if not widths:
            continue
        titles = [
            title if number >= len(widths) or len(title) <= widths[number] else title.replace("/", "/ ")
            for number, title in enumerate(tried.headers)
        ]
        layout = replace(tried, widths=widths, headers=titles)
        if not _is_tall(layout):
            return layout
        tall = tall or layout
    return tall


def _is_tall(layout: TableLayout) -> bool:
    """Return whether a narrow column makes a cell more than a few lines tall."""
    return any(
        len(line) > _TALL * width
        for row in layout.rows
        for cell, width in zip(row, layout.widths, strict=False)
        for line in cell.split("\n")
    )


def _layouts(table: TextTable) -> Iterator[tuple[TableLayout, re.Pattern[str]]]:
    """Yield layouts, each narrower than the one before, and the pattern of what must not be broken in their cells."""
    tried = TableLayout(table.headers, table.rows, [])
    yield tried, _UNBROKEN
    squeezes: list[Callable[[TableLayout], TableLayout]] = [
        _without_common_prefixes,
        _to_the_second,
        _without_empty_columns,
    ]
    for squeeze in squeezes:
        tried = squeeze(tried)
        yield tried, _UNBROKEN
    yield replace(tried, gap=_NARROW_GAP), _UNBROKEN
    tried = _without_common_days(tried)
    for gap in (GAP, _NARROW_GAP, _LEAST_GAP):
        yield replace(tried, gap=gap), _UNBROKEN
    if len(tried.headers) > 2:
        for gap in (_NARROW_GAP, _LEAST_GAP):
            yield replace(tried, gap=gap, below=True), _UNBROKEN
    for gap in (_NARROW_GAP, _LEAST_GAP):
        yield replace(tried, gap=gap), _PIECE
    if len(tried.headers) > 2:
        yield replace(tried, gap=_LEAST_GAP, below=True), _PIECE


def _without_common_prefixes(layout: TableLayout) -> TableLayout:
    """Print a prefix shared by a column, such as ``step/ID/``, once above the table, and a column of equal items, too.

    A prefix that the column's title implies, as ``action/`` below Action, is dropped.
    """
    above, kept = [], []
    for number, (title, *cells) in enumerate(zip(layout.headers, *layout.rows, strict=True)):
        common = _common(cells)
        if number and len(cells) > 1 and _ITEM.fullmatch(cells[0]) and len(set(cells)) == 1:
            above.append(f"{title}: {cells[0]}")
            continue
        if common and common.lower() != f"{title.lower()}/":
            above.append(f"{common}…")
        kept.append((title, *(cell.removeprefix(common) for cell in cells)))
    return _of_columns(layout, kept, above)


def _common(cells: Sequence[str]) -> str:
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(min(cells), max(cells), strict=False))
    before, slash, _ = "".join(letter for letter, _ in shared).rpartition("/")
    return before + slash if re.fullmatch(r"[a-z]\w*(/[\w.-]+)*", before) else ""


def _to_the_second(layout: TableLayout) -> TableLayout:
    return replace(layout, rows=[[_second(cell) for cell in row] for row in layout.rows])


def _second(cell: str) -> str:
    found = _TIME.fullmatch(cell)
    return f"{found[1]}-{found[2]} {found[3]}" if found else cell


def _without_empty_columns(layout: TableLayout) -> TableLayout:
    columns = zip(layout.headers, *layout.rows, strict=True)
    return _of_columns(layout, [column for number, column in enumerate(columns) if not number or any(column[1:])])


def _without_common_days(layout: TableLayout) -> TableLayout:
    """Print the day, or the year, that all times of a column share once above the table."""
    above, kept = [], []
    for title, *cells in zip(layout.headers, *layout.rows, strict=True):
        found = [_TIME.fullmatch(cell) for cell in cells if cell]
        days = {(time[1], time[2]) if time else None for time in found}
        years = {day and day[0] for day in days}
        common = ""
        if len(found) > 1 and None not in days and len(years) == 1:
            year, day = str(years.pop()), min(day for day in days if day)[1]
            common = f"{year}-{day} " if len(days) == 1 else f"{year}-"
            above.append(f"{title}: {common.rstrip()} …" if len(days) == 1 else f"{title}: {common}…")
        kept.append((title, *(cell.removeprefix(common) for cell in cells)))
    return _of_columns(layout, kept, above)


def _of_columns(layout: TableLayout, columns: Sequence[Sequence[str]], above: Sequence[str] = ()) -> TableLayout:
    headers, *rows = zip(*columns, strict=True)
    return replace(layout, headers=headers, rows=rows, above=[*layout.above, *above])


def _widths(columns: Sequence[Sequence[str]], room: int, word: re.Pattern[str]) -> list[int] | None:
    """Return the width of each column that breaks no word, or None if there is no room."""
    least, most = [], []
    for title, *cells in columns:
        texts = [title.replace("/", "/ "), *cells]
        least.append(max(len(one) for cell in texts for one in word.findall(cell) or [""]))
        most.append(max(len(line) for cell in (title, *cells) for line in cell.split("\n")))
    if sum(least) > room:
        return None
    widths = list(least)
    # The rest is shared equally; what a column does not need goes to the columns that lack more.
    lacking = sorted((more - less, number) for number, (less, more) in enumerate(zip(least, most, strict=True)))
    for behind, (lack, number) in enumerate(lacking):
        widths[number] += min(lack, (room - sum(widths)) // (len(lacking) - behind))
    return widths
