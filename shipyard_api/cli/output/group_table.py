"""The table of groups in the live view: as much of each group as the width has room for. Pure.

Names come before bars. A square is one node: a group whose nodes do not fit has its counts in words, or nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.style import Style
from rich.table import Table
from rich.text import Text

from shipyard_api.api.entities.groups import DeploymentGroup
from shipyard_api.cli.output.marks import DIM, GROUP_MARKS, NODE_MARKS, UNKNOWN, marked
from shipyard_api.cli.output.names import prefixes, shortened
from shipyard_api.cli.output.snapshot import ACTIVE
from shipyard_api.cli.output.wording import NODE_STATUS_WORDS, printable, status_words

_CRITICAL = "critical"
_STATUS = 13  # characters of the longest usual status with its mark
_LEAST_NAME = 8
_LEAST_NODES = 8
_GAP = 2


class _Columns(NamedTuple):
    """The columns beside the name. ``counts``: "3 of 4, needs 3" in place of "3/4"."""

    critical: bool
    reason: bool
    counts: bool


# From the widest to the narrowest.
_CHOICES = (
    _Columns(critical=True, reason=True, counts=True),
    _Columns(critical=True, reason=False, counts=True),
    _Columns(critical=False, reason=False, counts=True),
    _Columns(critical=False, reason=False, counts=False),
)


@dataclass(frozen=True, slots=True)
class GroupTable:
    """How the groups of a site are shown at one width. ``prefix``: what all names begin with, and no row repeats."""

    width: int
    names: dict[str, str]
    columns: _Columns
    prefix: str
    sizes: tuple[int, int, int, int]  # of names, statuses, counts; and of all columns beside the name with their gaps
    digits: int  # of the largest number of nodes

    @classmethod
    def of(cls, groups: Sequence[DeploymentGroup], width: int) -> "GroupTable":
        """Return the richest table in which every name is whole, or else the one with the most room for names."""
        names = [printable(group.name) for group in groups]
        largest = max(_total(group) for group in groups)
        digits = len(str(largest))
        beginnings = ["", *prefixes(names)]
        for columns in _CHOICES:
            sizes = _sizes(groups, columns, digits)
            # Reasons are repeated below the table: they must not take the room of squares.
            squares = largest + _GAP if columns.reason and largest <= width // 2 else 0
            for prefix in beginnings:
                longest = max(map(len, names)) - len(prefix) + bool(prefix)
                if longest + sizes[-1] + squares <= width:
                    short = [f"…{name[len(prefix) :]}" if prefix else name for name in names]
                    return cls(width, dict(zip(names, short, strict=True)), columns, prefix, (longest, *sizes), digits)
        sizes = _sizes(groups, _CHOICES[-1], digits)
        room = max(width - sizes[-1], _LEAST_NAME)
        short = list(shortened(tuple(names), room))
        return cls(width, dict(zip(names, short, strict=True)), _CHOICES[-1], "", (room, *sizes), digits)

    def render(self, shown: Sequence[DeploymentGroup]) -> Table:
        """Return the table of these groups."""
        name_size, status_size, counts_size, others = self.sizes
        rest = self.width - name_size - others - _GAP
        table = Table(box=None, padding=(0, _GAP, 0, 0), show_edge=False, pad_edge=False, header_style=DIM)
        table.add_column("Group", width=name_size, no_wrap=True)
        if self.columns.critical:
            table.add_column("", width=len(_CRITICAL), no_wrap=True)
        table.add_column("Status", width=status_size, no_wrap=True, overflow="ellipsis")
        table.add_column("Done", width=counts_size, no_wrap=True, justify="left" if self.columns.counts else "right")
        if rest >= _LEAST_NODES:
            table.add_column("Nodes", no_wrap=True)
        for group in shown:
            status = group.status
            name = printable(group.name)
            cells = [Text(self.names[name], Style(bold=status in ACTIVE))]
            if self.columns.critical:
                cells.append(Text(_CRITICAL if group.critical else "", DIM))
            cells.append(marked(GROUP_MARKS.get(status, UNKNOWN), _status(group, self.columns)))
            cells.append(Text(_counts(group, self.columns, self.digits)))
            if rest >= _LEAST_NODES:
                cells.append(_nodes(group, rest))
            table.add_row(*cells)
        return table


def _sizes(groups: Sequence[DeploymentGroup], columns: _Columns, digits: int) -> tuple[int, int, int]:
    """Return the widths of the statuses and counts, and of all columns beside the name with their gaps."""
    status = max(_STATUS, *(len(_status(group, columns)) + 2 for group in groups))
    counts = max(4, *(len(_counts(group, columns, digits)) for group in groups))
    if not (columns.counts and columns.critical):
        status = _STATUS  # an unusual word is cut rather than a name
    return status, counts, status + counts + 2 * _GAP + (len(_CRITICAL) + _GAP if columns.critical else 0)


def _total(group: DeploymentGroup) -> int:
    return group.nodes.get("total", 0)


def _status(group: DeploymentGroup, columns: _Columns) -> str:
    reason = f", {status_words(group.reason)}" if columns.reason and group.reason else ""
    return f"{status_words(group.status)}{reason}"


def _counts(group: DeploymentGroup, columns: _Columns, digits: int) -> str:
    """Return how many nodes are deployed, of how many, and how many the criteria need."""
    done, total = group.nodes.get("success", 0), _total(group)
    if not columns.counts:
        return f"{done}/{total}"
    if not total:
        return "no nodes"
    needs = f", needs {group.needs}" if group.needs else ""
    return f"{done:>{digits}} of {total:>{digits}}{needs}"


def _nodes(group: DeploymentGroup, width: int) -> Text:
    """Return the nodes as one square each if all fit, else their counts in words, else nothing."""
    counts = group.nodes
    if _total(group) <= width:
        return Text().join(Text(glyph * counts.get(status, 0), style) for status, (glyph, style) in NODE_MARKS.items())
    words = [
        (f"{counts[status]} {word}", NODE_MARKS[status][1])
        for status, word in NODE_STATUS_WORDS.items()
        if counts.get(status)
    ]
    text = Text(", ").join(Text(word, style) for word, style in words)
    return text if text.cell_len <= width else Text("")
