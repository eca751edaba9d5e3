"""Commands that show the parts of an action: groups, steps, journal and logs."""

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.describe import as_text
from shipyard_api.cli.commands.request import fail, path_segment, show
from shipyard_api.cli.commands.syntax import LATEST, ItemGroup, check_action_id, examples
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import action_tables, answers, node_tables
from shipyard_api.cli.output.shapes import objects_at
from shipyard_api.cli.output.wording import printable_lines

_BEGUN = ("running", "success", "failed")


@click.command(
    "groups",
    short_help="List the deployment groups of an action.",
    epilog=examples("shipyard get groups", "shipyard get groups 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
)
@shared_options.newest_action
@click.pass_obj
def get_groups(options: GlobalOptions, /, action_id: str) -> None:
    """List the deployment groups of an action, without ACTION of the newest one, and why those that failed did."""
    path = f"actions/{check_action_id(action_id)}/report"
    show(options, lambda api: api.get(path), cli=node_tables.groups)


@click.command(
    "steps",
    short_help="List the steps of an action.",
    epilog=examples("shipyard get steps", "shipyard get steps 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
)
@shared_options.newest_action
@click.pass_obj
def get_steps(options: GlobalOptions, /, action_id: str) -> None:
    """List the steps of an action, without ACTION of the newest one."""
    path = f"actions/{check_action_id(action_id)}"
    show(options, lambda api: api.get(path), cli=action_tables.steps)


@click.command(
    "events",
    short_help="Print what happened in an action, in order of time.",
    epilog=examples("shipyard get events", "shipyard logs action 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
)
@shared_options.newest_action
@click.pass_obj
def events(options: GlobalOptions, /, action_id: str) -> None:
    """Print the logs of all steps of an action, without ACTION of the newest one, as one, in order of time."""
    action = check_action_id(action_id)
    try:
        lines = _lines(Api(options), action)
    except ApiError as error:
        fail(options, error)
    for line in lines:
        click.echo(printable_lines(line))


def _lines(api: Api, action: str) -> list[str]:
    """Return the log lines of all steps that have begun. Each begins with its time. Raises ApiError."""
    lines: list[str] = []
    steps = objects_at(api.read(f"actions/{action}"), "steps")
    names = [str(step.get("id")) for step in steps]
    for step in steps:
        # A step such as drydock_build groups other steps; its log has their lines.
        is_group = any(name.startswith(f"{step.get('id')}.") for name in names)
        if step.get("state") in _BEGUN and not is_group:
            answer = api.get(f"actions/{action}/steps/{path_segment(str(step.get('id')))}/logs")
            lines += [line for line in answer.text.splitlines() if line.strip()] if answer.status == 200 else []
    return sorted(lines, key=lambda line: line.split(" ", 1)[0])


_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class LogsGroup(ItemGroup):
    """The group ``logs``, which accepts items such as ``step/ID/STEP`` in place of its command."""

    items = {  # noqa: RUF012 - a class attribute, as in click's own groups
        "step": [
            ("step/action id/step id", lambda action, step: [step, "--action", action]),
            (
                "step/action id/step id/try",
                lambda action, step, attempt: [step, "--action", action, "--try", attempt],
            ),
        ],
        "action": [("action/action id", lambda action: [action])],
    }


@click.group(
    cls=LogsGroup,
    short_help="Print the log of a step or of an action.",
    epilog=examples(
        f"shipyard logs step preflight -a {_ID}",
        f"shipyard logs step/{_ID}/preflight",
        f"shipyard logs action/{_ID}",
    ),
)
def logs() -> None:
    """Print the log of a step, or of a whole action. step/ID/STEP, action/ID and ID alone work too."""


@logs.command(
    "step",
    short_help="Print the log of a step.",
    epilog=examples(
        f"shipyard logs step preflight -a {_ID}",
        f"shipyard logs step/{_ID}/preflight",
        f"shipyard logs step/{_ID}/preflight/2",
    ),
)
@click.argument("step_id")
@click.option("--action", "-a", "action_id", default=LATEST, help="Its action. (default: the newest)")
@click.option("--try", "-t", "attempt", metavar="NUMBER", help="The attempt; the first is 1. (default: the latest)")
@click.pass_obj
def step(options: GlobalOptions, /, step_id: str, action_id: str, attempt: str | None) -> None:
    """Print the log of the step STEP_ID of an action; step/ACTION_ID/STEP_ID[/TRY] is the same."""
    query = [("try", attempt)] if attempt else []

    path = f"actions/{check_action_id(action_id)}/steps/{path_segment(step_id)}/logs"
    show(options, lambda api: as_text(api.get(path, query)), cli=str, kind=answers.TEXT)
