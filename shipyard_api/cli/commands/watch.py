"""``shipyard watch``: follow an action until it ends, as a live view or, without a terminal, line by line."""

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TextIO

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.request import fail
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output.shapes import JsonObject, objects_at
from shipyard_api.cli.output.snapshot import Snapshot, change_lines

REDRAW_EVERY = 0.5  # seconds; the clock must advance while nothing else changes
ANSWER_TIMEOUT = 15.0  # seconds; nothing is drawn while waiting
OUTAGE_LIMIT = 300.0  # seconds without an answer; restarting or replacing a server takes less


class StalledError(Exception):
    """The action makes no progress."""


ShowSnapshot = Callable[[Snapshot, str], None]
"""Shows a snapshot; the text is a note about the watching itself, usually empty."""


@click.command(
    short_help="Follow an action until it ends: groups, nodes, progress.",
    epilog=examples(
        "shipyard watch",
        "shipyard watch 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "shipyard watch action/01ARZ3NDEKTSV4RRFFQ69G5FAV --interval=10",
    ),
)
@shared_options.newest_action
@shared_options.interval
@click.pass_obj
def watch(options: GlobalOptions, /, action_id: str, interval: float) -> None:
    """Follow an action live: its steps, groups and nodes. Prints plain lines if stdout is not a terminal.

    Without ACTION it is the newest one. Ends with the action: exit code 0 if it succeeded, 1 if it failed.
    """
    follow_to_the_end(options, check_action_id(action_id), interval)


def follow_to_the_end(options: GlobalOptions, action: str, interval: float = 2.0) -> None:
    """Show the action on stdout until it ends; exit with 1 if it failed."""
    try:
        api = Api(options, timeout=ANSWER_TIMEOUT)
        with viewer(sys.stdout) as view:
            last = follow(api, action, view, interval=interval)
    except ApiError as error:
        fail(options, error)
    if not last.succeeded:
        raise SystemExit(1)


def follow(api: Api, action_id: str, view: ShowSnapshot, *, interval: float, patience: float = math.inf) -> Snapshot:
    """Show the action repeatedly until it ends; return the last snapshot.

    Raises ApiError if the first read fails, if the API refuses a read, or without an answer for OUTAGE_LIMIT seconds;
    StalledError if nothing changes for ``patience`` seconds.
    """

    last: Snapshot | None = None
    answered = changed = time.monotonic()
    while True:
        note = ""
        try:
            before, last = last, take_snapshot(api, action_id, last)
            answered = time.monotonic()
            changed = answered if last != before else changed
            if answered - changed > patience:
                raise StalledError(f"Error: nothing has changed in action {action_id} for {patience:.0f} s")
        except ApiError as error:
            if last is None or not error.temporary or time.monotonic() - answered > OUTAGE_LIMIT:
                raise
            note = f"no answer for {time.monotonic() - answered:.0f} s, retrying"
        until = time.monotonic() + (0 if last.ended else interval)
        view(last, note)
        if last.ended:
            return last
        while (rest := until - time.monotonic()) > 0:
            time.sleep(min(rest, REDRAW_EVERY))
            view(last, note)


def take_snapshot(api: Api, action_id: str, before: Snapshot | None = None) -> Snapshot:
    """Read the action as it is now. Nodes are read only if the groups' counts have changed. Raises ApiError."""
    action = api.read(f"actions/{action_id}")
    groups = list(api.pages(f"actions/{action_id}/groups", "groups"))
    if ended := Snapshot(action).ended:
        action = with_end(api, action)
    snapshot = Snapshot.of(action, groups)
    if before and not ended and [group.nodes for group in snapshot.groups] == [group.nodes for group in before.groups]:
        return replace(snapshot, nodes=before.nodes)
    return Snapshot.of(action, groups, list(api.pages(f"actions/{action_id}/nodes", "nodes")))


def with_end(api: Api, action: JsonObject) -> JsonObject:
    """Return an ended action with ``ended_at``, and failed steps with their ``detail``, where the server says it."""
    steps = list(objects_at(action, "steps"))
    at = None
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if not (last or step.get("state") == "failed"):
            continue
        try:
            step_now = api.read(f"actions/{action.get('id')}/steps/{step.get('id')}")
        except ApiError:
            continue  # an older server, or a restarting one: the view does without
        steps[number] = {**step, "detail": step_now.get("detail")}
        at = step_now.get("end_date") if last else at
    return {**action, "steps": steps, **({"ended_at": at} if at else {})}


def is_live(stream: TextIO) -> bool:
    """Return whether a stream can be drawn anew: a terminal with cursor movement and Unicode. Others get lines."""
    dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
    return not dumb and stream.isatty() and "utf" in (stream.encoding or "").lower()


@contextlib.contextmanager
def viewer(stream: TextIO) -> Iterator[ShowSnapshot]:
    """Yield a function that shows snapshots on a stream: as a live view on a terminal, else as lines."""
    if not is_live(stream):
        yield _lines(stream)
        return
    from shipyard_api.cli.output.live_screen import live_screen
    from shipyard_api.cli.output.live_view import WatchView

    with live_screen(stream) as screen:

        def draw(snapshot: Snapshot, note: str) -> None:
            now = datetime.now(UTC)
            screen(lambda height: WatchView(snapshot, now, height, note))

        yield draw


def _lines(stream: TextIO) -> ShowSnapshot:
    shown: list[Snapshot] = []
    last_note = ""
    least = timedelta()

    def write(snapshot: Snapshot, note: str) -> None:
        nonlocal last_note, least
        if note and not last_note:
            click.echo(f"         {note}", file=stream)
        last_note = note
        now = datetime.now(UTC)
        for line in change_lines(shown[-1] if shown else None, snapshot, now, least):
            click.echo(line, file=stream)
        least = max(least, snapshot.elapsed(now) or least)
        shown[:] = [snapshot]

    return write
