"""``shipyard software``: plan the software stage, follow its tasks, and read their output (product, section 7)."""

import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import click

from shipyard_api.api import entities
from shipyard_api.cli.client import Api, json_content
from shipyard_api.cli.commands import node_command, shared_options
from shipyard_api.cli.commands.actions import start
from shipyard_api.cli.commands.plan import show_plan
from shipyard_api.cli.commands.request import fail, path_segment, read_yaml, show
from shipyard_api.cli.commands.syntax import check_action_id, examples, newest_action
from shipyard_api.cli.commands.watch import ANSWER_TIMEOUT, OUTAGE_LIMIT, REDRAW_EVERY, is_live, with_end
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import action_tables, task_tables
from shipyard_api.cli.output.shapes import as_entity
from shipyard_api.cli.output.task_tables import Progress
from shipyard_api.cli.output.wording import printable_lines
from shipyard_api.domain.node_sets import parts

_WITH_SOFTWARE = ("deploy_site", "update_site", "update_software", "test_site")
_CONTROL = "actions/{action_id}/control/{control_verb}"
_LIST = "Comma-separated."
_FAILED = 500  # failed tasks that are read for the names of their nodes
_ACTIONS = 20  # of a node that are searched for a task
_ENDS = {"Complete": 0, "Failed": 1}


@click.group(
    short_help="Plan the software stage, follow its tasks, read their output.",
    epilog=examples("shipyard software plan", "shipyard software watch", "shipyard software logs compute11 ntp"),
)
def software() -> None:
    """Work with the task graph that runs on the nodes of the site."""


