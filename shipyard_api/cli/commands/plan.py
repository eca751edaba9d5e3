"""``shipyard plan``: what an action, or a retry, would do now. Nothing is changed by asking."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from shipyard_api.cli.commands.actions import known, named, parsed
from shipyard_api.cli.commands.syntax import check_action, examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output.answers import messages
from shipyard_api.cli.output.answers import parsed as read
from shipyard_api.cli.output.printout import Page, Table, fields, sections, table

JsonObject = Mapping[str, Any]

_NAMES_SHOWN = 8  # nodes of a group that are named; the forms raw and format name them all
_CRITERIA = {
    "percent_successful_nodes": "{} % succeed",
    "minimum_successful_nodes": "at least {} succeed",
    "maximum_failed_nodes": "at most {} fail",
}


@click.command(
    short_help="Say what an action would do: groups in order, their nodes, findings.",
    epilog=examples(
        "shipyard plan deploy_site",
        "shipyard plan deploy_site --version=buffer",
        "shipyard plan --retry 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ),
)
@click.argument("name", required=False, shell_complete=named)
@click.option("--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter. (repeatable)")
@click.option(
    "--version",
    type=click.Choice(("committed", "buffer")),
    help="The documents that it would work on. (default: committed)",
)
@click.option("--allow-intermediate-commits", is_flag=True, help="As for `shipyard create action`.")
@click.option("--strict", is_flag=True, help="As for `shipyard create action`.")
@click.option("--retry", metavar="ACTION", help="Plan to try this action again, instead of an action NAME.")
@click.option("--force", is_flag=True, help="As for `shipyard retry`.")
@click.pass_obj
def plan(
    settings: Settings,
    /,
    name: str | None,
    parameters: tuple[str, ...],
    version: str | None,
    allow_intermediate_commits: bool,
    strict: bool,
    retry: str | None,
    force: bool,
) -> None:
    """Say what the action NAME, such as deploy_site, would do now, without doing it.

    Groups are shown in the order in which they begin if every node succeeds. What the action would be refused with is
    part of the plan: the exit code is 0.
    """
    of_an_action = parameters or version or allow_intermediate_commits or strict
    if bool(name) == bool(retry):
        raise click.UsageError("Give either the NAME of an action, or --retry with the id of one.")
    if (of_an_action and retry) or (force and name):
        raise click.UsageError("With --retry only --force may be used; it may not be used with the NAME of an action.")
    body: dict[str, object]
    query = []
    if retry:
        body = {"retry": check_action(retry)}
        query += [("force", "true")] if force else []
    else:
        body = {"name": known(str(name)), "parameters": parsed(parameters), "version": version or "committed"}
        query += [("allow-intermediate-commits", str(allow_intermediate_commits))]
        query += [("strict", "true")] if strict else []
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.post("plans", query, json=body), expected=200, cli=page)


def page(text: str) -> Page:
    """Return a plan: what it is of, what stands against it, its groups, its steps, and what was found."""
    found = read(text)
    of = f"action/{found['retry']}, again" if found.get("retry") else found.get("version")
    totals, refused = found["totals"], found.get("refused")
    about = [
        ("Plan:", found.get("name")),
        ("Of:", of),
        ("Revision:", found.get("revision")),
        ("Groups:", f"{totals['groups']}, {totals['critical_groups']} critical"),
        ("Nodes:", f"{totals['nodes']}: {totals['sent']} sent, {totals['kept']} kept"),
        ("At Once:", _mode(found.get("mode"))),
        ("Refused:", f"{refused['title']}: {refused['reason']}" if refused else "no"),
    ]
    parts: list[Table | str] = [fields(about), _groups(found["groups"])]
    parts.append(table([(number, step) for number, step in enumerate(found["steps"], 1)], ("Index", "Step")))
    told = messages([*(refused["messages"] if refused else []), *found["findings"]])
    if told:
        parts.append("\n".join(told))
    return sections(*parts)


def _groups(found: Sequence[JsonObject]) -> Table:
    rows = [
        (
            one["order"] or "never",
            one["name"],
            "yes" if one["critical"] else "no",
            ", ".join(one["depends_on"]),
            _needs(one),
            _count(one),
            _names(one["nodes"]),
        )
        for one in found
    ]
    return table(rows, ("Order", "Group", "Critical", "Depends On", "Needs", "Nodes", "Names"), gap=4)


def _needs(group: JsonObject) -> str:
    wanted = group["success_criteria"]
    told = ", ".join(text.format(wanted[name]) for name, text in _CRITERIA.items() if wanted.get(name) is not None)
    return told if group["can_succeed"] else f"{told} (impossible)".lstrip()


def _count(group: JsonObject) -> str:
    sent, nodes = len(group["sends"]), len(group["nodes"])
    return str(nodes) if sent == nodes else f"{sent} of {nodes}"


def _names(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - _NAMES_SHOWN} more" if len(nodes) > _NAMES_SHOWN else ""
    return ", ".join(nodes[:_NAMES_SHOWN]) + more


def _mode(mode: JsonObject | None) -> str:
    if mode is None:
        return "nothing is deployed"
    groups, nodes = mode["max_parallel_groups"], mode["max_nodes_in_flight"]
    told = [f"{groups} group{'s' * (groups != 1)}", f"{nodes} nodes" if nodes else "any number of nodes"]
    return ", ".join(told + (["each node deployed as soon as it is prepared"] if mode["deploy_as_prepared"] else []))
