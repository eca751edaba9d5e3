"""Commands about roles and tags, and about the nodes that have them (seed 002, Fuel Client)."""

from collections.abc import Callable
from typing import Any

import click

from shipyard_api.cli.commands.request import path_segment
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.commands.tasks import show_software, tasks_of
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import software_tables
from shipyard_api.node_sets import InvalidNodeSet, expand

_ID = click.IntRange(1)
_PRIMARY = "Whether one of its nodes is the primary."

_Command = Callable[..., Any]


def _owner(command: _Command) -> _Command:
    """Add the options that name a release or a cluster; the default is the site."""
    command = click.option("--release", type=_ID, help="A release, instead of a cluster.")(command)
    return click.option("--cluster", type=_ID, help="A cluster. (default: 1, the site)")(command)


def _path(labels: str, cluster: int | None, release: int | None, name: str = "") -> str:
    if cluster and release:
        raise click.UsageError("Give --cluster or --release, not both.")
    owner = f"releases/{release}" if release else f"clusters/{cluster or 1}"
    return f"{owner}/{labels}" + (f"/{path_segment(name)}" if name else "")


@click.group(
    short_help="Create tags, and assign them to nodes.",
    epilog=examples("shipyard tag list", "shipyard tag assign compute11 mysql rabbitmq"),
)
def tag() -> None:
    """Manage the tags that place tasks on nodes."""


@tag.command("list", short_help="List tags.", epilog=examples("shipyard tag list", "shipyard tag list --release 1"))
@_owner
@click.pass_obj
def list_tags(options: GlobalOptions, /, cluster: int | None, release: int | None) -> None:
    """List the tags of the site, those of its release included, or of one release."""
    path = _path("tags", cluster, release)
    show_software(options, lambda api: api.get(path), expected=200, cli=software_tables.tags)


@tag.command("create", short_help="Create a tag.", epilog=examples("shipyard tag create swift --primary"))
@click.argument("name")
@click.option("--primary/--no-primary", default=False, show_default=True, help=_PRIMARY)
@_owner
@click.pass_obj
def create_tag(options: GlobalOptions, /, name: str, primary: bool, cluster: int | None, release: int | None) -> None:
    """Create the tag NAME for the site, or for a release."""
    path, body = _path("tags", cluster, release), {"name": name, "meta": {"has_primary": primary}}
    show_software(options, lambda api: api.post(path, json=body), expected=201, cli=software_tables.tag)


@tag.command("set", short_help="Change a tag.", epilog=examples("shipyard tag set swift --no-primary"))
@click.argument("name")
@click.option("--primary/--no-primary", required=True, help=f"{_PRIMARY} (required)")
@_owner
@click.pass_obj
def set_tag(options: GlobalOptions, /, name: str, primary: bool, cluster: int | None, release: int | None) -> None:
    """Change the tag NAME. Predefined tags belong to their release and cannot change."""
    path, body = _path("tags", cluster, release, name), {"meta": {"has_primary": primary}}
    show_software(options, lambda api: api.put(path, body), expected=200, cli=software_tables.tag)


@tag.command("delete", short_help="Delete a tag.", epilog=examples("shipyard tag delete swift"))
@click.argument("name")
@_owner
@click.pass_obj
def delete_tag(options: GlobalOptions, /, name: str, cluster: int | None, release: int | None) -> None:
    """Delete the tag NAME. A tag that a node has, and a predefined one, cannot be deleted."""
    path = _path("tags", cluster, release, name)
    show_software(options, lambda api: api.delete(path), expected=204, cli=lambda _: f"Tag {name} is deleted.")


@tag.command("assign", short_help="Assign tags to a node.", epilog=examples("shipyard tag assign compute11 mysql"))
@click.argument("node")
@click.argument("tags", metavar="TAG...", nargs=-1, required=True)
@click.pass_obj
def assign_tags(options: GlobalOptions, /, node: str, tags: tuple[str, ...]) -> None:
    """Assign the tags TAG to the node NODE. `mysql:2` is an instance of the tag mysql."""
    path = f"nodes/{path_segment(node.removeprefix('node/'))}/tags"
    show_software(options, lambda api: api.post(path, json=list(tags)), expected=200, cli=software_tables.node)


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
    show_software(options, lambda api: api.get("clusters/1/tag_check"), expected=200, cli=software_tables.findings)


@click.group(
    short_help="Create roles, and assign them to nodes.",
    epilog=examples("shipyard role list", "shipyard role assign compute11 controller"),
)
def role() -> None:
    """Manage the roles that give nodes their tags."""


@role.command("list", short_help="List roles.", epilog=examples("shipyard role list", "shipyard role list --release 1"))
@_owner
@click.pass_obj
def list_roles(options: GlobalOptions, /, cluster: int | None, release: int | None) -> None:
    """List the roles of the site, those of its release included, or of one release."""
    path = _path("roles", cluster, release)
    show_software(options, lambda api: api.get(path), expected=200, cli=software_tables.roles)


@role.command("create", short_help="Create a role.", epilog=examples("shipyard role create db --tag mysql"))
@click.argument("name")
@click.option("--tag", "tags", multiple=True, help="A tag that it gives its nodes. (repeatable)")
@click.option("--primary/--no-primary", default=False, show_default=True, help=_PRIMARY)
@_owner
@click.pass_obj
def create_role(
    options: GlobalOptions,
    /,
    name: str,
    tags: tuple[str, ...],
    primary: bool,
    cluster: int | None,
    release: int | None,
) -> None:
    """Create the role NAME for the site, or for a release."""
    path, body = _path("roles", cluster, release), {"name": name, "meta": {"tags": list(tags), "has_primary": primary}}
    show_software(options, lambda api: api.post(path, json=body), expected=201, cli=software_tables.role)


@role.command("set", short_help="Change a role.", epilog=examples("shipyard role set db --tag mysql --tag rabbitmq"))
@click.argument("name")
@click.option("--tag", "tags", multiple=True, help="A tag that it gives its nodes; the others go. (repeatable)")
@click.option("--primary/--no-primary", default=False, show_default=True, help=_PRIMARY)
@_owner
@click.pass_obj
def set_role(
    options: GlobalOptions,
    /,
    name: str,
    tags: tuple[str, ...],
    primary: bool,
    cluster: int | None,
    release: int | None,
) -> None:
    """Change the tags of the role NAME. Nodes that have the role already keep their tags."""
    path, body = _path("roles", cluster, release, name), {"meta": {"tags": list(tags), "has_primary": primary}}
    show_software(options, lambda api: api.put(path, body), expected=200, cli=software_tables.role)


@role.command("delete", short_help="Delete a role.", epilog=examples("shipyard role delete db"))
@click.argument("name")
@_owner
@click.pass_obj
def delete_role(options: GlobalOptions, /, name: str, cluster: int | None, release: int | None) -> None:
    """Delete the role NAME. A role that a node has cannot be deleted."""
    path = _path("roles", cluster, release, name)
    show_software(options, lambda api: api.delete(path), expected=204, cli=lambda _: f"Role {name} is deleted.")


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
        expected=200,
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
        expected=200,
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
    show_software(options, lambda api: api.get("nodes"), expected=200, cli=software_tables.nodes)


cluster.add_command(tasks_of("cluster"))
