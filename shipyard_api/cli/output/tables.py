"""Printouts on a terminal: tables that fit its width, and colours that repeat what the words say.

Pipes, files and the forms ``raw`` and ``format`` get the contract's text instead (``printout``). rich fits a table into
the width; if that would break a name or an id, each row is printed as lines of names and values.
"""

import math
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from shipyard_api.cli.output.names import common_prefix
from shipyard_api.cli.output.printout import Printout, TextTable, UnifiedDiff
from shipyard_api.cli.output.wording import printable_lines

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)?")
_SHARED = re.compile(r"[a-z]\w*(?:/[\w.-]+)*/|\d{4}-\d\d-\d\d ")  # of items such as step/ID/NAME, or of times
_ANY_ITEM = re.compile(r"[a-z]+/\S+")

Column = tuple[str, Sequence[str]]
"""A title and its cells."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table, and the lines to print above it."""

    columns: Sequence[Column]
    above: Sequence[str] = ()


def compact(layout: Layout) -> Layout:
    """Return the layout without what its reader can do without."""
    above, columns = [], []
    for number, (title, full) in enumerate(layout.columns):
        cells = [_TIME.sub(r"\1 \2", cell) if _TIME.fullmatch(cell) else cell for cell in full]
        if number and not any(cells):
            continue
        if number and len(cells) > 1 and len(set(cells)) == 1 and _ANY_ITEM.fullmatch(cells[0]):
            above.append(f"{title}: {cells[0]}")
            continue
        shared = _SHARED.match(common_prefix([cell for cell in cells if cell]))
        common = shared[0] if shared and (len(cells) > 1 or "/" in shared[0]) else ""
        # Below Action, action/ says nothing.
        if common and common.lower() != f"{title.lower()}/":
            above.append(f"{common}…" if "/" in common else f"{title}: {common}…")
        columns.append((title, [cell.removeprefix(common) for cell in cells]))
    return Layout(columns, [*layout.above, *above])


_SUCCESS, _ACTIVE, _FAILURE, _WARNING = (Style(color=colour) for colour in ("green", "cyan", "red", "yellow"))
_DIM, _BOLD = Style(dim=True), Style(bold=True)
_WORD_STYLES = {
    **dict.fromkeys(("success", "complete", "created", "deployed", "on", "ready"), _SUCCESS),
    **dict.fromkeys(("processing", "running", "preparing", "deploying", "prepared", "queued", "scheduled"), _ACTIVE),
    **dict.fromkeys(("failed", "failure", "deleted", "upstream_failed", "failed deployment", "error"), _FAILURE),
    **dict.fromkeys(("paused", "modified", "skipped", "up_for_retry", "warning"), _WARNING),
    **dict.fromkeys(("none", "pending", "unmodified", "not started", "not yet", "not begun", "off"), _DIM),
}
# By the beginning of the line: of a Status (contract: shipyard-cli, 5.3), of notes, and titles of tables.
_LINE_STYLES = (
    (re.compile(r"Error: |!!! "), Style(color="red", bold=True)),
    (re.compile(r"- (Error|Fatal)\b"), _FAILURE),
    (re.compile(r"- Warn\w*"), _WARNING),
    (re.compile(r"(Status|Reason): |####  .*|(Validations|Subworkflows|\w+ Notes):"), _BOLD),
    (re.compile(r"(Nodes|Machines) [\w ]+:|\w+ action/\w+, .*"), _BOLD),
    (re.compile(r"(\d+\.|never:) [^ :]+"), _BOLD),  # a group of a plan
    (re.compile(r" +(Message|Diagnostic|Document|Source): |> |- |  - |\s*(Comparing Base|to New): "), _DIM),
)
_DIFF_STYLES = (
    (re.compile(r"(--- |\+\+\+ ).*"), _BOLD),
    (re.compile(r"@@ .*"), _ACTIVE),
    (re.compile(r"-.*"), _FAILURE),
    (re.compile(r"\+.*"), _SUCCESS),
)
GAP = 3  # blanks between columns; the contract's eight would not fit most terminals
_UNBOUNDED = 100_000  # columns
_SAVING = 0.8  # of the lines; for less, nothing is left out
_UNBROKEN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\S+|\S+")  # words; a time is one word
_BAR = re.compile(r"■*·*")
_ITEM = re.compile(r"(?:action|step|node|validation|workflow)/(?:\w{26}/)?")


def terminal(stream: TextIO) -> Console:
    """Return the console of a terminal. If COLUMNS or LINES is 0, the real size is used, or else 80 by 24."""
    console = Console(file=stream, highlight=False)
    width, height = console.size
    if width > 0 and height > 0:
        return console
    real = shutil.get_terminal_size()
    return Console(file=stream, highlight=False, width=width or real.columns, height=height or real.lines)


