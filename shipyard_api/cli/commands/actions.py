"""Commands that start an action, or list actions."""

from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output import action_tables

NAMES = {
    "deploy_site": "Take the whole site from documents to running servers.",
    "update_site": "Bring a running site to the committed documents, software included.",
    "update_software": "Bring the software to the committed documents; hardware is not touched.",
    "redeploy_server": "Tear servers down and deploy them again; needs --param target_nodes=N1,N2.",
    "relabel_nodes": "Give Kubernetes nodes the labels of the committed documents.",
    "test_site": "Test what runs on the site.",
}


def named(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of actions for a shell that completes one."""
    return [CompletionItem(name, help=told) for name, told in NAMES.items() if name.startswith(incomplete)]


@click.command(
    "action",
    short_help="Start an action; its id is in the answer.",
    epilog=examples(
        "shipyard create action deploy_site",
        "shipyard create action update_software --param continue-on-fail=true",
        "shipyard create action deploy_site --allow-intermediate-commits --strict",
    ),
)
@click.argument("name", shell_complete=named)
@click.option("--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter. (repeatable)")
@click.option(
    "--allow-intermediate-commits", is_flag=True, help="Even if commits since the last site action were unused."
)
@click.option("--strict", is_flag=True, help="Refuse parameters that mean nothing to the action.")
@click.pass_obj
def create(
    settings: Settings,
    /,
    name: str,
    parameters: tuple[str, ...],
    allow_intermediate_commits: bool,
    strict: bool,
) -> None:
    """Start the action NAME, such as deploy_site, on the committed documents.

    If the answer is lost, the same is asked for once more, in such a way that only one action is started.
    """
    if name == "redeploy_server" and not parameters:
        raise click.UsageError(
            f'At least one parameter must be specified using --param="<parameter>" with action {name}'
        )
    body = {"name": known(name), "parameters": parsed(parameters)}
    query = [("allow-intermediate-commits", str(allow_intermediate_commits))]
    if strict:
        query.append(("strict", "true"))
    from shipyard_api.cli.client import show

    show(
        settings,
        lambda api: api.post_once("actions", query, json=body),
        expected=201,
        cli=action_tables.created_action,
    )


def known(name: str) -> str:
    """Return the name of an action. Another one is a usage error."""
    if name not in NAMES:
        raise click.UsageError(f"Invalid action command.  The action commands available are  {', '.join(NAMES)}")
    return name


def parsed(parameters: Sequence[str]) -> dict[str, str]:
    """Return parameters as they are sent: always text, all behind the first ``=``, the last one of a name."""
    values = {}
    for parameter in parameters:
        name, equals, value = parameter.partition("=")
        if not name or not equals:
            raise click.UsageError(
                f"Invalid parameter or parameter format for {parameter}.  Please utilize the format: "
                "<parameter name>=<parameter value>"
            )
        values[name] = value
    return values


@click.command(
    "actions",
    short_help="List all actions.",
    epilog=examples(
        "shipyard get actions",
        "shipyard --output-format=raw get actions",
    ),
)
@click.pass_obj
def get(settings: Settings, /) -> None:
    """List all actions, oldest first."""
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get("actions"), expected=200, cli=action_tables.actions)
