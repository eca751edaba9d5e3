"""The marks of statuses in the live view: a glyph with a colour that carries no information of its own. Pure."""

from rich.style import Style
from rich.text import Text

Mark = tuple[str, Style]

SUCCESS, IN_PROGRESS, FAILURE, DIM = Style(color="green"), Style(color="cyan"), Style(color="red"), Style(dim=True)
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
