"""Commands about nodes: their status at the provisioner, their state after actions, and the report of one action."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import answers, node_tables
from shipyard_api.cli.output.shapes import as_object, objects_at

if TYPE_CHECKING:
    from shipyard_api.cli.client import Api, Query

_KINDS = ("nodes-provision-status", "machines-power-state")
_STATUSES = ("not_started", "prepared", "success", "failure")


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

    show(options, lambda api: api.get("site_statuses", query), expected=200, cli=node_tables.site_statuses)


@click.command(
    "nodes",
    short_help="List the nodes of all actions.",
    epilog=examples("shipyard get nodes --status failure", "shipyard get nodes --name compute1"),
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(_STATUSES),
    multiple=True,
    help="Only nodes with it. (repeatable)",
)
@click.option("--name", "prefix", metavar="PREFIX", help="Only nodes whose name begins with this.")
@click.pass_obj
def get_nodes(options: GlobalOptions, /, statuses: tuple[str, ...], prefix: str | None) -> None:
    """List every node of any action, with its state after its latest action."""
    query = [("status", status) for status in statuses] + ([("name", prefix)] if prefix else [])

    show(options, lambda api: _all_pages(api, query), expected=200, cli=node_tables.nodes)


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

    show(options, lambda api: api.get(f"nodes/{path_segment(name)}", query), expected=200, cli=node_tables.node)


@click.command(
    short_help="Report on an action: groups, failed nodes, where to look.",
    epilog=examples(
        "shipyard report 01ARZ3NDEKTSV4RRFFQ69G5FAV", "shipyard --output-format=raw report 01ARZ3NDEKTSV4RRFFQ69G5FAV"
    ),
)
@click.argument("action_id", metavar="ACTION")
@click.pass_obj
def report(options: GlobalOptions, /, action_id: str) -> None:
    """Report on an action, running or ended: its groups with their phases, and every failed node.

    Failed nodes have a reason and a hint where to look. The output formats raw and format have all nodes.
    """
    action = check_action_id(action_id)

    show(options, lambda api: api.get(f"actions/{action}/report"), expected=200, cli=node_tables.report)


def _all_pages(api: "Api", query: "Query") -> answers.Answer:
    """Return all pages as one answer; the first answer itself if it is the only page, or an error."""
    from shipyard_api.cli.client import PAGE_SIZE, json_content

    limit = ("limit", str(PAGE_SIZE))
    first = api.get("nodes", [*query, limit])
    if first.status != 200:
        return first
    page = as_object(json_content(first, expected=200), "the body")
    if not page.get("next"):
        return first
    nodes = [*objects_at(page, "nodes")]
    while page.get("next"):
        page = api.read("nodes", [*query, limit, ("marker", str(page["next"]))])
        nodes += objects_at(page, "nodes")
    return replace(first, text=json.dumps({"nodes": nodes, "next": None}))
