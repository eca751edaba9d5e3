"""``shipyard fleet``: several sites side by side. They share nothing: each is asked by itself, as a client asks."""

import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click

from shipyard_api.cli.client import Api, json_content
from shipyard_api.cli.commands.syntax import examples, is_on_site, newest_on_site
from shipyard_api.cli.commands.watch import is_live
from shipyard_api.cli.errors import ApiError, ShapeError, UnreadableError
from shipyard_api.cli.fleet_file import FleetSite, read_fleet
from shipyard_api.cli.global_options import GlobalOptions, KeystoneOptions
from shipyard_api.cli.output import answers, fleet_tables
from shipyard_api.cli.output.fleet_tables import NO_ACCESS, NOT_YET
from shipyard_api.cli.output.printing import print_output
from shipyard_api.cli.output.shapes import (
    JsonObject,
    as_object,
    as_objects,
    counts_at,
    object_at,
    objects_at,
    parse_json,
    required,
)
from shipyard_api.cli.output.wording import printable

_MOVING = ("queued", "running", "paused")
_BESIDE = "test_site"  # runs beside other actions
_DEPLOYING = ("deploy_site", "update_site")
_REDRAW_EVERY = 1.0  # seconds

Row = JsonObject
"""A site: ``site``, ``url``, ``health``, ``action``, ``verdict``, ``nodes``, ``waiting_for``, ``error``. While watching
also ``age``: seconds since the answer that is shown, if the site gives none now.
"""


@click.command(
    short_help="Show several sites side by side.",
    epilog=examples("shipyard fleet --file sites.yaml", "shipyard fleet --file sites.yaml --watch", "shipyard fleet"),
)
@click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="SHIPYARD_FLEET",
    show_envvar=True,
    help="The sites, as YAML: a list `sites` of name, url, and token_env or token_file. Without it, the sites that the "
    "server has.",
)
@click.option("--watch", "watches", is_flag=True, help="Show them again and again, until Ctrl-C.")
@click.option("--interval", type=click.FloatRange(min=0.1), default=5.0, show_default=True, help="Seconds, of --watch.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds that a site may take to answer.",
)
@click.pass_obj
def fleet(options: GlobalOptions, /, path: Path | None, watches: bool, interval: float, timeout: float) -> None:
    """Show the sites of a file, or of an installation, in one table: health, the action that runs or ran last, its
    verdict, its nodes by status, and what it waits for.

    All sites are asked at the same time, and none waits for another. Exits 1 if a site could not be asked.
    """
    sites = read_fleet(path) if path else _of_installation(options, timeout)
    if watches:
        _watch(options, sites, interval, timeout)
        return
    rows = _once(options, sites, timeout)
    text, is_shown = json.dumps(rows), True
    if options.form == "cli" and is_live(sys.stdout):
        _show(rows)
    elif options.form in ("cli", "wide"):
        print_output(fleet_tables.fleet(rows), form="cli")
    else:
        answer = answers.Answer("GET", 200, "application/json", text, "/fleet", "")
        output, is_shown = answers.rendered(answer, options.form, expected=200, cli=str)
        print_output(output, form=options.form)
    if not is_shown or any(row["error"] for row in rows):
        raise SystemExit(1)


def _of_installation(options: GlobalOptions, timeout: float) -> list[FleetSite]:
    """Return the sites that the server has; each is asked with the caller's own token."""
    if not options.url:
        raise click.UsageError("Name the sites with --file, or a server that has several with --url.")
    base = options.url.rstrip("/")
    answer = Api(options, timeout=timeout, base="").get("sites")
    if answer.status == 404:
        raise click.UsageError(f"{base} has one site: name the sites with --file.")
    listed = objects_at(as_object(json_content(answer), "the body"), "sites")
    names = [str(required(site, "name")) for site in listed]
    return [FleetSite(name, f"{base}/sites/{name}", options.token or "", shares_login=True) for name in names]


def _once(options: GlobalOptions, sites: Sequence[FleetSite], timeout: float) -> list[Row]:
    """Return a row for each site, in order, in little more than the timeout."""
    updates: queue.SimpleQueue[tuple[str, Row]] = queue.SimpleQueue()
    for site in sites:
        _in_background(lambda site=site: updates.put((site.name, _asked(options, site, timeout))))  # type: ignore[misc]  # bound early
    rows: dict[str, Row] = {}
    end = time.monotonic() + timeout
    while len(rows) < len(sites):
        try:
            name, row = updates.get(timeout=max(end - time.monotonic(), 0.0))
        except queue.Empty:
            break
        rows[name] = row
    late = f"no answer within {timeout:g} s"
    return [rows.get(site.name) or _unanswered(site, late) for site in sites]


def _show(rows: Sequence[Row]) -> None:
    from shipyard_api.cli.output.fleet_view import FleetView
    from shipyard_api.cli.output.tables import terminal

    terminal(sys.stdout).print(FleetView(rows, datetime.now(UTC)))


@dataclass(slots=True)
class _Followed:
    """The state of a site: the last row with an answer, the current error, and the time of the last request.

    ``answered``: when the row was read; ``heard``: when a request ended, with an answer or an error. Monotonic seconds.
    """

    row: Row
    heard: float
    error: str | None = NOT_YET
    answered: float | None = None

    def take(self, row: Row) -> None:
        """Record the result of a request."""
        self.heard, self.error = time.monotonic(), row["error"]
        if not row["error"]:
            self.row, self.answered = row, self.heard

    def current(self, patience: float) -> Row:
        """Return the current row; ``patience``: seconds after the last request in which a site counts as answering."""
        now = time.monotonic()
        silent = now - self.heard
        error = f"no answer for {silent:.0f} s" if silent > patience else self.error
        age = now - self.answered if error and self.answered is not None else None
        return {**self.row, "error": error, "age": age}


