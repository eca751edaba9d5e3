"""The command that lists workflows, the runs of actions."""

import click

from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import Settings
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
    "--since", metavar="DATE", help="Only those begun since then, such as 2026-11-21T08:00. (default: 30 days)"
)
@click.pass_obj
def get(settings: Settings, /, since: str | None) -> None:
    """List workflows, the runs of actions, that began since a date or time; without --since, in the last 30 days."""
    query = [("since", since)] if since else []
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get("workflows", query), expected=200, cli=action_tables.workflows)
