"""Commands about holds: hold a node, release a hold, list holds."""

import json
from collections.abc import Sequence
from dataclasses import replace

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import ItemGroup, check_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import hold_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.shapes import JsonObject, parse_object
from shipyard_api.domain.node_sets import InvalidNodeSet, expand, is_node_set

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_MOST = 100  # nodes: as many writes at once as a server takes unless it is configured otherwise
_CLASSES = ("all", "no-deployment", "no-teardown", "no-alerts", "no-criteria")
_KINDS = ("operator", "maintenance", "hardware")


class HoldGroup(ItemGroup):
    """The group ``hold``, which accepts ``node/NAME`` in place of its command."""

    items = {"node": [("node/node name", lambda node: [node])]}  # noqa: RUF012 - a class attribute, as in click's own groups


class ReleaseGroup(ItemGroup):
    """The group ``release``, which accepts ``hold/ID`` in place of its command."""

    items = {"hold": [("hold/hold id", lambda hold: [hold])]}  # noqa: RUF012 - a class attribute, as in click's own groups


@click.group(
    cls=HoldGroup,
    short_help="Hold a node, so that no action touches it.",
    epilog=examples("shipyard hold node compute11 --reason 'replacing the disk'"),
)
def hold() -> None:
    """Hold a node, so that no action touches it; `shipyard hold node/NAME` is the same."""


@click.command(
    "node",
    short_help="Hold a node, so that no action touches it.",
    epilog=examples(
        "shipyard hold node compute11 --reason 'replacing the disk'",
        "shipyard hold node/compute11 --reason 'memory test' --kind hardware --until PT4H",
        "shipyard hold node 'r3n[1-20]' --reason 'work on the power of the rack'",
        "shipyard hold node/compute11 --reason 'its disks have data' --class no-teardown",
    ),
)
@click.argument("name")
@click.option("--reason", required=True, help="Why the node must be left alone. (required)")
@click.option(
    "--kind", type=click.Choice(_KINDS), default="operator", show_default=True, help="The kind of hold, for lists."
)
@click.option(
    "--class",
    "hold_class",
    type=click.Choice(_CLASSES),
    default="all",
    show_default=True,
    help="Work that the node is protected from; no-alerts and no-criteria forbid none.",
)
@click.option("--until", metavar="TIME", help="End the hold by itself: 2026-11-21T12:00:00Z, P1D, PT4H.")
@click.pass_obj
def hold_node(options: GlobalOptions, /, name: str, reason: str, kind: str, hold_class: str, until: str | None) -> None:
    """Hold the node NAME: from now on, nothing is submitted for it. NAME may be a node set, such as r3n[1-20].

    Class no-deployment keeps preparations, deployments and services from it, and no-teardown drains and destructions.
    Two classes protect no node: with no-alerts the node does not count in the alerts for failed and late nodes, and
    with no-criteria it is neither a success nor a failure when groups, waves and budgets are judged.

    An action that would touch the node is refused. A running one fails the node and goes on with the others. What was
    submitted before goes on, and is listed. A node can have several holds.
    """
    limited = {"class": hold_class.replace("-", "_")} if hold_class != _CLASSES[0] else {}
    body = {"reason": reason, "kind": kind, **limited, **({"until": until} if until else {})}
    name = name.removeprefix("node/")
    if not is_node_set(name):
        path = f"nodes/{path_segment(name)}/holds"
        show(options, lambda api: api.post(path, json=body), expected=201, cli=hold_tables.placed)
        return
    try:
        names = expand([name])
    except InvalidNodeSet as error:
        raise click.UsageError(f"NAME: {error}.") from error
    if len(names) > _MOST:
        raise click.UsageError(f"NAME expands to {len(names)} nodes; hold at most {_MOST} at a time.")
    show(options, lambda api: _each(api, names, body), expected=201, cli=hold_tables.placed)


def _each(api: Api, names: Sequence[str], body: JsonObject) -> Answer:
    """Return new holds on nodes as one answer; the first error ends it. A repetition places no hold twice."""
    answers: list[Answer] = []
    for name in names:
        answers.append(api.post(f"nodes/{path_segment(name)}/holds", json=body))
        if answers[-1].status != 201:
            if held := names[: len(answers) - 1]:
                click.echo(f"Held until then: {listed(held)}", err=True)
            return answers[-1]
    return replace(answers[-1], text=json.dumps({"holds": [parse_object(answer.text) for answer in answers]}))


@click.group(
    cls=ReleaseGroup,
    short_help="Release a hold on a node; manage the tasks of a release.",
    epilog=examples(f"shipyard release hold/{_ID}", "shipyard release tasks download"),
)
def release() -> None:
    """Release a hold on a node (`shipyard release hold/ID` is the same), or manage the tasks of a software release."""


@click.command(
    "hold",
    short_help="Release a hold on a node.",
    epilog=examples(f"shipyard release hold {_ID}", f"shipyard release hold/{_ID}"),
)
@click.argument("hold_id")
@click.pass_obj
def release_hold(options: GlobalOptions, /, hold_id: str) -> None:
    """Release the hold HOLD_ID, as `shipyard get holds` lists it. Other holds on the node stay."""
    path = f"holds/{check_id(hold_id.removeprefix('hold/'), kind='hold')}"
    show(options, lambda api: api.delete(path), cli=hold_tables.released)


@click.command(
    "holds",
    short_help="List the holds on nodes.",
    epilog=examples("shipyard get holds", "shipyard get holds compute11 --ended"),
)
@click.argument("names", metavar="[NODE]...", nargs=-1)
@click.option("--ended", is_flag=True, help="List the newest 1,000 holds, released and expired ones too.")
@click.pass_obj
def get_holds(options: GlobalOptions, /, names: tuple[str, ...], ended: bool) -> None:
    """List the active holds, on all nodes or on the nodes NODE."""
    query = [("node", name.removeprefix("node/")) for name in names] + ([("ended", "true")] if ended else [])
    show(options, lambda api: api.get("holds", query), cli=hold_tables.holds)


hold.add_command(hold_node)
release.add_command(release_hold)
