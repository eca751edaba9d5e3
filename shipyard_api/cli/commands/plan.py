"""``shipyard plan``: what an action, or a retry, would do now, without changing anything."""

import click

from shipyard_api.cli.commands.actions import check_action_name, complete_action_name, parse_parameters
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import plan_tables


@click.command(
    short_help="Show what an action would do: groups in order, nodes, findings.",
    epilog=examples(
        "shipyard plan deploy_site",
        "shipyard plan deploy_site --version=buffer",
        "shipyard plan --retry 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
)
@click.argument("name", required=False, shell_complete=complete_action_name)
@click.option("--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter. (repeatable)")
@click.option(
    "--version",
    type=click.Choice(("committed", "buffer")),
    help="The version of the documents. (default: committed)",
)
@click.option("--allow-intermediate-commits", is_flag=True, help="As for `shipyard create action`.")
@click.option("--strict", is_flag=True, help="As for `shipyard create action`.")
@click.option("--retry", metavar="ACTION", help="Plan a retry of this action, in place of an action NAME.")
@click.option("--force", is_flag=True, help="As for `shipyard retry`.")
@click.pass_obj
def plan(
    options: GlobalOptions,
    /,
    name: str | None,
    parameters: tuple[str, ...],
    version: str | None,
    allow_intermediate_commits: bool,
    strict: bool,
    retry: str | None,
    force: bool,
) -> None:
    """Show what the action NAME, such as deploy_site, would do now, without starting it.

    Groups are listed in the order in which they start if every node succeeds. If the server would refuse the action,
    the plan contains the refusal, and the exit code is still 0.
    """
    for_an_action = parameters or version or allow_intermediate_commits or strict
    if bool(name) == bool(retry):
        raise click.UsageError("Give either the NAME of an action, or --retry with the id of one.")
    if (for_an_action and retry) or (force and name):
        raise click.UsageError("With --retry only --force may be used; it may not be used with the NAME of an action.")
    body: dict[str, object]
    query = []
    if retry:
        body = {"retry": check_action_id(retry)}
        query += [("force", "true")] if force else []
    else:
        body = {
            "name": check_action_name(str(name)),
            "parameters": parse_parameters(parameters),
            "version": version or "committed",
        }
        query += [("allow-intermediate-commits", str(allow_intermediate_commits))]
        query += [("strict", "true")] if strict else []

    show(options, lambda api: api.post("plans", query, json=body), expected=200, cli=plan_tables.plan)
