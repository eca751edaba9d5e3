"""What a command prints: text and tables in order. As a string it is the contract's text, to the letter.

Scripts read that string, so pipes and files get it; ``tables`` shows the same printout on a terminal.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP = 8  # blanks between columns (contract: shipyard-cli, 5.4)


@dataclass(frozen=True, slots=True)
class TextTable:
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
class UnifiedDiff:
    """A unified diff."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Printout:
    """Parts that are printed one after another, with nothing in between."""

    parts: Sequence[str | TextTable | UnifiedDiff]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


def fields(rows: Iterable[tuple[str, object]]) -> TextTable:
    """Return a table of names and values."""
    return TextTable([(name, str(value)) for name, value in rows])


def table(rows: Iterable[Sequence[object]], headers: Sequence[str], *, gap: int = GAP) -> TextTable:
    """Return a table with headers; without rows it says None."""
    cells = [[str(cell) for cell in row] for row in rows]
    return TextTable(cells or [["None"] + [""] * (len(headers) - 1)], headers, gap)


def sections(*parts: "str | TextTable | Printout", end: str = "") -> Printout:
    """Return a printout with an empty line between the parts, empty parts included."""
    joined: list[str | TextTable | UnifiedDiff] = []
    for part in parts:
        if joined:
            joined.append("\n\n")
        joined += part.parts if isinstance(part, Printout) else [part]
    return Printout([*joined, end] if end else joined)
