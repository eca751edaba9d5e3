"""The command that prints the logs of steps."""

import click

from shipyard_api.cli.commands.syntax import Items, examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output import answers

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class Logs(Items):
    """The group of this command, which also takes an item such as ``step/ID/STEP``."""

    items = {  # noqa: RUF012 - as in click's own groups, what a class offers stands in the class
        "step": [
            ("step/action id/step id", lambda action, step: [step, "--action", action]),
            (
                "step/action id/step id/try",
                lambda action, step, attempt: [step, "--action", action, "--try", attempt],
            ),
        ]
    }


@click.group(
    cls=Logs,
    short_help="Show what a step has logged.",
    epilog=examples(
        f"shipyard logs step preflight -a {_ID}",
        f"shipyard logs step/{_ID}/preflight",
    ),
)
def logs() -> None:
    """Show what a step has logged. step/ID/STEP, as tables print it, works too."""


@logs.command(
    "step",
    short_help="Show what a step has logged.",
    epilog=examples(
        f"shipyard logs step preflight -a {_ID}",
        f"shipyard logs step/{_ID}/preflight",
        f"shipyard logs step/{_ID}/preflight/2",
    ),
)
@click.argument("step_id")
@click.option("--action", "-a", "action_id", required=True, help="The action that the step belongs to. (required)")
@click.option("--try", "-t", "attempt", metavar="NUMBER", help="Which attempt; the first is 1. (default: the latest)")
@click.pass_obj
def step(settings: Settings, /, step_id: str, action_id: str, attempt: str | None) -> None:
    """Show the log of the step STEP_ID of an action; step/ACTION_ID/STEP_ID[/TRY] is the same."""
    query = [("try", attempt)] if attempt else []
    from shipyard_api.cli.client import segment, show
    from shipyard_api.cli.commands.describe import as_text

    path = f"actions/{segment(action_id.removeprefix('action/'))}/steps/{segment(step_id)}/logs"
    show(settings, lambda api: as_text(api.get(path, query)), expected=200, cli=str, kind=answers.TEXT)
