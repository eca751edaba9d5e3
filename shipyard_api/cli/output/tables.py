"""Pages as people see them on a terminal: tables that fit its width, and colours that repeat what words say.

Never for pipes, files or the forms ``raw`` and ``format``: those get the contract's text (``pages``). A table that is
too wide is made to fit (``fitting``), and if nothing helps, each row becomes lines of its own: no name or id is ever
cut in two.
"""

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

from shipyard_api.cli.output.answers import harmless
from shipyard_api.cli.output.printout import Difference, Page, Table
from shipyard_api.cli.output.table_layout import GAP, Fitted, fit

_GOOD, _BUSY, _BAD, _CARE = (Style(color=colour) for colour in ("green", "cyan", "red", "yellow"))
_QUIET, _STRONG = Style(dim=True), Style(bold=True)
_WORDS = {
    **dict.fromkeys(("success", "complete", "created", "deployed", "on", "ready"), _GOOD),
    **dict.fromkeys(("processing", "running", "preparing", "deploying", "prepared", "queued", "scheduled"), _BUSY),
    **dict.fromkeys(("failed", "failure", "deleted", "upstream_failed", "failed deployment", "error"), _BAD),
    **dict.fromkeys(("paused", "modified", "skipped", "up_for_retry", "warning"), _CARE),
    **dict.fromkeys(("none", "pending", "unmodified", "not started", "not yet", "not begun", "off"), _QUIET),
}
# Lines of a Status (contract: shipyard-cli, 5.3), of notes, and titles of tables, by how they begin.
_LINES = (
    (re.compile(r"Error: |!!! "), Style(color="red", bold=True)),
    (re.compile(r"- (Error|Fatal)\b"), _BAD),
    (re.compile(r"- Warn\w*"), _CARE),
    (re.compile(r"(Status|Reason): |####  .*|(Validations|Subworkflows|\w+ Notes):"), _STRONG),
    (re.compile(r"(Nodes|Machines) [\w ]+:|\w+ action/\w+, .*"), _STRONG),
    (re.compile(r" +(Message|Diagnostic|Document|Source): |> |- |  - |\s*(Comparing Base|to New): "), _QUIET),
)
_DIFFERENCE = (
    (re.compile(r"(--- |\+\+\+ ).*"), _STRONG),
    (re.compile(r"@@ .*"), _BUSY),
    (re.compile(r"-.*"), _BAD),
    (re.compile(r"\+.*"), _GOOD),
)
_ITEM = re.compile(r"(?:action|step|node|validation|workflow)/(?:\w{26}/)?")


def terminal(stream: TextIO) -> Console:
    """Return the terminal that a stream is. If COLUMNS or LINES says 0, its real size counts, else 80 by 24."""
    console = Console(file=stream, highlight=False)
    width, height = console.size
    if width > 0 and height > 0:
        return console
    real = shutil.get_terminal_size()
    return Console(file=stream, highlight=False, width=width or real.columns, height=height or real.lines)


def write(page: Page) -> None:
    """Show a page on the terminal that stdout is. Parts that are apart stay so, by one empty line."""
    console = terminal(sys.stdout)
    begun, breaks = False, 0  # line breaks since the last thing shown
    for part in page.parts:
        text = "" if isinstance(part, Table) else str(part)
        shown = text.strip("\n") if isinstance(part, str) else text
        breaks += len(text) - len(text.lstrip("\n"))
        if not (shown or isinstance(part, Table)):
            continue
        if begun and breaks > 1:
            console.print()
        if isinstance(part, Table):
            _write_table(console, part)
        else:
            console.print(_lines(shown, _DIFFERENCE if isinstance(part, Difference) else _LINES), soft_wrap=True)
        begun, breaks = True, len(text) - len(text.rstrip("\n"))


def _lines(text: str, looks: Sequence[tuple[re.Pattern[str], Style]]) -> Text:
    shown = []
    for line in harmless(text).split("\n"):
        dressed = Text(line)
        for begins, style in looks:
            if found := begins.match(line):
                dressed.stylize(style, 0, found.end())
                break
        shown.append(dressed)
    return Text("\n").join(shown)


def _write_table(console: Console, part: Table) -> None:
    if not part.headers:
        console.print(_records([part.rows]), soft_wrap=True)
        return
    fitted = fit(part, console.width)
    if fitted is None:
        rows = ([(title, cell) for title, cell in zip(part.headers, row, strict=True) if cell] for row in part.rows)
        console.print(_records(rows), soft_wrap=True)
        return
    for line in fitted.above:
        console.print(Text(harmless(line), _QUIET), soft_wrap=True)
    if not fitted.below:
        console.print(_grid(fitted, fitted.rows))
        return
    title = fitted.headers[-1]
    for number, row in enumerate(fitted.rows):
        console.print(_grid(fitted, [row], titled=not number))
        if row[-1]:
            told = Text.assemble((f"{title}: ", _QUIET), _cell(row[-1]))
            console.print(Padding(told, (0, 0, 0, GAP)))


def _grid(fitted: Fitted, rows: Iterable[Sequence[str]], *, titled: bool = True) -> RichTable:
    shown = RichTable(box=None, header_style=_STRONG, pad_edge=False, padding=(0, fitted.gap, 0, 0), show_header=titled)
    for heading, size in zip(fitted.headers, fitted.widths, strict=False):
        shown.add_column(Text(heading), width=size)
    for row in rows:
        shown.add_row(*map(_cell, row[: len(fitted.widths)]))
    return shown


def _records(rows: Iterable[Sequence[Sequence[str]]]) -> Text:
    """Return names and values, one a line, with an empty line between rows. Long lines are the terminal's to wrap."""
    blocks = []
    for row in rows:
        size = max(len(name) for name, _ in row) + GAP
        margin = "\n" + " " * size
        lines = [Text.assemble((f"{name:{size}}", _QUIET), _cell(value.replace("\n", margin))) for name, value in row]
        blocks.append(Text("\n").join(lines))
    return Text("\n\n").join(blocks)


def _cell(text: str) -> Text:
    """Return a cell, coloured if it is a word with a meaning; of an item, what tells it apart stands out."""
    text = harmless(text)
    shown = Text(text, _WORDS.get(text.lower(), ""))
    if found := _ITEM.match(text):
        shown.stylize(_QUIET, 0, found.end())
    return shown
