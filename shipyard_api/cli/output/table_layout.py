"""What a table may leave out on a narrow terminal. Pure.

A prefix or a day that a whole column shares is printed once above the table, times are rounded to seconds, and empty
columns are left out. No name, id or count gets shorter than its distinct part.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.cli.output.short_names import common_prefix

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)?")
_SHARED = re.compile(r"[a-z]\w*(?:/[\w.-]+)*/|\d{4}-\d\d-\d\d ")  # of items such as step/ID/NAME, or of times
_ITEM = re.compile(r"[a-z]+/\S+")

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
        if number and len(cells) > 1 and len(set(cells)) == 1 and _ITEM.fullmatch(cells[0]):
            above.append(f"{title}: {cells[0]}")
            continue
        shared = _SHARED.match(common_prefix([cell for cell in cells if cell]))
        common = shared[0] if shared and (len(cells) > 1 or "/" in shared[0]) else ""
        # Below Action, action/ says nothing.
        if common and common.lower() != f"{title.lower()}/":
            above.append(f"{common}…" if "/" in common else f"{title}: {common}…")
        columns.append((title, [cell.removeprefix(common) for cell in cells]))
    return Layout(columns, [*layout.above, *above])
