"""The marks of statuses in the live view: a glyph with a colour that carries no information of its own. Pure."""

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text

Mark = tuple[str, Style]
_GAP = "   "

SUCCESS, IN_PROGRESS, WARNING, FAILURE = (Style(color=colour) for colour in ("green", "cyan", "yellow", "red"))
DIM = Style(dim=True)
UNKNOWN: Mark = ("·", DIM)
NODE_MARKS: dict[str, Mark] = {
    "success": ("■", SUCCESS),
    "prepared": ("□", IN_PROGRESS),
    "failure": ("×", FAILURE),
    "not_started": ("·", DIM),
}
GROUP_MARKS: dict[str, Mark] = {
    "success": ("✓", SUCCESS),
    "preparing": ("▸", IN_PROGRESS),
    "deploying": ("▸", IN_PROGRESS),
    "failed": ("✗", FAILURE),
    "not_started": ("·", DIM),
}
STEP_MARKS: dict[str, Mark] = {
    "success": ("✓", SUCCESS),
    "skipped": ("-", DIM),
    "running": ("▸", IN_PROGRESS),
    "failed": ("✗", FAILURE),
    "upstream_failed": ("-", FAILURE),
}
LIFECYCLE_MARKS: dict[str, Mark] = {
    "Complete": ("✓", SUCCESS),
    "Failed": ("✗", FAILURE),
    "Processing": ("▸", IN_PROGRESS),
}


def marked(mark: Mark, word: str) -> Text:
    """Return a word behind its mark."""
    glyph, style = mark
    return Text(f"{glyph} {word}", style, no_wrap=True)


def flowed(parts: Sequence[Text], width: int) -> list[Text]:
    """Return the parts in as few lines as they fit into, none of them broken."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + len(_GAP) + part.cell_len <= width:
            lines[-1] = Text(_GAP).join([lines[-1], part])
        else:
            lines.append(part)
    return lines
