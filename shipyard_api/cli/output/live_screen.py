"""Live views on a terminal: each on a screen of its own, which leaves the terminal as it was."""

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from rich.console import RenderableType
from rich.live import Live

from shipyard_api.cli.output.tables import terminal

View = Callable[[int | None], RenderableType]
"""Returns the text of a screen with at most this many lines; None: without limit."""


@contextlib.contextmanager
def live_screen(stream: TextIO) -> Iterator[Callable[[View], None]]:
    """Yield a function that shows views. The last one is printed in full at the end, where it stays.

    The screen is drawn anew as a whole: a resized terminal keeps nothing of the former size. SIGTERM ends the view as
    Ctrl-C does; by default it would leave the terminal without a cursor, on a screen that has gone.
    """
    console = terminal(stream)
    last: View | None = None
    try:
        with _terminated(), Live(console=console, auto_refresh=False, screen=True) as live:

            def show(view: View) -> None:
                nonlocal last
                last = view
                live.update(view(console.size.height), refresh=True)

            yield show
    finally:
        if last:
            console.print(last(None))


@contextlib.contextmanager
def _terminated() -> Iterator[None]:
    """Let SIGTERM raise SystemExit."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
