"""Pages as people see them on a terminal: tables that fit its width, and colours that repeat what words say.

Never for pipes, files or the forms ``raw`` and ``format``: those get the contract's text (``pages``). A table that is
too wide loses what its cells have in common, then its lines are broken between words, and at last each row becomes
lines of its own: no name or id is ever cut in two.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile

from rich.console import Console
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from shipyard_api.cli.pages import Difference, Page, Table
from shipyard_api.cli.render import harmless

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
_WORD = re.compile(r"\d+-\d\d-\d\d \d\d:\d\d:\S+|\S+")  # a time counts as one
_GAP = 3  # blanks between columns; the contract's eight would not fit most terminals


def write(page: Page) -> None:
    """Show a page on the terminal that stdout is. Parts that are apart stay so, by one empty line."""
    console = Console(file=sys.stdout, highlight=False)
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
    width = console.width
    if _widths(part, width) is None and (common := _common(part)):
        console.print(Text(f"{common}…", _QUIET), soft_wrap=True)
        part = Table([[row[0].removeprefix(common), *row[1:]] for row in part.rows], part.headers)
    widths = _widths(part, width)
    if widths is None:
        rows = ([(title, cell) for title, cell in zip(part.headers, row, strict=True) if cell] for row in part.rows)
        console.print(_records(rows), soft_wrap=True)
        return
    shown = RichTable(box=None, header_style=_STRONG, pad_edge=False, padding=(0, _GAP, 0, 0))
    for title, size in zip(part.headers, widths, strict=True):
        shown.add_column(Text(title), width=size)
    for row in part.rows:
        shown.add_row(*map(_cell, row))
    console.print(shown)


def _records(rows: Iterable[Sequence[Sequence[str]]]) -> Text:
    """Return names and values, one a line, with an empty line between rows. Long lines are the terminal's to wrap."""
    blocks = []
    for row in rows:
        size = max(len(name) for name, _ in row) + _GAP
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


def _common(part: Table) -> str:
    """Return what all items of the first column begin with, such as ``step/ID/``; empty if that is next to nothing."""
    names = [row[0] for row in part.rows]
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    before, slash, _ = "".join(letter for letter, _ in shared).rpartition("/")
    return before + slash if "/" in before else ""


def _widths(part: Table, room: int) -> list[int] | None:
    """Return how wide each column may be without cutting a word, or None if there is no room for that."""
    room -= _GAP * (len(part.headers) - 1)
    columns = list(zip(part.headers, *part.rows, strict=True))
    least = [max(len(word) for cell in column for word in _WORD.findall(cell) or [""]) for column in columns]
    most = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    if sum(least) > room:
        return None
    widths = list(least)
    # Shares of what is left are equal, and what a column does not need goes to those that lack more.
    lacking = sorted((more - less, number) for number, (less, more) in enumerate(zip(least, most, strict=True)))
    for behind, (lack, number) in enumerate(lacking):
        widths[number] += min(lack, (room - sum(widths)) // (len(lacking) - behind))
    return widths
