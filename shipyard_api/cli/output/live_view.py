"""The live view of an action: the progress of its steps, groups and nodes. Pure.

Colour carries no information of its own: a status is a glyph and a word, and the parts of a bar are different
characters.
"""

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.style import Style
from rich.table import Table
from rich.text import Text

from shipyard_api.cli.output.shapes import JsonObject
from shipyard_api.cli.output.snapshot import ACTIVE, Snapshot
from shipyard_api.cli.output.wording import NODE_STATUS_WORDS, clock, printable, reason_text, status_words, waiting_line

OTHER_LINES = 13  # of a screen, in addition to the rows of groups
SVG_WIDTH = 100

_SUCCESS, _IN_PROGRESS, _FAILURE, _DIM = Style(color="green"), Style(color="cyan"), Style(color="red"), Style(dim=True)
_CELLS = {
    "success": ("■", _SUCCESS),
    "prepared": ("□", _IN_PROGRESS),
    "failure": ("×", _FAILURE),
    "not_started": ("·", _DIM),
}
_GROUPS = {
    "success": ("✓", _SUCCESS),
    "preparing": ("▸", _IN_PROGRESS),
    "deploying": ("▸", _IN_PROGRESS),
    "failed": ("✗", _FAILURE),
    "not_started": ("·", _DIM),
}
_STEPS = {
    "success": ("✓", _SUCCESS),
    "skipped": ("-", _DIM),
    "running": ("▸", _IN_PROGRESS),
    "failed": ("✗", _FAILURE),
    "upstream_failed": ("-", _FAILURE),
}
_LIFECYCLES = {"Complete": ("✓", _SUCCESS), "Failed": ("✗", _FAILURE), "Processing": ("▸", _IN_PROGRESS)}
_UNKNOWN = ("·", _DIM)
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
_REASONS_SHOWN = 4
_NARROW = 76  # characters; below that only names, statuses and counts have room
_LEAST_BAR = 6
_CRITICAL = "critical"