def print_to_terminal(printout: Printout, console: Console | None = None) -> None:
    """Print on stdout, a terminal, or on another one. Empty lines between two parts become one."""
    console = console or terminal(sys.stdout)
    begun, breaks = False, 0  # line breaks since the last part with content
    for part in printout.parts:
        text = "" if isinstance(part, TextTable) else str(part)
        shown = text.strip("\n") if isinstance(part, str) else text
        breaks += len(text) - len(text.lstrip("\n"))
        if not (shown or isinstance(part, TextTable)):
            continue
        if begun and breaks > 1:
            console.print()
        if isinstance(part, TextTable):
            _print_table(console, part)
        else:
            console.print(
                _styled_lines(shown, _DIFF_STYLES if isinstance(part, UnifiedDiff) else _LINE_STYLES), soft_wrap=True
            )
        begun, breaks = True, len(text) - len(text.rstrip("\n"))


def _styled_lines(text: str, styles: Sequence[tuple[re.Pattern[str], Style]]) -> Text:
    shown = []
    for line in printable_lines(text).split("\n"):
        styled = Text(line)
        for beginning, style in styles:
            if match := beginning.match(line):
                styled.stylize(style, 0, match.end())
                break
        shown.append(styled)
    return Text("\n").join(shown)


def _print_table(console: Console, table: TextTable) -> None:
    if not table.headers:
        console.print(_records([table.rows]), soft_wrap=True)
    elif drawing := _fitting(table, console):
        console.print(drawing)
    else:
        rows = ([(title, cell) for title, cell in zip(table.headers, row, strict=True) if cell] for row in table.rows)
        console.print(_records(rows), soft_wrap=True)


def _fitting(table: TextTable, console: Console) -> Group | None:
    """Return a drawing of few lines in which every name is whole, None if the width has room for none."""
    full = Layout([(title, cells) for title, *cells in zip(table.headers, *table.rows, strict=True)])
    short = compact(full)
    unbounded = console.options.update_width(_UNBOUNDED)
    wrapped = []
    for layout, gap in ((full, GAP), (short, GAP), (short, 2), (short, 1)):
        for draw in (_rows, _rows_with_last_below) if gap < GAP and len(layout.columns) > 2 else (_rows,):
            drawing = Group(*(Text(printable_lines(line), _DIM) for line in layout.above), *draw(layout.columns, gap))
            needed = Measurement.get(console, unbounded, drawing)
            if needed.maximum <= console.width:
                return drawing
            if needed.minimum <= console.width:
                wrapped.append(drawing)
    shortest: tuple[float, Group | None] = math.inf, None
    for drawing in wrapped:
        width, height = Segment.get_shape(list(Segment.split_lines(console.render(drawing))))
        if width <= console.width and height < _SAVING * shortest[0]:
            shortest = height, drawing
    return shortest[1]


def _rows(columns: Sequence[Column], gap: int) -> Iterator[RenderableType]:
    shown = _grid(gap)
    for title, cells in columns:
        word = max((len(word) for cell in cells for word in _UNBROKEN.findall(cell)), default=1)
        line = max(len(line) for cell in cells for line in cell.split("\n"))
        if gap < GAP and len(title) > line:
            title = fill(title.replace("/", "/ "), max(line, 1), break_long_words=False)
        least = max(word, *(len(part) for part in title.split()))
        shown.add_column(Text(title), min_width=least, no_wrap=line <= least)
    for row in zip(*(cells for _, cells in columns), strict=True):
        shown.add_row(*map(_cell, row))
    yield shown


def _rows_with_last_below(columns: Sequence[Column], gap: int) -> Iterator[RenderableType]:
    *others, (last, texts) = columns
    for number, text in enumerate(texts):
        shown = _grid(gap, show_header=not number)
        for title, cells in others:
            shown.add_column(Text(title), width=max(len(line) for cell in (title, *cells) for line in cell.split("\n")))
        shown.add_row(*(_cell(cells[number]) for _, cells in others))
        yield shown
        if text:
            yield Padding(Text.assemble((f"{last}: ", _DIM), _cell(text)), (0, 0, 0, GAP))


def _grid(gap: int, *, show_header: bool = True) -> RichTable:
    return RichTable(box=None, header_style=_BOLD, pad_edge=False, padding=(0, gap, 0, 0), show_header=show_header)


def _records(rows: Iterable[Sequence[Sequence[str]]]) -> Text:
    """Return names and values, one per line, with an empty line between rows. The terminal wraps long lines."""
    blocks = []
    for row in rows:
        size = max(len(name) for name, _ in row) + GAP
        margin = "\n" + " " * size
        lines = [Text.assemble((f"{name:{size}}", _DIM), _cell(value.replace("\n", margin))) for name, value in row]
        blocks.append(Text("\n").join(lines))
    return Text("\n\n").join(blocks)


def _cell(text: str) -> Text:
    """Return a cell; status words are coloured, and the common part of an item such as ``action/`` is dim."""
    text = printable_lines(text)
    shown = Text(text, _WORD_STYLES.get(text.lower(), _bar_style(text) if _BAR.fullmatch(text) else ""))
    if match := _ITEM.match(text):
        shown.stylize(_DIM, 0, match.end())
    return shown


def _bar_style(bar: str) -> Style:
    """Return the colour of a bar of a chance: how much of it is filled says the same."""
    share = bar.count("■") / max(1, len(bar))
    return _SUCCESS if share > 0.8 else _WARNING if share > 0.4 else _FAILURE