def _watch(options: GlobalOptions, sites: Sequence[FleetSite], interval: float, timeout: float) -> None:
    """Show the sites until Ctrl-C. Each has a thread of its own; the last row stays."""
    followed = {site.name: _Followed(_unanswered(site, NOT_YET), time.monotonic()) for site in sites}
    stopped = threading.Event()

    def follow(site: FleetSite) -> None:
        while not stopped.is_set():
            followed[site.name].take(_asked(options, site, timeout))
            stopped.wait(interval)

    for site in sites:
        _in_background(lambda site=site: follow(site))  # type: ignore[misc]  # bound early

    def current() -> list[Row]:
        return [row.current(interval + timeout) for row in followed.values()]

    try:
        _draw(current) if is_live(sys.stdout) else _print(current, min(_REDRAW_EVERY, interval))
    finally:
        stopped.set()


def _print(current: Callable[[], Sequence[Row]], pause: float) -> None:
    """Print a line for each site whenever it has changed."""
    shown: Mapping[str, str] = {}
    while True:
        lines = fleet_tables.lines([row for row in current() if row["error"] != NOT_YET])
        for name, line in lines.items():
            if shown.get(name) != line:
                click.echo(line)
        shown = {**shown, **lines}
        time.sleep(pause)


def _draw(current: Callable[[], Sequence[Row]]) -> None:
    from shipyard_api.cli.output.fleet_view import FleetView
    from shipyard_api.cli.output.live_screen import live_screen

    with live_screen(sys.stdout) as screen:
        while True:
            view = FleetView(current(), datetime.now(UTC))
            screen(lambda height, view=view: replace(view, height=height))  # type: ignore[misc]  # bound early
            time.sleep(_REDRAW_EVERY)


def _in_background(work: Callable[[], None]) -> None:
    """Run in a thread that the end of the process does not wait for."""
    threading.Thread(target=work, daemon=True).start()


def _asked(options: GlobalOptions, site: FleetSite, timeout: float) -> Row:
    try:
        return _row(options, site, timeout)
    except UnreadableError as error:
        return _unanswered(site, printable(str(error)))
    except ApiError as error:
        return _unanswered(site, printable(" ".join(_why(error).split())))


def _why(error: ApiError) -> str:
    """Return an error without the words that are the same for every site."""
    text = str(error).removeprefix("Error: ")
    if error.status in (401, 403):
        return f"{NO_ACCESS}: {text.splitlines()[-1].removeprefix('- Error: ')}"
    return error.why or text


def _row(options: GlobalOptions, site: FleetSite, timeout: float) -> Row:
    keystone = options.keystone if site.shares_login else KeystoneOptions()
    site_options = replace(options, url=site.url, token=site.token or None, keystone=keystone, debug=False)
    health = _health(Api(site_options, timeout=timeout, base="").get("health/ready"))
    api = Api(site_options, timeout=timeout)

    def actions(*filters: tuple[str, str]) -> Sequence[JsonObject]:
        answer = api.get("actions", [*filters, ("order", "desc")])
        return as_objects(json_content(answer), "the body")

    moving = actions(*(("state", state) for state in _MOVING), ("limit", "10"))
    newest = [action for action in moving if is_on_site(action)]
    if not newest and (last := newest_on_site(api)):
        newest = [last]
    row: Row = {"site": site.name, "url": site.url, "health": health, "error": None}
    if not newest:
        return {**row, "action": None, "verdict": None, "nodes": {}, "waiting_for": None}
    action = next((candidate for candidate in newest if candidate.get("name") != _BESIDE), newest[0])
    report = api.read(f"actions/{action.get('id')}/report")
    reported, totals = as_object(report.get("action"), "action"), as_object(report.get("totals"), "totals")
    nodes = counts_at(totals, "nodes")
    if not nodes.get("total"):
        # relabel_nodes and others deploy nothing: the numbers are those of the newest action that did.
        names = (("name", name) for name in _DEPLOYING)
        earlier = actions(*names, ("limit", "1"))
        row_report = api.read(f"actions/{earlier[0].get('id')}/report") if earlier else {}
        nodes = counts_at(object_at(row_report, "totals"), "nodes")
    return {
        **row,
        "action": {key: reported.get(key) for key in ("id", "name", "action_lifecycle")},
        "verdict": report.get("verdict"),
        "nodes": nodes,
        "waiting_for": reported.get("waiting_for"),
    }


def _health(answer: answers.Answer) -> str:
    """Return the health of a site in words, with the checks that failed."""
    if answer.status == 404:
        return "unknown"  # an older release
    try:
        body = as_object(parse_json(answer.text), "the body")
        failed = [str(check.get("name")) for check in objects_at(body, "checks") if check.get("status") != "ok"]
        status = str(body["status"]) if answer.status in (200, 503) else f"answered {answer.status}"
    except (UnreadableError, ShapeError, LookupError):
        return f"answered {answer.status}"
    return printable(f"{status}, failed: {', '.join(failed)}" if failed else status)


def _unanswered(site: FleetSite, why: str) -> Row:
    nothing = dict.fromkeys(("health", "action", "verdict", "waiting_for"))
    return {"site": site.name, "url": site.url, **nothing, "nodes": {}, "error": why}
