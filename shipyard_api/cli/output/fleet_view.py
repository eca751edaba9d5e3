"""The live view of several sites: a line for each, and below the table their troubles and waits. Pure.

As in the view of an action, colour carries no information of its own.
"""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from shipyard_api.cli.output.fleet_tables import NO_ACCESS, NOT_YET, unread
from shipyard_api.cli.output.marks import (
    DIM,
    FAILURE,
    IN_PROGRESS,
    LIFECYCLE_MARKS,
    NODE_MARKS,
    SUCCESS,
    WARNING,
    Mark,
    flowed,
    marked,
)
from shipyard_api.cli.output.shapes import JsonObject, counts_at, object_at
from shipyard_api.cli.output.wording import news, printable, waiting_text

_GAP = 2
_LONGEST_BAR, _LEAST_BAR = 24, 8
_LEAST_NAME = 8
_LEAST_ROWS = 2
_ENDED = ("Complete", "Failed")

# The kinds of sites, the most urgent first, with the word of the first line and the mark of the site's own line.
_SILENT, _REFUSED, _FAILED, _SICK, _BUSY, _ASKING, _CALM = range(7)
_KINDS: Mapping[int, tuple[str, Mark]] = {
    _SILENT: ("no answer", ("✗", FAILURE)),
    _REFUSED: (NO_ACCESS, ("✗", FAILURE)),
    _FAILED: ("failed", ("✗", FAILURE)),
    _SICK: ("not ready", ("!", WARNING)),
    _BUSY: ("at work", ("▸", IN_PROGRESS)),
    _ASKING: ("being asked", ("·", DIM)),
    _CALM: ("at rest", ("✓", SUCCESS)),
}
# Columns beside the site, from the widest choice to the narrowest; the bar takes the rest.
_CHOICES = (("health", "action", "state", "done"), ("action", "state", "done"), ("state", "done"), ("state",))
_TITLES = {"health": "Health", "action": "Action", "state": "State", "done": "Done"}


