"""Commands about nodes: their status at the provisioner, their state after actions, and the report of one action."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import click

from shipyard_api.cli.client import PAGE_SIZE, Api, Query, json_content
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import answers, node_tables
from shipyard_api.cli.output.shapes import JsonObject, as_object, objects_at, parse_object
from shipyard_api.cli.output.wording import NODE_STATUS_WORDS
from shipyard_api.domain.node_sets import is_node_set

_KINDS = ("nodes-provision-status", "machines-power-state")
_NUMBER = click.IntRange(1)
_ORDERS = {"name": "name", "status": "status", "group": "group", "updated": "updated_at"}
# The words of the table, and those of the API.
_STATUSES = {word: status for status, word in NODE_STATUS_WORDS.items()} | {word: word for word in NODE_STATUS_WORDS}


@click.command(
    "site-statuses",
    short_help="Show the provisioner's status of the machines.",
    epilog=examples("shipyard get site-statuses", "shipyard get site-statuses -s nodes-provision-status"),
)
@click.option(
    "--status-type",
    "-s",
    "kinds",
    multiple=True,
    metavar="TYPE",
    # Completed, but not checked: another server may know more types.
    shell_complete=lambda *arguments: [kind for kind in _KINDS if kind.startswith(arguments[-1])],
    help="nodes-provision-status or machines-power-state. (repeatable; default: both)",
)
@click.pass_obj
def get_statuses(options: GlobalOptions, /, kinds: tuple[str, ...]) -> None:
    """Show the provisioner's current status and power state of every machine."""
    query = [("filters", ",".join(kinds))] if kinds else []

    show(options, lambda api: api.get("site_statuses", query), cli=node_tables.site_statuses)


@click.command(
    "nodes",
    short_help="List the nodes of all actions.",
    epilog=examples(
        "shipyard get nodes --status failure",
        "shipyard get nodes compute11 compute12",
        "shipyard get nodes r[1-4]n[1-20] --status failure",
        "shipyard get nodes --last 10 -o wide",
    ),
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(tuple(_STATUSES), case_sensitive=False),
    multiple=True,
    help="Only nodes with it. (repeatable)",
)
@click.option("--name", "prefix", metavar="PREFIX", help="Only nodes whose name begins with this.")
@click.option("--limit", type=_NUMBER, help="At most this many, from the start of the order.")
@click.option("--last", type=_NUMBER, help="At most this many, those that changed last, the newest at the end.")
@click.option(
    "--sort",
    "order",
    type=click.Choice(tuple(_ORDERS)),
    show_default="name; updated with --last",
    help="The order of the list.",
)
@click.pass_obj
def get_nodes(
    options: GlobalOptions,
    /,
    names: tuple[str, ...],
    statuses: tuple[str, ...],
    prefix: str | None,
    limit: int | None,
    last: int | None,
    order: str | None,
) -> None:
    """List every node of any action, or the nodes NAME, with its state after its latest action.

    NAME may be a node set, such as compute[11-18]; those that no action ever had are left out.
    """
    if limit and last:
        raise click.UsageError("Give either --limit or --last.")
    names = tuple(name.removeprefix("node/") for name in names)
    sets = names if any(map(is_node_set, names)) else ()
    if names and not sets and (statuses or prefix):
        raise click.UsageError("--status and --name do not go with the NAME of a node.")
    paths = [] if sets else [f"nodes/{path_segment(name)}" for name in names]
    query = [("status", _STATUSES[status]) for status in statuses] + ([("name", prefix)] if prefix else [])
    query += [("node", name) for name in sets]

    def chosen(api: Api) -> answers.Answer:
        answer = _each(api, paths) if paths else _all_pages(api, query)
        if answer.status != 200 or not (limit or last or order):
            return answer
        nodes = [*objects_at(parse_object(answer.text), "nodes")]
        if last:
            nodes = _sorted(nodes, "updated")[-last:]
        nodes = _sorted(nodes, order or ("updated" if last else "name"))[:limit]
        return replace(answer, text=json.dumps({"nodes": nodes, "next": None}))

    show(options, chosen, cli=node_tables.nodes, wide=partial(node_tables.nodes, wide=True))


@click.command(
    "node",
    short_help="Show a node and its history.",
    epilog=examples(
        "shipyard describe node compute11",
        "shipyard describe node/compute11",
        "shipyard describe node compute11 --before 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
)
@click.argument("name")
@click.option("--before", metavar="ACTION", help="Only the history before this action.")
@click.pass_obj
def describe(options: GlobalOptions, /, name: str, before: str | None) -> None:
    """Show the state of the node NAME and what the latest actions did with it; node/NAME is the same."""
    query = [("marker", check_action_id(before))] if before else []

    show(options, lambda api: api.get(f"nodes/{path_segment(name)}", query), cli=node_tables.node)


@click.command(
    short_help="Report on an action: groups, failed nodes, where to look.",
    epilog=examples(
        "shipyard report 01ARZ3NDEKTSV4RRFFQ69G5FAV", "shipyard --output-format=raw report 01ARZ3NDEKTSV4RRFFQ69G5FAV"
    ),
)
@shared_options.newest_action
@click.pass_obj
def report(options: GlobalOptions, /, action_id: str) -> None:
    """Report on an action, running or ended: its groups with their phases, and every failed node.

    Without ACTION it is the newest one. Failed nodes have a reason and a hint where to look. The output formats raw
    and format have all nodes.
    """
    action = check_action_id(action_id)

    show(options, lambda api: api.get(f"actions/{action}/report"), cli=node_tables.report)


def _each(api: Api, paths: Sequence[str]) -> answers.Answer:
    """Return nodes by name as one answer; the first error, if there is one."""
    query = [("limit", "1")]
    pages = [api.get(path, query) for path in paths]
    if failed := next((answer for answer in pages if answer.status != 200), None):
        return failed
    nodes = [dict(parse_object(answer.text)) for answer in pages]
    for node in nodes:
        node.pop("history", None)
        node.pop("teardowns", None)
        node.pop("next", None)
    return replace(pages[0], text=json.dumps({"nodes": nodes, "next": None}))


def _sorted(nodes: Sequence[JsonObject], order: str) -> list[JsonObject]:
    key = _ORDERS[order]
    return sorted(nodes, key=lambda node: (str(node.get(key) or ""), str(node.get("name"))))


def _all_pages(api: Api, query: Query) -> answers.Answer:
    """Return all pages as one answer; the first answer itself if it is the only page, or an error."""
    limit = ("limit", str(PAGE_SIZE))
    first = api.get("nodes", [*query, limit])
    if first.status != 200:
        return first
    page = as_object(json_content(first), "the body")
    if not page.get("next"):
        return first
    nodes = [*objects_at(page, "nodes")]
    while page.get("next"):
        page = api.read("nodes", [*query, limit, ("marker", str(page["next"]))])
        nodes += objects_at(page, "nodes")
    return replace(first, text=json.dumps({"nodes": nodes, "next": None}))