def watch_view(
    action: JsonObject, groups: Sequence[JsonObject], nodes: Sequence[JsonObject], now: datetime, rows: int = 24
) -> "WatchView":
    """Return the view of an action at ``now``; at most ``rows`` groups get a row of their own."""
    return WatchView(Snapshot(action, groups, nodes), now, rows)


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
    """A view that adapts to the width of the console. ``note``: a line about a problem of watching itself."""

    snapshot: Snapshot
    now: datetime
    rows: int
    note: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the action, its steps, its groups, the counts of nodes, and the reasons of failures."""
        width = options.max_width
        header, steps, nodes = self._header(width), self._steps(width), self._nodes(width)
        waiting = waiting_line(self.snapshot.action, self.now)
        yield from header
        yield from steps
        yield Rule(style=_DIM)
        if self.snapshot.groups:
            # Lines that are broken because the terminal is narrow take rows from the groups.
            spent = len(header) + len(steps) + max(len(nodes), 2) - 4 + (width < _NARROW) + bool(waiting)
            shown, folded = self._visible_groups(max(self.rows - spent, 2))
            yield self._groups(width, shown)
            if folded:
                counts = ", ".join(f"{count} {word}" for word, count in folded.items())
                yield Text(f"+ {sum(folded.values())} more groups: {counts}", _DIM)
        else:
            yield Text("Groups are known once the site design has been checked.", _DIM)
        yield Rule(style=_DIM)
        yield from nodes
        if waiting:
            yield Text(f"Waiting for {waiting}", _DIM, no_wrap=True, overflow="ellipsis")
        yield from self._reasons()
        if self.note:
            yield Text(self.note, Style(color="yellow"))

    def _header(self, width: int) -> list[Table | Text]:
        action = self.snapshot.action
        lifecycle = self.snapshot.lifecycle
        right = _marked(_LIFECYCLES.get(lifecycle, _UNKNOWN), printable(lifecycle))
        elapsed = self.snapshot.elapsed(self.now)
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

    def _steps(self, width: int) -> list[Text]:
        steps = self.snapshot.steps
        if not steps:
            return [Text("Steps  none yet", _DIM)]
        line = Text("Steps  ", no_wrap=True, overflow="ellipsis")
        if len(steps) <= width // 3:
            for step in steps:
                line.append(*_STEPS.get(str(step.get("state")), _UNKNOWN))
            line.append("  ")
        done = sum(step.get("state") in ("success", "skipped") for step in steps)
        line.append(f"{done} of {len(steps)} done")
        current = self.snapshot.current_step
        if not current:
            return [line]
        name = _marked(_STEPS[str(current["state"])], printable(current.get("id")))
        name.overflow = "ellipsis"
        if line.cell_len + 2 + name.cell_len > width:
            return [line, name]
        return [line.append("  ").append(name)]

    def _groups(self, width: int, shown: list[JsonObject]) -> Table:
        """Return the table of groups; a narrow one leaves out reasons and bars, which other lines repeat."""
        total = max(len(str((group.get("nodes") or {}).get("total", 0))) for group in self.snapshot.groups)
        count = max(2 * total + 1, 5)
        narrow = width < _NARROW
        status_width = 13 if narrow else 14
        least = status_width + count + 2 if narrow else len(_CRITICAL) + status_width + 10 + count + 5 + _LEAST_BAR
        longest = max(len(printable(group.get("name"))) for group in shown) if shown else 12
        name = max(min(longest, width - least if narrow else max(width // 4, 12)), 6)
        bar = max(min(width - (least - _LEAST_BAR) - name, 60), _LEAST_BAR)
        table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, header_style=_DIM)
        table.add_column("Group", width=name, no_wrap=True)
        if not narrow:
            table.add_column("", width=len(_CRITICAL), no_wrap=True)
        table.add_column("Status" if narrow else " Status", width=status_width, no_wrap=True)
        if not narrow:
            table.add_column("Reason", width=10, no_wrap=True, overflow="ellipsis")
            table.add_column("Nodes", width=bar, no_wrap=True)
        table.add_column("Done", width=count, justify="right", no_wrap=True)
        for group in shown:
            status = str(group.get("status"))
            counts: JsonObject = group.get("nodes") or {}
            mark = _marked(_GROUPS.get(status, _UNKNOWN), status_words(status))
            cells: list[Text | str] = [Text(_shorten(printable(group.get("name")), name), Style(bold=status in ACTIVE))]
            if narrow:
                cells.append(mark)
            else:
                cells += [
                    Text(_CRITICAL if group.get("critical") else "", _DIM),
                    Text(" ").append(mark),
                    Text(status_words(group.get("reason") or ""), _FAILURE),
                    _bar(counts, bar),
                ]
            table.add_row(*cells, f"{counts.get('success', 0)}/{counts.get('total', 0)}")
        return table

    def _visible_groups(self, rows: int) -> tuple[list[JsonObject], Counter[str]]:
        """Return the groups to show, in the server's order if all fit, and how many others have each status."""
        groups = list(self.snapshot.groups)
        if len(groups) <= rows:
            return groups, Counter()
        urgency = {"preparing": 0, "deploying": 0, "failed": 1}
        groups.sort(key=lambda group: urgency.get(str(group.get("status")), 2))
        room = max(rows - 1, 1)
        return groups[:room], Counter(status_words(group.get("status")) for group in groups[room:])

    def _nodes(self, width: int) -> list[Text]:
        counts = self.snapshot.node_counts
        marks = [_marked(_CELLS[status], f"{counts[status]} {word}") for status, word in NODE_STATUS_WORDS.items()]
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

    def _reasons(self) -> list[Text]:
        groups = [group for group in self.snapshot.groups if group.get("status") == "failed" and group.get("detail")]
        items = [*(("group", group) for group in groups), *(("node", node) for node in self.snapshot.failed_nodes)]
        items.sort(key=lambda item: item[1].get("reason") == "dependency")  # causes before their consequences
        lines = [
            Text.assemble(
                ("✗ ", _FAILURE),
                f"{kind} {printable(item.get('name'))}, {reason_text(item)}",
                no_wrap=True,
                overflow="ellipsis",
            )
            for kind, item in items[:_REASONS_SHOWN]
        ]
        more = len(items) - _REASONS_SHOWN
        if more > 0:
            lines.append(Text(f"+ {more} more failure{'s' * (more != 1)}", _DIM))
        return lines


def _shorten(name: str, width: int) -> str:
    """Return a name cut in its middle to fit: names of groups often differ at their ends."""
    if len(name) <= width:
        return name
    end = (width - 1) // 2
    return f"{name[: width - 1 - end]}…{name[len(name) - end :]}"


def _marked(mark: tuple[str, Style], word: str) -> Text:
    glyph, style = mark
    return Text(f"{glyph} {word}", style, no_wrap=True)


def _bar(counts: JsonObject, width: int) -> Text:
    """Return the group's nodes as a bar; every status with a node gets at least one character."""
    total = sum(counts.get(status, 0) for status in _CELLS)
    if not total:
        return Text("no nodes", _DIM)
    bar = Text()
    for status, cells in share({status: counts.get(status, 0) for status in _CELLS}, width).items():
        glyph, style = _CELLS[status]
        bar.append(glyph * cells, style)
    return bar


def share(counts: dict[str, int], width: int) -> dict[str, int]:
    """Divide ``width`` among the counts: in proportion, at least 1 for every count above 0, without a rest."""
    total = sum(counts.values())
    cells = {name: max(1, count * width // total) if count else 0 for name, count in counts.items()}
    while (rest := width - sum(cells.values())) != 0:
        # The count whose share is furthest from its proportion gives or takes one.
        step = 1 if rest > 0 else -1
        candidates = [name for name in cells if counts[name] and (step > 0 or cells[name] > 1)]
        if not candidates:
            break
        name = max(candidates, key=lambda one: step * (counts[one] * width / total - cells[one]))
        cells[name] += step
    return cells