@dataclass(frozen=True, slots=True)
class FleetView:
    """Rows of ``fleet`` as they are at ``now``. One with an error may have what its site answered ``age`` seconds ago.

    ``height``: the most lines to use; None shows everything.
    """

    rows: Sequence[JsonObject]
    now: datetime
    height: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the counts of sites, a line for each site, and notes on those that need one."""
        width = options.max_width
        above = self._header(width)
        notes = [note for row in self.rows for note in _notes(row)]
        free = sys.maxsize if self.height is None else self.height - len(above) - 3  # two rules, and titles
        room = max(free // 3, free - len(self.rows))
        below = _fit(notes, console, width, room)
        shown, folded = _visible(self.rows, max(free - len(below), _LEAST_ROWS))
        yield from above
        yield Rule(style=DIM)
        yield _table(shown, self.rows, width)
        if folded:
            yield Text(f"+ {len(folded)} more sites: {_words(folded)}", DIM, no_wrap=True, overflow="ellipsis")
        if below:
            yield Rule(style=DIM)
            yield from below

    def _header(self, width: int) -> Sequence[Text]:
        parts = [Text(_counted(len(self.rows)), Style(bold=True))]
        parts += [marked(_KINDS[kind][1], f"{number} {_KINDS[kind][0]}") for kind, number in _kinds(self.rows).items()]
        lines = flowed(parts, width)
        clock = self.now.strftime("%H:%M:%S UTC")
        if (room := width - lines[-1].cell_len - len(clock)) >= _GAP:
            lines[-1] = Text.assemble(lines[-1], " " * room, (clock, DIM))
        return lines


def _kind(row: JsonObject) -> int:
    if error := row.get("error"):
        return _ASKING if error == NOT_YET else _REFUSED if unread(error) == NO_ACCESS else _SILENT
    lifecycle = object_at(row, "action").get("action_lifecycle")
    if row.get("verdict") == "failed" or lifecycle == "Failed":
        return _FAILED
    if str(row.get("health")) not in ("ready", "unknown"):
        return _SICK
    return _BUSY if lifecycle and lifecycle not in _ENDED else _CALM


def _kinds(rows: Sequence[JsonObject]) -> Mapping[int, int]:
    counts = Counter(map(_kind, rows))
    return {kind: counts[kind] for kind in _KINDS if counts[kind]}


def _words(rows: Sequence[JsonObject]) -> str:
    return ", ".join(f"{number} {_KINDS[kind][0]}" for kind, number in _kinds(rows).items())


def _counted(number: int) -> str:
    return f"{number} site{'s' * (number != 1)}"


def _visible(rows: Sequence[JsonObject], room: int) -> tuple[Sequence[JsonObject], Sequence[JsonObject]]:
    """Return the rows that fit, in their order, and the others; sites in trouble are folded last."""
    if len(rows) <= room:
        return rows, ()
    chosen = set(sorted(range(len(rows)), key=lambda at: _kind(rows[at]))[: room - 1])
    return [row for at, row in enumerate(rows) if at in chosen], [r for at, r in enumerate(rows) if at not in chosen]


def _table(shown: Sequence[JsonObject], rows: Sequence[JsonObject], width: int) -> Table:
    """Return the table of the shown rows, with the columns that all rows need."""
    cells = {id(row): _cells(row) for row in rows}
    longest = max(cell_len(printable(row["site"])) for row in rows) + 2
    needed = {
        heading: max(len(title), *(cell[heading].cell_len for cell in cells.values()))
        for heading, title in _TITLES.items()
    }
    room = [width - sum(needed[heading] + _GAP for heading in columns) for columns in _CHOICES]
    choice = next((at for at, rest in enumerate(room) if longest <= rest), len(_CHOICES) - 1)
    sizes, rest = {heading: needed[heading] for heading in _CHOICES[choice]}, room[choice]
    name = min(longest, max(rest, _LEAST_NAME))
    bar = min(rest - name - _GAP, _LONGEST_BAR)
    table = Table(box=None, padding=(0, _GAP, 0, 0), show_edge=False, pad_edge=False, header_style=DIM)
    table.add_column("Site", width=name, no_wrap=True, overflow="ellipsis")
    for heading, size in sizes.items():
        table.add_column(_TITLES[heading], width=size, no_wrap=True, overflow="ellipsis")
    if bar >= _LEAST_BAR:
        table.add_column("Nodes", width=bar, no_wrap=True)
    for row in shown:
        glyph, style = _KINDS[_kind(row)][1]
        site = Text.assemble((f"{glyph} ", style), printable(row["site"]))
        bars = [_bar(counts_at(row, "nodes"), bar)] if bar >= _LEAST_BAR else []
        table.add_row(site, *(cells[id(row)][heading] for heading in sizes), *bars)
    return table


def _cells(row: JsonObject) -> Mapping[str, Text]:
    action, counts = object_at(row, "action"), counts_at(row, "nodes")
    dim = DIM if row.get("error") else Style()
    lifecycle = printable(action.get("action_lifecycle") or "")
    failing = ", failing" if row.get("verdict") == "failed" and lifecycle not in _ENDED else ""
    _, style = LIFECYCLE_MARKS.get(lifecycle, ("", Style()))
    total = counts.get("total", 0)
    return {
        "health": _health(row),
        "action": Text(printable(action.get("name") or ("" if row.get("error") else "none")), dim),
        "state": Text(f"{lifecycle}{failing}", dim or (FAILURE if failing else style)),
        "done": Text(f"{counts.get('success', 0)} of {total}" if total else "", dim),
    }


def _health(row: JsonObject) -> Text:
    error, health = row.get("error"), printable(row.get("health") or "").partition(",")[0]
    if error:
        return Text("…", DIM) if error == NOT_YET else Text(unread(error), FAILURE)
    return Text(health, Style() if health == "ready" else WARNING)


def _notes(row: JsonObject) -> Sequence[Text]:
    """Return the lines below the table: the error of a site, its unready parts, and what its action waits for."""
    site, error = printable(row["site"]), row.get("error")
    if error:
        old = f" (answered last {row['age']:.0f} s ago)" if row.get("age") else ""
        return () if error == NOT_YET else (Text.assemble(("✗ ", FAILURE), f"{site}: {printable(error)}{old}"),)
    notes = []
    if (health := printable(row.get("health") or "")) != "ready":
        notes.append(Text.assemble(("! ", WARNING), f"{site}: {health}"))
    if waits := waiting_text(news(row).waiting_for):
        notes.append(Text(f"  {site} waits for {waits}", DIM))
    return notes


def _fit(notes: Sequence[Text], console: Console, width: int, room: int) -> list[Text]:
    """Return the notes in at most ``room`` lines, troubles first."""
    ordered = sorted(notes, key=lambda note: note.plain.startswith("  "))
    lines: list[Text] = []
    for number, note in enumerate(ordered):
        wrapped = note.wrap(console, width)
        left = len(ordered) - number
        if len(lines) + len(wrapped) + (left > 1) > room:
            overflow = f"+ {left} more note{'s' * (left != 1)}, all shown at the end"
            return [*lines, Text(overflow, DIM, no_wrap=True, overflow="ellipsis")][: max(room, 0)]
        lines += wrapped
    return lines


def _bar(counts: Mapping[str, int], width: int) -> Text:
    """Return the nodes as a bar: a square each where all fit, else their shares; no status with nodes is left out."""
    total = sum(counts.get(status, 0) for status in NODE_MARKS)
    cells = {status: counts.get(status, 0) for status in NODE_MARKS if counts.get(status)}
    if total > width:
        cells = {status: max(1, number * width // total) for status, number in cells.items()}
        largest = max(cells, key=lambda status: cells[status])
        cells[largest] += width - sum(cells.values())
    return Text().join(Text(NODE_MARKS[status][0] * number, NODE_MARKS[status][1]) for status, number in cells.items())
