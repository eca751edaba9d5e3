"""What a command shows: text and tables in their order. As a string it is the contract's text, to the letter.

Scripts read that string, so it is what pipes and files get; ``dressed`` shows the same page to people on a terminal.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP = 8  # blanks between columns (contract: shipyard-cli, 5.4)


@dataclass(frozen=True, slots=True)
class Table:
    """Left-aligned columns without borders, each padded to its width and the gap; a cell may have several lines."""

    rows: Sequence[Sequence[str]]
    headers: Sequence[str] = ()
    gap: int = GAP

    def __str__(self) -> str:
        cells = [[cell.split("\n") for cell in row] for row in ([self.headers] if self.headers else []) + [*self.rows]]
        widths = [max(len(line) for cell in column for line in cell) for column in zip(*cells, strict=True)]
        lines = []
        for row in cells:
            for number in range(max(len(cell) for cell in row)):
                parts = (cell[number] if number < len(cell) else "" for cell in row)
                lines.append("".join(part.ljust(width + self.gap) for part, width in zip(parts, widths, strict=True)))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified diff."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Page:
    """Parts that follow each other without anything between them."""

    parts: Sequence[str | Table | Difference]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


def fields(rows: Iterable[tuple[str, object]]) -> Table:
    """Return a table of names and values."""
    return Table([(name, str(value)) for name, value in rows])


def table(rows: Iterable[Sequence[object]], headers: Sequence[str], *, gap: int = GAP) -> Table:
    """Return a table with titles; without any row it says None."""
    cells = [[str(cell) for cell in row] for row in rows]
    return Table(cells or [["None"] + [""] * (len(headers) - 1)], headers, gap)


def sections(*parts: "str | Table | Page", end: str = "") -> Page:
    """Return a page whose parts are apart from each other by an empty line, those that are empty included."""
    joined: list[str | Table | Difference] = []
    for part in parts:
        if joined:
            joined.append("\n\n")
        joined += part.parts if isinstance(part, Page) else [part]
    return Page([*joined, end] if end else joined)
