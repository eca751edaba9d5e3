"""The command that prints the logs of steps."""

import click

from shipyard_api.cli.commands.describe import as_text
from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import LATEST, ItemGroup, check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import answers

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
