"""Options and arguments that several commands take."""

import click

from shipyard_api.cli.commands.syntax import LATEST, check_id, newest_plan
from shipyard_api.cli.global_options import GlobalOptions

PLAN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
"""A plan's id for examples."""


def check_plan_id(value: str) -> str:
    """Return the id of a stored plan, also from the form ``plan/ID``. Errors as in ``check_id``.

    ``latest`` is looked up at the server.
    """
    value = value.removeprefix("plan/")
    options = click.get_current_context().find_object(GlobalOptions)
    return check_id(newest_plan(options) if value == LATEST and options else value, kind="plan")


def _plan_query(_: click.Context, __: click.Parameter, value: str | None) -> list[tuple[str, str]]:
    return [] if value is None else [("plan", check_plan_id(value))]


parameters = click.option(
    "--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter. (repeatable)"
)
version = click.option(
    "--version", type=click.Choice(("committed", "buffer")), help="The version of the documents. (default: committed)"
)
intermediate_commits = click.option(
    "--allow-intermediate-commits", is_flag=True, help="As for `shipyard create action`."
)
watch = click.option("--watch", "-w", is_flag=True, help="Follow it until it ends, as `shipyard watch` does.")
interval = click.option("--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Seconds.")
revision = click.option(
    "--revision", type=click.IntRange(1), help="The design that names the etcd clusters. (default: committed)"
)
newest_action = click.argument("action_id", metavar="[ACTION]", default=LATEST)
stored_plan = click.option(
    "--plan",
    "plan",
    metavar="PLAN",
    callback=_plan_query,
    help="Start it from this stored plan, and only if it does what the plan says.",
)
