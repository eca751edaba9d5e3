"""What a command printed, without the blanks that pad a table's last column, and what a view draws."""

import io

from rich.console import Console, RenderableType


def lines(page: object) -> list[str]:
    return [line.rstrip() for line in str(page).split("\n")]


def unpadded(page: object) -> str:
    return "\n".join(lines(page))


def drawn(view: RenderableType, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None, legacy_windows=False)
    console.print(view)
    return lines(console.file.getvalue().removesuffix("\n"))  # type: ignore[attr-defined]
