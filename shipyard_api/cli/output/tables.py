"""Printouts on a terminal: tables that fit its width, and colours that repeat what the words say.

Pipes, files and the forms ``raw`` and ``format`` get the contract's text instead (``printout``). ``table_layout`` fits
a table into the width. If it cannot, each row is printed as lines of names and values: no name or id is ever broken.
"""

import io
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from shipyard_api.cli.output.printout import Printout, TextTable, UnifiedDiff
from shipyard_api.cli.output.table_layout import GAP, TableLayout, fit
from shipyard_api.cli.output.wording import printable_lines

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


def drawn(printout: Printout, width: int) -> Text:
    """Return what ``print_to_terminal`` prints on a terminal of this width."""
    console = Console(file=io.StringIO(), force_terminal=True, highlight=False, width=width)
    with console.capture() as captured:
        print_to_terminal(printout, console)
    return Text.from_ansi(captured.get())


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
            if found := beginning.match(line):
                styled.stylize(style, 0, found.end())
                break
        shown.append(styled)
    return Text("\n").join(shown)


def _print_table(console: Console, table: TextTable) -> None:
    if not table.headers:
        console.print(_records([table.rows]), soft_wrap=True)
        return
    layout = fit(table, console.width)
    if layout is None:
        rows = ([(title, cell) for title, cell in zip(table.headers, row, strict=True) if cell] for row in table.rows)
        console.print(_records(rows), soft_wrap=True)
        return
    for line in layout.above:
        console.print(Text(printable_lines(line), _DIM), soft_wrap=True)
    if not layout.below:
        console.print(_grid(layout, layout.rows))
        return
    title = layout.headers[-1]
    for number, row in enumerate(layout.rows):
        console.print(_grid(layout, [row], titled=not number))
        if row[-1]:
            below = Text.assemble((f"{title}: ", _DIM), _cell(row[-1]))
            console.print(Padding(below, (0, 0, 0, GAP)))


def _grid(layout: TableLayout, rows: Iterable[Sequence[str]], *, titled: bool = True) -> RichTable:
    shown = RichTable(box=None, header_style=_BOLD, pad_edge=False, padding=(0, layout.gap, 0, 0), show_header=titled)
    for heading, size in zip(layout.headers, layout.widths, strict=False):
        shown.add_column(Text(heading), width=size)
    for row in rows:
        shown.add_row(*map(_cell, row[: len(layout.widths)]))
    return shown


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
    if found := _ITEM.match(text):
        shown.stylize(_DIM, 0, found.end())
    return shown


def _bar_style(bar: str) -> Style:
    """Return the colour of a bar of a chance: how much of it is filled says the same."""
    share = bar.count("■") / max(1, len(bar))
    return _SUCCESS if share > 0.8 else _WARNING if share > 0.4 else _FAILURE
