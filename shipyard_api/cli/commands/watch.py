"""``shipyard watch``: follow an action until it ends, as a live picture or, without a terminal, line by line."""

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from shipyard_api.cli.commands.syntax import check_action, examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output.snapshot import Snapshot, changes

if TYPE_CHECKING:
    from shipyard_api.cli.client import Api

FRAME = 0.5  # seconds between two drawings: the clock must not stand still while nothing changes
PATIENCE = 15.0  # seconds that one answer may take: nothing is drawn meanwhile
GIVE_UP = 300.0  # seconds without an answer; a server that is being replaced is back before that


class StalledError(Exception):
    """The action does not go on."""


Show = Callable[[Snapshot, str], None]
"""Show a snapshot; the text is a note about the watching itself, usually empty."""


@click.command(
    short_help="Follow an action until it ends: groups, nodes, progress.",
    epilog=examples(
        "shipyard watch 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "shipyard watch action/01ARZ3NDEKTSV4RRFFQ69G5FAV --interval=10",
    ),
)
@click.argument("action_id", metavar="ACTION")
@click.option("--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), hidden=True)
@click.pass_obj
def watch(settings: Settings, /, action_id: str, interval: float, svg: Path | None) -> None:
    """Follow an action live: its steps, its groups and their nodes. Plain lines when stdout is no terminal.

    Ends with the action: exit code 0 if it succeeded, 1 if it failed.
    """
    from shipyard_api.cli.client import Api, ApiError, fail, shaped

    action = check_action(action_id)
    try:
        api = Api(settings, patience=PATIENCE)
        if svg:
            _picture(api, action, svg)
            return
        with shaped(), screen(sys.stdout) as show:
            last = follow(api, action, show, interval=interval)
    except ApiError as error:
        fail(settings, error)
    if not last.succeeded:
        raise SystemExit(1)


def follow(api: "Api", action_id: str, show: Show, *, interval: float, patience: float = math.inf) -> Snapshot:
    """Show the action again and again until it ends; return what it was then.

    Raises ApiError if the first question fails, if the API refuses one, or if it has not answered for GIVE_UP seconds;
    StalledError if nothing at all has changed for ``patience`` seconds.
    """
    from shipyard_api.cli.client import ApiError

    last: Snapshot | None = None
    answered = changed = time.monotonic()
    while True:
        note = ""
        try:
            before, last = last, observe(api, action_id, last)
            answered = time.monotonic()
            changed = answered if last != before else changed
            if answered - changed > patience:
                raise StalledError(f"Error: nothing has changed in action {action_id} for {patience:.0f} s")
        except ApiError as error:
            if last is None or not error.passing or time.monotonic() - answered > GIVE_UP:
                raise
            note = f"no answer for {time.monotonic() - answered:.0f} s, asking again"
        until = time.monotonic() + (0 if last.ended else interval)
        show(last, note)
        if last.ended:
            return last
        while (rest := until - time.monotonic()) > 0:
            time.sleep(min(rest, FRAME))
            show(last, note)


def observe(api: "Api", action_id: str, before: Snapshot | None = None) -> Snapshot:
    """Ask for the action as it is now. Nodes are asked for only when the groups say that some have changed."""
    action = api.read(f"actions/{action_id}")
    groups = list(api.pages(f"actions/{action_id}/groups", "groups"))
    ended = Snapshot(action).ended
    if before is not None and not ended and [g.get("nodes") for g in groups] == [g.get("nodes") for g in before.groups]:
        return Snapshot(action, groups, before.nodes)
    return Snapshot(action, groups, list(api.pages(f"actions/{action_id}/nodes", "nodes")))


@contextlib.contextmanager
def screen(stream: TextIO) -> Iterator[Show]:
    """Give a function that shows snapshots on a stream: one picture that changes on a terminal, else lines."""
    # A terminal that cannot move its cursor, or knows no Unicode, is served like a file.
    dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
    if dumb or not stream.isatty() or "utf" not in (stream.encoding or "").lower():
        yield _lines(stream)
        return
    from rich.live import Live

    from shipyard_api.cli.output.live_view import OTHER_LINES, WatchView
    from shipyard_api.cli.output.tables import terminal

    console = terminal(stream)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:

        def draw(snapshot: Snapshot, note: str) -> None:
            rows = max(console.size.height - OTHER_LINES, 3)
            live.update(WatchView(snapshot, datetime.now(UTC), rows, note), refresh=True)

        yield draw


def _lines(stream: TextIO) -> Show:
    shown: list[Snapshot] = []
    told = ""

    def write(snapshot: Snapshot, note: str) -> None:
        nonlocal told
        if note and not told:
            click.echo(f"         {note}", file=stream)
        told = note
        for line in changes(shown[-1] if shown else None, snapshot, datetime.now(UTC)):
            click.echo(line, file=stream)
        shown[:] = [snapshot]

    return write


def _picture(api: "Api", action_id: str, path: Path) -> None:
    from shipyard_api.cli.output.live_view import export_svg

    now = observe(api, action_id)
    title = f"shipyard watch {action_id}"
    path.write_text(export_svg(now.action, now.groups, now.nodes, datetime.now(UTC), title), encoding="utf-8")
