"""The command that lists workflows, the runs of actions."""

import click

from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import action_tables


@click.command(
    "workflows",
    short_help="List the workflows of the last 30 days.",
    epilog=examples(
        "shipyard get workflows",
        "shipyard get workflows --since=2026-11-01",
    ),
)
@click.option(
    "--since",
    metavar="DATE",
    help="Begun at or after it, such as 2026-11-21T08:00. (default: 30 days ago)",
)
@click.pass_obj
def get(options: GlobalOptions, /, since: str | None) -> None:
    """List workflows, the runs of actions. The default is those that began in the last 30 days."""
    query = [("since", since)] if since else []

    show(options, lambda api: api.get("workflows", query), cli=action_tables.workflows)
