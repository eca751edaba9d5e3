"""Commands about roles and tags, and about the nodes that have them (seed 002, Fuel Client)."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from shipyard_api.cli.commands.request import path_segment
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.commands.tasks import show_software, tasks_of
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import software_tables
from shipyard_api.cli.output.printout import Printout
from shipyard_api.domain.node_sets import InvalidNodeSet, expand

_ID = click.IntRange(1)
_PRIMARY = "Whether one of its nodes is the primary."

_Command = Callable[..., Any]

_primary = click.option("--primary/--no-primary", "has_primary", default=False, show_default=True, help=_PRIMARY)
_required_primary = click.option("--primary/--no-primary", "has_primary", required=True, help=f"{_PRIMARY} (required)")


def _tags(does: str) -> Callable[[_Command], _Command]:
    tag = click.option("--tag", "tags", multiple=True, help=f"A tag that it gives its nodes{does} (repeatable)")
    task = click.option("--task", "tasks", multiple=True, help=f"A task that runs on its nodes{does} (repeatable)")
    return lambda command: tag(task(_primary(command)))


def _owned(command: _Command) -> _Command:
    """Add the options that name a release or a cluster, by default the site; the command gets its path."""

    @click.option("--cluster", type=_ID, help="A cluster. (default: 1, the site)")
    @click.option("--release", type=_ID, help="A release, instead of a cluster.")
    @click.pass_obj
    @wraps(command)
    def with_owner(options: GlobalOptions, /, cluster: int | None, release: int | None, **fields: Any) -> None:
        if cluster and release:
            raise click.UsageError("Give --cluster or --release, not both.")
        command(options, owner=f"releases/{release}" if release else f"clusters/{cluster or 1}", **fields)

    return with_owner


def _add_label_commands(
    group: click.Group,
    printout_of: Callable[[str], Printout],
    many: Callable[[str], Printout],
    *,
    create: tuple[str, Callable[[_Command], _Command]],
    change: tuple[str, Callable[[_Command], _Command]],
    docs: Sequence[str],
) -> None:
    """Add the commands that list, create, change and delete the labels of a group, which has their name.

    ``create``, ``change``: the example of the command, and the options that are the ``meta`` of a label. ``docs``: the
    help of change and delete. ``printout_of``, ``many``: the table of a label, and of a list.
    """
    word = str(group.name)

    def command(verb: str, does: str, text: str, *lines: str) -> Callable[[_Command], click.Command]:
        epilog = examples(*(f"shipyard {word} {verb} {line}".rstrip() for line in lines))
        return group.command(verb, short_help=f"{does} {word}{'s' * (verb == 'list')}.", help=text, epilog=epilog)

    name = click.argument("name")

    @command(
        "list",
        "List",
        f"List the {word}s of the site, those of its release included, or of one release.",
        "",
        "--release 1",
    )
    @_owned
    def _(options: GlobalOptions, /, owner: str) -> None:
        show_software(options, lambda api: api.get(f"{owner}/{word}s"), cli=many)

    @command("create", "Create a", f"Create the {word} NAME for the site, or for a release.", create[0])
    @name
    @create[1]
    @_owned
    def _(options: GlobalOptions, /, owner: str, name: str, **meta: Any) -> None:
        body = {"name": name, "meta": meta}
        show_software(options, lambda api: api.post(f"{owner}/{word}s", json=body), expected=201, cli=printout_of)

    @command("set", "Change a", docs[0], change[0])
    @name
    @change[1]
    @_owned
    def _(options: GlobalOptions, /, owner: str, name: str, **meta: Any) -> None:
        path = f"{owner}/{word}s/{path_segment(name)}"
        show_software(options, lambda api: api.put(path, {"meta": meta}), cli=printout_of)

    @command("delete", "Delete a", docs[1], create[0].split()[0])
    @name
    @_owned
    def _(options: GlobalOptions, /, owner: str, name: str) -> None:
        path, done = f"{owner}/{word}s/{path_segment(name)}", f"{word.capitalize()} {name} is deleted."
        show_software(options, lambda api: api.delete(path), expected=204, cli=lambda _: done)


@click.group(
    short_help="Create tags, and assign them to nodes.",
    epilog=examples("shipyard tag list", "shipyard tag assign compute11 mysql rabbitmq"),
)
def tag() -> None:
    """Manage the tags that place tasks on nodes."""


_add_label_commands(
    tag,
    software_tables.tag,
    software_tables.tags,
    create=("swift --primary", _primary),
    change=("swift --no-primary", _required_primary),
    docs=(
        "Change the tag NAME. Predefined tags belong to their release and cannot change.",
        "Delete the tag NAME. A tag that a node has, and a predefined one, cannot be deleted.",
    ),
)


@tag.command("assign", short_help="Assign tags to a node.", epilog=examples("shipyard tag assign compute11 mysql"))
@click.argument("node")
@click.argument("tags", metavar="TAG...", nargs=-1, required=True)
@click.pass_obj
def assign_tags(options: GlobalOptions, /, node: str, tags: tuple[str, ...]) -> None:
    """Assign the tags TAG to the node NODE. `mysql:2` is an instance of the tag mysql."""
    path = f"nodes/{path_segment(node.removeprefix('node/'))}/tags"
    show_software(options, lambda api: api.post(path, json=list(tags)), cli=software_tables.node)


@tag.command("unassign", short_help="Take tags from a node.", epilog=examples("shipyard tag unassign compute11 mysql"))
@click.argument("node")
@click.argument("tags", metavar="TAG...", nargs=-1, required=True)
@click.pass_obj
def unassign_tags(options: GlobalOptions, /, node: str, tags: tuple[str, ...]) -> None:
    """Take the tags TAG from the node NODE, also those that it has by its roles."""
    path, query = f"nodes/{path_segment(node.removeprefix('node/'))}/tags", [("tags", ",".join(tags))]
    show_software(
        options,
        lambda api: api.delete(path, query),
        expected=204,
        cli=lambda _: f"{node} has no longer: {', '.join(tags)}",
    )


@tag.command("check", short_help="List predefined tags that no node has.", epilog=examples("shipyard tag check"))
@click.pass_obj
def check_tags(options: GlobalOptions, /) -> None:
    """List predefined tags of the site that no node has: those of roles in use as warnings."""
    show_software(options, lambda api: api.get("clusters/1/tag_check"), cli=software_tables.findings)


@click.group(
    short_help="Create roles, and assign them to nodes.",
    epilog=examples("shipyard role list", "shipyard role assign compute11 controller"),
)
def role() -> None:
    """Manage the roles that give nodes their tags."""


_add_label_commands(
    role,
    software_tables.role,
    software_tables.roles,
    create=("db --tag mysql", _tags(".")),
    change=("db --tag mysql --tag rabbitmq", _tags("; the others go.")),
    docs=(
        "Change the tags and tasks of the role NAME: for the site, also of a role of its release, or for a release. "
        "Nodes that have the role already keep their tags.",
        "Delete the role NAME. A role that a node has cannot be deleted.",
    ),
)


@role.command(
    "assign",
    short_help="Give nodes their roles.",
    epilog=examples("shipyard role assign compute11 controller db", "shipyard role assign compute[11-14] compute"),
)
@click.argument("nodes", metavar="NODES")
@click.argument("roles", metavar="ROLE...", nargs=-1, required=True)
@click.pass_obj
def assign_roles(options: GlobalOptions, /, nodes: str, roles: tuple[str, ...]) -> None:
    """Give each of NODES, comma-separated, exactly the roles ROLE, with their tags.

    Tags that only removed roles gave go with them; tags that you assigned stay.
    """
    try:
        names = expand([nodes])
    except InvalidNodeSet as error:
        raise click.UsageError(f"NODES: {error}") from error
    body = [{"id": name.removeprefix("node/"), "roles": list(roles)} for name in names]
    show_software(
        options,
        lambda api: api.post("clusters/1/assignment", json=body),
        cli=lambda _: f"{nodes} {'has' if len(names) == 1 else 'have'} the roles: {', '.join(roles)}",
    )


@role.command("unassign", short_help="Take all roles from a node.", epilog=examples("shipyard role unassign compute11"))
@click.argument("node")
@click.pass_obj
def unassign_roles(options: GlobalOptions, /, node: str) -> None:
    """Take all roles and all tags from the node NODE."""
    body = [{"id": node.removeprefix("node/")}]
    show_software(
        options,
        lambda api: api.post("clusters/1/unassignment", json=body),
        cli=lambda _: f"{node} has no roles and no tags.",
    )


@click.group(
    short_help="Manage the tasks of the site, and list its nodes.",
    epilog=examples("shipyard cluster tasks download", "shipyard cluster nodes"),
)
def cluster() -> None:
    """Manage the tasks of the site, and list its nodes with their roles and tags."""


@cluster.command("nodes", short_help="List nodes with their roles and tags.", epilog=examples("shipyard cluster nodes"))
@click.pass_obj
def list_nodes(options: GlobalOptions, /) -> None:
    """List the nodes of the committed design with their ids, roles and tags."""
    show_software(options, lambda api: api.get("nodes"), cli=software_tables.nodes)


cluster.add_command(tasks_of("cluster"))
