"""Commands about nodes: as the provisioner sees them, as actions left them, and the report of one action."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shipyard_api.cli.commands.syntax import check_action, examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output import answers, node_tables

if TYPE_CHECKING:
    from shipyard_api.cli.client import Api, Query

_KINDS = ("nodes-provision-status", "machines-power-state")
_STATUSES = ("not_started", "prepared", "success", "failure")


@click.command(
    "site-statuses",
    short_help="Show how the provisioner sees the machines.",
    epilog=examples("shipyard get site-statuses", "shipyard get site-statuses -s nodes-provision-status"),
)
@click.option(
    "--status-type",
    "-s",
    "kinds",
    multiple=True,
    metavar="TYPE",
    # Offered, but not checked: a server may know more kinds than we do.
    shell_complete=lambda *given: [kind for kind in _KINDS if kind.startswith(given[-1])],
    help="nodes-provision-status or machines-power-state. (repeatable; default: both)",
)
@click.pass_obj
def get_statuses(settings: Settings, /, kinds: tuple[str, ...]) -> None:
    """Show how the provisioner sees every machine at this moment: its status there, and whether it is on."""
    query = [("filters", ",".join(kinds))] if kinds else []
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get("site_statuses", query), expected=200, cli=node_tables.site_statuses)


@click.command(
    "nodes",
    short_help="List the nodes of all actions.",
    epilog=examples("shipyard get nodes --status failure", "shipyard get nodes --name compute1"),
)
@click.option(
    "--status", "statuses", type=click.Choice(_STATUSES), multiple=True, help="Only with this status. (repeatable)"
)
@click.option("--name", "prefix", metavar="PREFIX", help="Only nodes whose name begins so.")
@click.pass_obj
def get_nodes(settings: Settings, /, statuses: tuple[str, ...], prefix: str | None) -> None:
    """List every node that an action ever had, as the latest one left it."""
    query = [("status", status) for status in statuses] + ([("name", prefix)] if prefix else [])
    from shipyard_api.cli.client import show

    show(settings, lambda api: _whole(api, query), expected=200, cli=node_tables.nodes)


@click.command(
    "node",
    short_help="Show a node, and what each action did with it.",
    epilog=examples(
        "shipyard describe node compute11",
        "shipyard describe node/compute11",
        "shipyard describe node compute11 --before 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
)
@click.argument("name")
@click.option("--before", metavar="ACTION", help="Only what actions before this one did.")
@click.pass_obj
def describe(settings: Settings, /, name: str, before: str | None) -> None:
    """Show how the node NAME stands and what the latest actions did with it; node/NAME is the same."""
    query = [("marker", check_action(before))] if before else []
    from shipyard_api.cli.client import segment, show

    show(settings, lambda api: api.get(f"nodes/{segment(name)}", query), expected=200, cli=node_tables.node)


@click.command(
    short_help="Report on an action: groups, nodes that failed, where to look.",
    epilog=examples(
        "shipyard report 01ARZ3NDEKTSV4RRFFQ69G5FAV", "shipyard --output-format=raw report 01ARZ3NDEKTSV4RRFFQ69G5FAV"
    ),
)
@click.argument("action_id", metavar="ACTION")
@click.pass_obj
def report(settings: Settings, /, action_id: str) -> None:
    """Report on an action, ended or not: its groups and their phases, and every node that failed.

    Of these it says why, and where the provisioner shows more. The output formats raw and format have all the nodes.
    """
    action = check_action(action_id)
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get(f"actions/{action}/report"), expected=200, cli=node_tables.report)


def _whole(api: "Api", query: "Query") -> answers.Answer:
    """Return all pages as one answer; the answer itself if it is the only page, or no success."""
    from shipyard_api.cli.client import PAGE, content

    limit = ("limit", str(PAGE))
    first = api.get("nodes", [*query, limit])
    if first.status != 200:
        return first
    page = content(first, expected=200)
    if not page.get("next"):
        return first
    nodes = list(page["nodes"])
    while page.get("next"):
        page = api.read("nodes", [*query, limit, ("marker", str(page["next"]))])
        nodes += page["nodes"]
    return replace(first, text=json.dumps({"nodes": nodes, "next": None}))
