"""Commands about actions: start one, list them, look at one or at a step of it."""

from collections.abc import Sequence

import click

from shipyard_api.cli import render
from shipyard_api.cli.settings import Settings

NAMES = ("deploy_site", "update_site", "update_software", "redeploy_server", "relabel_nodes", "test_site")
_ID_LENGTH = 26


@click.command("action", short_help="Start an action; its id is in the answer.")
@click.argument("name")
@click.option("--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter. (repeatable)")
@click.option(
    "--allow-intermediate-commits", is_flag=True, help="Even if commits since the last site action were unused."
)
@click.pass_obj
def create(settings: Settings, /, name: str, parameters: tuple[str, ...], allow_intermediate_commits: bool) -> None:
    """Start the action NAME, such as deploy_site, on the committed documents."""
    if name not in NAMES:
        raise click.UsageError(f"Invalid action command.  The action commands available are  {', '.join(NAMES)}")
    if name == "redeploy_server" and not parameters:
        raise click.UsageError(
            f'At least one parameter must be specified using --param="<parameter>" with action {name}'
        )
    body = {"name": name, "parameters": _parsed(parameters)}
    query = [("allow-intermediate-commits", str(allow_intermediate_commits))]
    from shipyard_api.cli.client import show

    show(
        settings,
        lambda api: api.post("actions", query, json=body),
        expected=201,
        cli=render.created_action,
    )


def _parsed(parameters: Sequence[str]) -> dict[str, str]:
    parsed = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not name or not equals:
            raise click.UsageError(
                f"Invalid parameter or parameter format for {parameter}.  Please utilize the format: "
                "<parameter name>=<parameter value>"
            )
        parsed[name] = value
    return parsed


@click.command("actions", short_help="List all actions.")
@click.pass_obj
def get(settings: Settings, /) -> None:
    """List all actions, oldest first."""
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get("actions"), expected=200, cli=render.actions)


class Describe(click.Group):
    """A group that also takes ``action/ID``, ``step/ID/STEP`` and ``node/NAME``, as the tables print them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Turn an item of a table into the command that describes it."""
        match args[0].split("/"):
            case ["action", action]:
                args = ["action", action, *args[1:]]
            case ["step", action, step]:
                args = ["step", step, "--action", action, *args[1:]]
            case ["node", node]:
                args = ["node", node, *args[1:]]
            case [name] if name in self.commands or name.startswith("-"):
                pass
            case _:
                raise click.UsageError(
                    "Invalid namespace item. Please utilize one of the following formats for the namespace item.\n"
                    "action: action/action id\n"
                    "step: step/action id/step id\n"
                    "node: node/node name",
                    ctx,
                )
        return super().resolve_command(ctx, args)


@click.command("action", short_help="Show an action: its state, steps, commands and notes.")
@click.argument("action_id")
@click.pass_obj
def describe(settings: Settings, /, action_id: str) -> None:
    """Show the action ACTION_ID; action/ACTION_ID is the same."""
    check_id(action_id)
    from shipyard_api.cli.client import show

    path = f"actions/{action_id}"
    show(settings, lambda api: api.get(path), expected=200, cli=render.action)


@click.command("step", short_help="Show a step of an action.")
@click.argument("step_id")
@click.option("--action", "-a", "action_id", help="The action that the step belongs to. (required)")
@click.pass_obj
def describe_step(settings: Settings, /, step_id: str, action_id: str | None) -> None:
    """Show the step STEP_ID of an action; step/ACTION_ID/STEP_ID is the same."""
    action = check_id(action_id)
    from shipyard_api.cli.client import segment, show

    show(
        settings,
        lambda api: api.get(f"actions/{action}/steps/{segment(step_id)}"),
        expected=200,
        cli=lambda text: render.step(text, action),
    )


def check_id(action_id: str | None) -> str:
    """Return the id. A text that cannot be one is a usage error: it never reaches the server."""
    if action_id is None:
        raise click.UsageError("Invalid ID. None is not a valid action ID.")
    if len(action_id) != _ID_LENGTH:
        raise click.UsageError("Invalid ID. ID can only be 26 characters.")
    if not (action_id.isascii() and action_id.isalnum()):
        raise click.UsageError("Invalid ID. ID can only contain letters and numbers.")
    return action_id
