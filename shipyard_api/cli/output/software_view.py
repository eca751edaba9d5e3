"""The live view of the tasks of an action: on how many nodes each has run, with the nodes where it failed. Pure."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from shipyard_api.api.entities.tasks import TaskTotals
from shipyard_api.cli.output.live_view import header, waiting
from shipyard_api.cli.output.marks import DIM, FAILURE, IN_PROGRESS, SUCCESS, WARNING, Mark, flowed, marked
from shipyard_api.cli.output.snapshot import Snapshot
from shipyard_api.cli.output.task_tables import Progress, numbers
from shipyard_api.cli.output.wording import printable

_GAP = 2
_LEAST_NAME = 8
_LEAST_WITH_NODES = 80  # columns of a terminal; narrower ones have the failed nodes below the table
_NOTES = 3
_LEAST_ROWS = 2
# The most urgent first.
_MARKS: dict[str, Mark] = {
    "failed": ("✗", FAILURE),
    "left": ("!", WARNING),
    "running": ("▸", IN_PROGRESS),
    "success": ("✓", SUCCESS),
}
_TITLES = {"success": "Ok", "running": "Running", "failed": "Failed", "left": "Left"}
_WORDS = {"success": "ok", "running": "running", "failed": "failed", "left": "left running"}


@dataclass(frozen=True, slots=True)
class SoftwareView:
    """The tasks of an action as they are at ``now``; the rest as in the view of an action."""

    progress: Progress
    now: datetime
    height: int | None = None
    note: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the action, a line for each task that has begun, and what the action waits for."""
        width = options.max_width
        snapshot = Snapshot(self.progress.action)
        totals = self.progress.totals
        above = [*header(snapshot, self.now, width), *_sums(totals, width)]
        below: list[Text] = waiting(snapshot.action, self.now, console, width, limited=self.height is not None)
        if width < _LEAST_WITH_NODES:
            below = [*self._failed_nodes(), *below]
        if self.note:
            below.append(Text(self.note, WARNING, no_wrap=True, overflow="ellipsis"))
        rules_and_titles = 3
        free = sys.maxsize if self.height is None else self.height - len(above) - len(below) - rules_and_titles
        shown = _visible(totals, max(free, _LEAST_ROWS))
        yield from above
        if shown:
            yield Rule(style=DIM)
            yield self._table(shown, width)
        if folded := Counter(_state(total) for total in totals if total not in shown):
            words = ", ".join(f"{folded[state]} {_WORDS[state]}" for state in _MARKS if folded[state])
            yield Text(f"+ {folded.total()} more tasks: {words}", DIM, no_wrap=True, overflow="ellipsis")
        if below:
            yield Rule(style=DIM)
            yield from below

    def _table(self, shown: Sequence[TaskTotals], width: int) -> Table:
        totals = self.progress.totals
        left = any(total.left for total in totals)
        titles = {state: title for state, title in _TITLES.items() if left or state != "left"}
        sizes = [
            max(len(title), *(len(str(numbers(total)[state])) for total in totals)) for state, title in titles.items()
        ]
        rest = width - sum(sizes) - _GAP * len(sizes)
        name = max(min(max(cell_len(printable(total.task)) for total in totals) + 2, rest), _LEAST_NAME)
        nodes = rest - name - _GAP if width >= _LEAST_WITH_NODES else 0
        table = Table(box=None, padding=(0, _GAP, 0, 0), show_edge=False, pad_edge=False, header_style=DIM)
        table.add_column("Task", width=name, no_wrap=True, overflow="ellipsis")
        for size, title in zip(sizes, titles.values(), strict=True):
            table.add_column(title, width=size, no_wrap=True, justify="right")
        named = nodes > 0 and bool(self.progress.failed)
        if named:
            table.add_column("Failed Nodes", width=nodes, no_wrap=True, overflow="ellipsis")
        for total in shown:
            glyph, style = _MARKS[_state(total)]
            cells = [Text.assemble((f"{glyph} ", style), printable(total.task))]
            counts = numbers(total)
            cells += [Text(str(counts[state]), _MARKS[state][1] if counts[state] else DIM) for state in titles]
            table.add_row(*cells, *([Text(printable(self.progress.failed_nodes(total)))] if named else []))
        return table

    def _failed_nodes(self) -> list[Text]:
        failed = [total for total in self.progress.totals if total.failed]
        lines = [
            Text.assemble(("✗ ", FAILURE), f"{printable(total.task)}: {printable(self.progress.failed_nodes(total))}")
            for total in (failed if self.height is None else failed[:_NOTES])
        ]
        for line in lines:
            line.no_wrap, line.overflow = self.height is not None, "ellipsis"
        return lines


def _state(total: TaskTotals) -> str:
    """Return the most urgent status that a task has on any node."""
    return next((state for state in _MARKS if numbers(total)[state]), "success")


def _sums(totals: Sequence[TaskTotals], width: int) -> list[Text]:
    if not totals:
        return [Text("No task has begun yet.", DIM)]
    sums = {state: sum(numbers(total)[state] for total in totals) for state in _WORDS}
    parts = [Text(f"{len(totals)} task{'s' * (len(totals) != 1)} on nodes")]
    parts += [marked(_MARKS[state], f"{number} {_WORDS[state]}") for state, number in sums.items() if number]
    return flowed(parts, width)


def _visible(totals: Sequence[TaskTotals], room: int) -> Sequence[TaskTotals]:
    """Return the tasks that fit, in their order; those that ended well are the first to go."""
    if len(totals) <= room:
        return totals
    urgency = list(_MARKS)
    order = sorted(range(len(totals)), key=lambda number: urgency.index(_state(totals[number])))
    return [totals[number] for number in sorted(order[: room - 1])]