def _some_tasks(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose tasks (contract: fuel-task-graph, 3.6)."""
    for option in (
        click.option("--end", metavar="TASK", help="Only this task and those that it depends on."),
        click.option("--start", metavar="TASK", help="Only this task and those that depend on it."),
        click.option("--skip", help=f"Not these tasks. {_LIST}"),
        click.option("--tasks", help=f"Only these tasks. {_LIST}"),
    ):
        command = option(command)
    return command


_retry = click.option("--retry", metavar="RUN", help="Only what did not succeed in this run, and what depends on it.")


def _retried(retry: str, nodes: str | None, values: Path | None, chosen: dict[str, str | None]) -> str:
    """Return the id of the run to retry, which has its nodes, tasks and values already."""
    if nodes is not None or values is not None or any(value is not None for value in chosen.values()):
        raise click.UsageError(
            "With --retry there are no nodes, tasks and values to choose: they are those of the run."
        )
    return check_action_id(retry)


def _check_run(options: GlobalOptions, action: str) -> None:
    """End the command unless the action is a run: a retry of any other would deploy nodes, too."""
    try:
        name = Api(options).read(f"actions/{action}").get("name")
    except ApiError as error:
        fail(options, error)
    if name != "update_software":
        raise click.UsageError(f"Action {action} is a {name}. Use `shipyard retry` for it.")


_values = click.option(
    "--values",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Values for the tasks: YAML with all, nodes and secret.",
)


def _request(
    nodes: str | None, values: Path | None, chosen: dict[str, str | None], *, noop: bool = False
) -> dict[str, Any]:
    """Return update_software with its limits; an option that is not given limits nothing, and none may be empty."""
    written = {"nodes": nodes, **chosen}
    limits: dict[str, object] = {}
    for name, value in written.items():
        if value is None:
            continue
        names = [part.removeprefix("node/") for part in parts(value)]
        if not names:
            what = "node" if name == "nodes" else "task"
            raise click.UsageError(f"{name.upper() if name == 'nodes' else f'--{name}'} {value!r} names no {what}.")
        limits[name] = value if name in ("start", "end") else names
    if "tasks" in limits and "skip" in limits:
        raise click.UsageError("Give --tasks or --skip: a task that is not named in --tasks does not run.")
    if noop:
        limits["noop"] = True
    if values is not None:
        limits["values"] = read_yaml(values)
    return {"name": "update_software", "parameters": limits}


@software.command(
    "plan",
    short_help="Show which tasks would run where, in order.",
    epilog=examples("shipyard software plan", "shipyard software plan --nodes compute[11-12] --start ntp"),
)
@click.option("--nodes", help=f"Only these nodes. {_LIST}")
@_retry
@_values
@_some_tasks
@click.pass_obj
def plan(
    options: GlobalOptions, /, nodes: str | None, retry: str | None, values: Path | None, **chosen: str | None
) -> None:
    """Show what update_software would run now, as a tree: batches in order, groups with their nodes, and tasks.

    Groups of one batch run at the same time. Without --nodes it runs on every node that was deployed.
    """
    body = {"retry": _retried(retry, nodes, values, chosen)} if retry else _request(nodes, values, chosen)
    show_plan(options, lambda api: api.post("plans", json=body), cli=task_tables.tree)


class _RunCommand(click.Command):
    """A command that does not take "-- " with nothing behind it for a run of tasks."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a missing command before click forgets the "--"."""
        if "--" in args and not " ".join(args[args.index("--") + 1 :]).strip():
            raise click.UsageError("There is no COMMAND behind --. Without -- the tasks of the nodes run.", ctx)
        return super().parse_args(ctx, args)


@click.command(
    "run",
    cls=_RunCommand,
    short_help="Run tasks of the software stage, or one command, on nodes.",
    epilog=examples(
        "shipyard node run compute11 --tasks netconfig,hiera",
        "shipyard node run compute[11-12] --skip netconfig",
        "shipyard node run 'compute*' -b -- uname -r",
        "shipyard node run compute11 --start netconfig --end galera",
        "shipyard node run --retry 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
)
@click.argument("nodes", metavar="NODES", required=False)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1)
@click.option("--noop", is_flag=True, help="Only show in the outputs what the tasks would do; change nothing.")
@_retry
@_values
@_some_tasks
@click.option("--forks", type=click.IntRange(1, 1000), help="The most nodes that run COMMAND at a time. (default: 50)")
@click.option(
    "--connect-timeout",
    type=click.IntRange(1, 600),
    help="Seconds in which a node must take COMMAND; then it has failed. (default: 10)",
)
@click.option("-b", "grouped", is_flag=True, help="Print equal outputs of COMMAND once, when all nodes have ended.")
@click.pass_obj
def run(
    options: GlobalOptions,
    /,
    nodes: str | None,
    command: tuple[str, ...],
    noop: bool,
    retry: str | None,
    values: Path | None,
    forks: int | None,
    connect_timeout: int | None,
    grouped: bool,
    **chosen: str | None,
) -> None:
    """Start update_software on NODES, comma-separated, and print its id. Without an option all their tasks run.

    Runs on different nodes may run at the same time.

    With COMMAND, no tasks run: the shell of each node runs the command, and its output is printed line by line while it
    runs. One argument is a text for that shell, such as 'df | tail'; several are a command with these arguments. The
    exit code is the worst one; 255 stands for a node without one, such as one that does not answer. NODES may then have
    patterns, which match deployed nodes.
    """
    limits = {"forks": forks, "connect_timeout": connect_timeout}
    if command:
        _run_command(
            options,
            nodes,
            # One argument is a text for the shell of the nodes; several are a command with exactly these arguments.
            command[0] if len(command) == 1 else shlex.join(command),
            {name: limit for name, limit in limits.items() if limit is not None},
            {**chosen, "values": values, "retry": retry, "noop": noop or None},
            grouped=grouped,
        )
        return
    if grouped or any(limit is not None for limit in limits.values()):
        raise click.UsageError("--forks, --connect-timeout and -b need a COMMAND.")
    if retry:
        if noop:
            raise click.UsageError("--noop cannot be used with --retry: a retry does what its run did.")
        action = _retried(retry, nodes, values, chosen)
        _check_run(options, action)
        start(options, lambda api: api.post_once(f"actions/{action}/control/retry", template=_CONTROL), watch=False)
        return
    if nodes is None:
        raise click.UsageError("Give NODES, or --retry with the id of a run.")
    body = _request(nodes, values, chosen, noop=noop)
    show(
        options,
        lambda api: api.post_once("actions", [], json=body),
        expected=201,
        cli=action_tables.created_action,
    )


def _run_command(
    options: GlobalOptions,
    nodes: str | None,
    command: str,
    limits: Mapping[str, int],
    chosen: Mapping[str, object],
    *,
    grouped: bool,
) -> None:
    if any(value is not None for value in chosen.values()):
        raise click.UsageError("Give a COMMAND, or options that choose tasks.")
    body = _request(nodes, None, {})
    try:
        api = Api(options)
        body["parameters"] = {
            "nodes": node_command.matching(api, body["parameters"]["nodes"]),
            "command": command,
            **limits,
        }
        action = str(json_content(api.post_once("actions", [], json=body), expected=201)["id"])
        try:
            live = Api(options, timeout=node_command.LIVE_TIMEOUT)
            code = node_command.follow(api, live, action, grouped=grouped)
        except KeyboardInterrupt:
            click.echo(f"The command goes on. To stop it: shipyard stop {action}", err=True)
            raise
    except ApiError as error:
        fail(options, error)
    raise SystemExit(code)


@software.command(
    "watch",
    short_help="Follow the tasks of an action until it ends.",
    epilog=examples("shipyard software watch", "shipyard software watch 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
)
@click.argument("action_id", metavar="[ACTION]", required=False)
@shared_options.interval
@click.pass_obj
def watch(options: GlobalOptions, /, action_id: str | None, interval: float) -> None:
    """Follow the tasks of an action: on how many nodes each is running, has succeeded or failed.

    Without ACTION it is the newest action that can have a software stage. Prints plain lines if stdout is not a
    terminal. Exit code 0 if the action succeeded, 1 if it failed.
    """
    action = check_action_id(action_id) if action_id else None
    try:
        api = Api(options, timeout=ANSWER_TIMEOUT)
        with _viewer(sys.stdout) as view:
            last = _follow(api, action or newest_action(api, _WITH_SOFTWARE), view, interval)
    except ApiError as error:
        fail(options, error)
    if not is_live(sys.stdout):
        click.echo(f"action is {last.lifecycle}")
    raise SystemExit(_ENDS[last.lifecycle])


@software.command(
    "logs",
    short_help="Print the output of a task on a node.",
    epilog=examples(
        "shipyard software logs compute11 ntp",
        "shipyard software logs compute11 ntp --action 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
)
@click.argument("node")
@click.argument("task")
@click.option("--action", "action_id", metavar="ACTION", help="The action that ran it. (default: the newest that did)")
@click.pass_obj
def logs(options: GlobalOptions, /, node: str, task: str, action_id: str | None) -> None:
    """Print the full output of TASK on NODE, as the node keeps it. Of a running task: the output so far."""
    action = check_action_id(action_id) if action_id else None
    name = node.removeprefix("node/")
    try:
        api = Api(options)
        path = f"actions/{action or _of_node(api, name, task)}/tasks/{path_segment(task)}/nodes/{path_segment(name)}"
        offset = 0
        while True:
            part = api.read(f"{path}/output", [("offset", str(offset))])
            click.echo(printable_lines(str(part.get("text") or "")), nl=False)
            after = int(part.get("next_offset") or 0)
            if after <= offset or after >= int(part.get("kept") or 0):
                return
            offset = after
    except ApiError as error:
        fail(options, error)


def _follow(api: Api, action: str, view: Callable[[Progress, str], None], interval: float) -> Progress:
    """Show the tasks until the action has ended. Raises ApiError as ``watch.follow`` does."""
    last: Progress | None = None
    answered = time.monotonic()
    while True:
        note = ""
        try:
            action_now = api.read(f"actions/{action}")
            if action_now.get("action_lifecycle") in _ENDS:
                action_now = with_end(api, action_now)
            page = api.read(f"actions/{action}/tasks", [("status", "failed"), ("limit", str(_FAILED))])
            last, answered = Progress.of(action_now, page), time.monotonic()
        except ApiError as error:
            if last is None or not error.temporary or time.monotonic() - answered > OUTAGE_LIMIT:
                raise
            note = f"no answer for {time.monotonic() - answered:.0f} s, retrying"
        until = time.monotonic() + interval
        view(last, note)
        if last.lifecycle in _ENDS:
            return last
        while (rest := until - time.monotonic()) > 0:
            time.sleep(min(rest, REDRAW_EVERY))
            view(last, note)


@contextlib.contextmanager
def _viewer(stream: TextIO) -> Iterator[Callable[[Progress, str], None]]:
    """Yield a function that shows progress: as a table that is drawn anew on a terminal, else as lines."""
    shown: set[str] = set()

    def write(progress: Progress, note: str) -> None:
        lines = [*progress.lines, *([note] if note else [])]
        for line in lines:
            if line not in shown:
                click.echo(printable_lines(line), file=stream)
        shown.clear()
        shown.update(lines)

    if not is_live(stream):
        yield write
        return
    from shipyard_api.cli.output.live_screen import live_screen
    from shipyard_api.cli.output.software_view import SoftwareView

    with live_screen(stream) as screen:

        def draw(progress: Progress, note: str) -> None:
            now = datetime.now(UTC)
            screen(lambda height: SoftwareView(progress, now, height, note))

        yield draw


def _of_node(api: Api, node: str, task: str) -> str:
    """Return the id of the newest action that ran the task on the node."""
    page = api.read(f"nodes/{path_segment(node)}/tasks", [("limit", str(_ACTIONS))])
    entry = next(
        (entry for entry in as_entity(page.get("tasks"), list[entities.tasks.TaskOfNode]) if entry.task == task), None
    )
    if entry is None:
        raise ApiError(
            f"Error: None of the latest {_ACTIONS} actions of node {node} ran the task {task}. Name one with --action."
        )
    return entry.action
