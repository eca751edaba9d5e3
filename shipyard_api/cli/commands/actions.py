"""Commands that start an action, and list actions."""

import difflib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import click
from click.shell_completion import CompletionItem

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import LATEST, check_action_id, examples
from shipyard_api.cli.commands.watch import follow_to_the_end
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import action_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.shapes import parse_object, parse_objects, required

_PAGE = click.IntRange(1, 1000)
# The words of the column Lifecycle, and those of the API.
_STATES = {
    "Pending": "queued",
    "Processing": "running",
    "Paused": "paused",
    "Complete": "success",
    "Failed": "failed",
    **{state: state for state in ("queued", "running", "success")},
}
ACTION_NAMES = {
    "deploy_site": "Deploy the whole site: from documents to running servers.",
    "update_site": "Update a running site to the committed documents, software included.",
    "update_software": "Update the software to the committed documents; hardware stays as it is.",
    "redeploy_server": "Tear servers down and deploy them again; needs --param target_nodes=N1,N2.",
    "remove_server": "Take servers down for good; needs --param target_nodes=N1,N2.",
    "relabel_nodes": "Set the labels of Kubernetes nodes to those of the committed documents.",
    "service_server": "Run the steps of a deploy template on deployed servers; needs --param template=NAME.",
    "power_cycle": "Switch deployed servers off and on, drained first; needs --param target_nodes=N1,N2.",
    "test_site": "Run the tests of the site.",
}
# Lists have these only if they are named: what became of pulled designs, and operations on one node.
_RECORDED = ("pull_design", "node_operation")


def complete_action_name(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of actions that begin so, for shell completion."""
    return [CompletionItem(name, help=summary) for name, summary in ACTION_NAMES.items() if name.startswith(incomplete)]


@click.command(
    "action",
    short_help="Start an action and print its id.",
    epilog=examples(
        "shipyard create action deploy_site",
        "shipyard create action update_software --param continue-on-fail=true",
        "shipyard create action deploy_site --allow-intermediate-commits --strict",
        f"shipyard create action deploy_site --plan {shared_options.PLAN_ID}",
    ),
)
@click.argument("name", shell_complete=complete_action_name)
@shared_options.parameters
@click.option(
    "--allow-intermediate-commits",
    is_flag=True,
    help="Start it even if an earlier commit was never used.",
)
@click.option("--strict", is_flag=True, help="Refuse parameters that the action does not know.")
@shared_options.stored_plan
@shared_options.watch
@click.pass_obj
def create(
    options: GlobalOptions,
    /,
    name: str,
    parameters: tuple[str, ...],
    allow_intermediate_commits: bool,
    strict: bool,
    plan: list[tuple[str, str]],
    watch: bool,
) -> None:
    """Start the action NAME, such as deploy_site, on the committed documents.

    If the answer is lost, the request is sent once more; the server starts only one action.
    """
    if name == "redeploy_server" and not parameters:
        raise click.UsageError(
            f'At least one parameter must be specified using --param="<parameter>" with action {name}'
        )
    body = {"name": check_action_name(name), "parameters": parse_parameters(parameters)}
    query = [("allow-intermediate-commits", str(allow_intermediate_commits)), *plan]
    if strict:
        query.append(("strict", "true"))

    start(options, lambda api: api.post_once("actions", query, json=body), watch=watch)


def start(options: GlobalOptions, request: Callable[[Api], Answer], *, watch: bool) -> None:
    """Make the request that creates an action and print its answer; then follow the action if asked to ``watch``."""
    created: list[Answer] = []

    def kept(api: Api) -> Answer:
        created.append(request(api))
        return created[0]

    show(options, kept, expected=201, cli=action_tables.created_action)
    if watch:
        follow_to_the_end(options, str(required(parse_object(created[0].text), "id")))


def _joined(answers: Sequence[Answer]) -> Answer:
    """Return the answers to reads of one action each as the answer to a list; the first error if there is one."""
    if failed := next((answer for answer in answers if answer.status != 200), None):
        return failed
    return replace(answers[0], text=json.dumps([parse_object(answer.text) for answer in answers]))


def check_action_name(name: str) -> str:
    """Return the name of an action. An unknown name is a usage error."""
    if name in ACTION_NAMES:
        return name
    near = difflib.get_close_matches(name.lower().replace("-", "_"), ACTION_NAMES, 1)
    guess = f"\nDid you mean {near[0]}?" if near else ""
    known = ", ".join(ACTION_NAMES)
    raise click.UsageError(f"Invalid action command.  The action commands available are  {known}{guess}")


def parse_parameters(parameters: Sequence[str]) -> dict[str, str]:
    """Return parameters as the request has them: text, the last value of a name; a value may contain ``=``."""
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
    short_help="List actions.",
    epilog=examples(
        "shipyard get actions",
        "shipyard get actions --last 10",
        "shipyard get actions --state failed --since P7D -o wide",
        "shipyard get action latest -w",
    ),
)
@click.argument("action_ids", metavar="[ACTION]...", nargs=-1)
@click.option("--limit", type=_PAGE, help="At most this many, the oldest.")
@click.option("--last", type=_PAGE, help="At most this many, the newest.")
@click.option(
    "--sort",
    "order",
    type=click.Choice(tuple(action_tables.ACTION_ORDERS)),
    default="created",
    show_default=True,
    help="The order of the table; the last line is the newest, or the greatest.",
)
@click.option("--name", "names", type=click.Choice((*ACTION_NAMES, *_RECORDED)), multiple=True, help="(repeatable)")
@click.option(
    "--state", "states", type=click.Choice(tuple(_STATES), case_sensitive=False), multiple=True, help="(repeatable)"
)
@click.option("--user", "users", metavar="NAME", multiple=True, help="Only actions of this user. (repeatable)")
@click.option("--since", metavar="TIME", help="Since a date, a time, or a duration before now: 2026-11-21, P7D, PT12H.")
@click.option("--watch", "-w", is_flag=True, help="Follow one until it ends, without ACTION the newest.")
@click.pass_obj
def get(
    options: GlobalOptions,
    /,
    action_ids: tuple[str, ...],
    limit: int | None,
    last: int | None,
    order: str,
    names: tuple[str, ...],
    states: tuple[str, ...],
    users: tuple[str, ...],
    since: str | None,
    watch: bool,
) -> None:
    """List actions, the newest last; only those of the ids ACTION if there are any."""
    if limit and last:
        raise click.UsageError("Give either --limit or --last.")
    if (action_ids or watch) and (limit or last or names or states or users or since):
        raise click.UsageError("Filters do not go with the id of an action, nor with --watch.")
    if watch:
        follow_to_the_end(options, check_action_id((action_ids or (LATEST,))[-1]))
        return
    if action_ids:
        paths = [f"actions/{check_action_id(action_id)}" for action_id in action_ids]
    known = [_STATES[state] for state in states]
    query = [(key, value) for key, given in (("name", names), ("state", known), ("user", users)) for value in given]
    query += [("since", since)] if since else []
    query += [("limit", str(limit or last))] if limit or last else []
    query += [("order", "desc")] if last else []

    def oldest_first(api: Api) -> Answer:
        if action_ids:
            return _joined([api.get(path) for path in paths])
        answer = api.get("actions", query)
        if not last or answer.status != 200:
            return answer
        return replace(answer, text=json.dumps([*parse_objects(answer.text)][::-1]))

    show(
        options,
        oldest_first,
        cli=partial(action_tables.actions, order=order),
        wide=partial(action_tables.actions, order=order, wide=True),
    )
