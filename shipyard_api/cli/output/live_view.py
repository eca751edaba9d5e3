"""The live view of an action: the progress of its steps, groups and nodes. Pure.

Colour carries no information of its own: a status is a glyph and a word, and one square is one node.
"""

import io
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from shipyard_api.api.entities.groups import DeploymentGroup
from shipyard_api.cli.output.failures import FailureLine, failure_lines
from shipyard_api.cli.output.group_table import GroupTable
from shipyard_api.cli.output.marks import DIM, FAILURE, LIFECYCLE_MARKS, NODE_MARKS, STEP_MARKS, UNKNOWN, marked
from shipyard_api.cli.output.shapes import JsonObject
from shipyard_api.cli.output.snapshot import Snapshot
from shipyard_api.cli.output.wording import (
    NODE_STATUS_WORDS,
    case_rows,
    clock,
    news,
    printable,
    status_words,
    teardown_lines,
    waiting_line,
)

SVG_WIDTH = 100

_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, DejaVu Sans Mono, monospace; font-size: {char_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""  # rich's own template loads a font from the network
_TEARDOWN_LINES = 6
_CASE_LINES = 3
_WAITING_LINES = 2  # it changes too often to be worth more
_LEAST_GROUPS = 3  # lines: the header, a group, and the count of the others
# Which groups are shown if not all fit; those that failed with another one are below its failure.
_URGENCY = {"preparing": 0, "deploying": 0, "failed": 1, "not_started": 2}
_FOLLOWED = 4


def watch_view(
    action: JsonObject,
    groups: Sequence[JsonObject],
    nodes: Sequence[JsonObject],
    now: datetime,
    height: int | None = None,
) -> "WatchView":
    """Return the view of an action at ``now``, in at most ``height`` lines; None if there is no limit."""
    return WatchView(Snapshot.of(action, groups, nodes), now, height)


def export_svg(
    action: JsonObject, groups: Sequence[JsonObject], nodes: Sequence[JsonObject], now: datetime, title: str
) -> str:
    """Return the view as an SVG of a terminal, which loads no font from the network."""
    from rich.terminal_theme import MONOKAI

    console = Console(record=True, width=SVG_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(watch_view(action, groups, nodes, now))
    return console.export_svg(title=title, theme=MONOKAI, code_format=_SVG, unique_id="shipyard-watch")


@dataclass(frozen=True, slots=True)
class WatchView:
    """A view that adapts to the width of the console. ``note``: a line about a problem of watching itself.

    ``height``: the most lines to use; None shows everything. Lines that are not needed for the groups show failures.
    """

    snapshot: Snapshot
    now: datetime
    height: int | None = None
    note: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the action, its steps, its groups, the counts of nodes, and the reasons of failures."""
        width = options.max_width
        above = [*header(self.snapshot, self.now, width), *self._steps(width), *self._cases(console, width)]
        below = [*self._nodes(width), *self._waiting(console, width)]
        after = [Text(self.note, Style(color="yellow"), no_wrap=True, overflow="ellipsis")] if self.note else []
        groups = self.snapshot.groups_in_order
        table = GroupTable.of(groups, width) if groups else None
        unknown = list(Text("Groups are known once the site design has been checked.", DIM).wrap(console, width))
        failures = failure_lines(self.snapshot)
        needed = len(groups) + 1 if groups else len(unknown)
        free = sys.maxsize if self.height is None else self.height - len(above) - len(below) - len(after) - 2
        lines = _fit(failures, console, width, max(free // 3, free - needed, 0))
        rows = max(free - len(lines), _LEAST_GROUPS) - 1
        yield from above
        yield Rule(f"{table.prefix}…" if table and table.prefix else "", align="left", style=DIM)
        if table:
            shown, folded = _visible(groups, rows)
            yield table.render(shown)
            if folded:
                counts = ", ".join(f"{count} {word}" for word, count in folded.items())
                overflow = f"+ {sum(folded.values())} more groups: {counts}"
                yield Text(overflow, DIM, no_wrap=True, overflow="ellipsis")
        else:
            yield from unknown
        yield Rule(style=DIM)
        yield from below
        yield from lines
        yield from after

    def _steps(self, width: int) -> list[Text]:
        steps = self.snapshot.steps
        if not steps:
            return [Text("Steps  none yet", DIM)]
        line = Text("Steps  ", no_wrap=True, overflow="ellipsis")
        if len(steps) <= width // 3:
            for step in steps:
                line.append(*STEP_MARKS.get(str(step.get("state")), UNKNOWN))
            line.append("  ")
        done = sum(step.get("state") in ("success", "skipped") for step in steps)
        line.append(f"{done} of {len(steps)} done")
        current = self.snapshot.current_step
        if not current:
            return [line]
        name = marked(STEP_MARKS[str(current["state"])], printable(current.get("id")))
        name.overflow = "ellipsis"
        if line.cell_len + 2 + name.cell_len > width:
            return [line, name]
        return [line.append("  ").append(name)]

    def _cases(self, console: Console, width: int) -> list[Text]:
        """Return what failures have in common; where there is little room, the first lines of each."""
        lines: list[Text] = []
        for word, text in case_rows(news(self.snapshot.action)):
            whole = list(Text.assemble((f"{word} ", FAILURE), str(text)).wrap(console, width))
            lines += whole if self.height is None else _first(whole, _CASE_LINES, width)
        return lines

    def _nodes(self, width: int) -> list[Text]:
        counts = self.snapshot.node_counts
        marks = [marked(NODE_MARKS[status], f"{counts[status]} {word}") for status, word in NODE_STATUS_WORDS.items()]
        total = Text(f"{len(self.snapshot.nodes)} nodes")
        whole = Text("   ").join([total, *marks])
        if whole.cell_len <= width:
            return [whole]
        lines, gap = [total, marks[0]], Text("  ")
        for mark in marks[1:]:
            if lines[-1].cell_len + len(gap) + mark.cell_len <= width:
                lines[-1] = gap.join([lines[-1], mark])
            else:
                lines.append(mark)
        return lines

    def _waiting(self, console: Console, width: int) -> list[Text]:
        action = self.snapshot.action
        if lines := teardown_lines(action, self.now):
            return self._teardowns(lines, console, width)
        return waiting(action, self.now, console, width, limited=self.height is not None)

    def _teardowns(self, lines: Sequence[str], console: Console, width: int) -> list[Text]:
        """Return the operation under way on each node; where there is little room, its beginning."""
        whole = [line for text in lines for line in Text(text).wrap(console, width)]
        if self.height is None or len(whole) <= _TEARDOWN_LINES:
            return whole
        if len(lines) == 1:
            return _first(whole, _TEARDOWN_LINES, width)
        shown = [Text(text, no_wrap=True, overflow="ellipsis") for text in lines[:_TEARDOWN_LINES]]
        if hidden := len(lines) - len(shown):
            shown[-1] = Text(f"+ {hidden + 1} more nodes", DIM)
        return shown


def header(snapshot: Snapshot, now: datetime, width: int) -> list[Table | Text]:
    """Return one or two lines: name and id of the action, its lifecycle, and how long it has run."""
    action = snapshot.action
    lifecycle = snapshot.lifecycle
    right = marked(LIFECYCLE_MARKS.get(lifecycle, UNKNOWN), printable(lifecycle))
    elapsed = snapshot.elapsed(now)
    if elapsed is not None:
        right.append(f"  {clock(elapsed)}", Style(bold=True))
    left = Text(printable(action.get("name")), Style(bold=True), no_wrap=True, overflow="ellipsis")
    identity = Text(printable(action.get("id")), Style(dim=True), no_wrap=True, overflow="ellipsis")
    apart = left.cell_len + 2 + identity.cell_len + 1 + right.cell_len > width
    if not apart:
        left.append(f"  {identity}", Style(dim=True, bold=False))
    line = Table.grid(expand=True, padding=(0, 1))
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(left, right)
    return [line, identity] if apart else [line]


def waiting(action: JsonObject, now: datetime, console: Console, width: int, *, limited: bool) -> list[Text]:
    """Return what the action waits for, as lines; ``limited``: few of them."""
    text = waiting_line(news(action).waiting_for, now)
    lines = list(Text(f"Waiting for {text}", DIM).wrap(console, width)) if text else []
    return _first(lines, _WAITING_LINES, width) if limited else lines


def _fit(failures: Sequence[FailureLine], console: Console, width: int, room: int) -> list[Text]:
    """Return the failures in at most ``room`` lines: causes before the others, and whole as long as there is room."""
    kept = len(failures) if len(failures) <= room else max(room - 1, 0)
    chosen = sorted(sorted(range(len(failures)), key=lambda number: failures[number].depth)[:kept])
    hidden = len(failures) - kept
    spare = room - kept - bool(hidden)
    lines = []
    for number in chosen:
        whole = _wrapped(failures[number], console, width)
        shown = _first(whole, 1 + spare, width)
        spare -= len(shown) - 1
        lines += shown
    if hidden and room:
        text = f"+ {hidden} more line{'s' * (hidden != 1)}, all shown at the end"
        lines.append(Text(text, DIM, no_wrap=True, overflow="ellipsis"))
    return lines


def _first(lines: Sequence[Text], room: int, width: int) -> list[Text]:
    """Return the first lines, and mark the last one if others are missing."""
    shown = list(lines[:room])
    if len(shown) < len(lines):
        shown[-1].rstrip()
        shown[-1].truncate(width - 1)
        shown[-1].append("…")
    return shown


def _wrapped(failure: FailureLine, console: Console, width: int) -> list[Text]:
    bullet = Text("  - ") if failure.depth else Text.assemble(("✗ ", FAILURE))
    indent = bullet.cell_len
    first, *others = Text(failure.text).wrap(console, width - indent)
    lines = [bullet.append(first), *(Text(" " * indent).append(line) for line in others)]
    for line in lines:
        line.rstrip()
    return lines


def _visible(groups: Sequence[DeploymentGroup], rows: int) -> tuple[list[DeploymentGroup], Counter[str]]:
    """Return the groups to show, in run order, and how many others have each status."""
    if len(groups) <= rows:
        return list(groups), Counter()

    def urgency(number: int) -> int:
        group = groups[number]
        return _FOLLOWED if group.reason == "dependency" else _URGENCY.get(group.status, _FOLLOWED - 1)

    chosen = set(sorted(range(len(groups)), key=urgency)[: max(rows - 1, 1)])
    others = (group for number, group in enumerate(groups) if number not in chosen)
    return [groups[number] for number in sorted(chosen)], Counter(status_words(group.status) for group in others)
