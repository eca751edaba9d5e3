"""Options and arguments that several commands take."""

from dataclasses import replace

import click

from shipyard_api.cli.commands.syntax import LATEST, check_id, newest_plan
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output.answers import KUBECTL_FORMS

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


def add_output_option(command: click.Command) -> None:
    """Let a command, or every command of a group, take ``-o``."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            add_output_option(inner)
        return
    command.params.append(
        click.Option(
            ["-o", "--output"],
            type=click.Choice(KUBECTL_FORMS),
            expose_value=False,
            callback=_choose,
            help="JSON or YAML, only the names, or tables with more columns. (default: --output-format)",
        )
    )


def _choose(context: click.Context, _: click.Parameter, form: str | None) -> None:
    if form and isinstance(context.obj, GlobalOptions):
        context.obj = replace(context.obj, form=form)
