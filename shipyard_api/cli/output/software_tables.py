"""Tasks, roles, tags and the nodes that have them, as tables. Pure."""

from collections.abc import Sequence

from shipyard_api.cli.output.printout import Printout, TextTable, table
from shipyard_api.cli.output.shapes import (
    JsonObject,
    as_objects,
    list_at,
    object_at,
    parse_json,
    parse_object,
    required,
)


def tasks(text: str) -> Sequence[JsonObject]:
    """Return the tasks of an answer."""
    return as_objects(parse_json(text), "the body")


def tags(text: str) -> Printout:
    """Return a line for each tag."""
    return Printout([_tags(as_objects(parse_json(text), "the body"))])


def tag(text: str) -> Printout:
    """Return a tag as a table of one line."""
    return Printout([_tags([parse_object(text)])])


def roles(text: str) -> Printout:
    """Return a line for each role."""
    return Printout([_roles(as_objects(parse_json(text), "the body"))])


def role(text: str) -> Printout:
    """Return a role as a table of one line."""
    return Printout([_roles([parse_object(text)])])


def nodes(text: str) -> Printout:
    """Return a line for each node."""
    return Printout([_nodes(as_objects(parse_json(text), "the body"))])


def node(text: str) -> Printout:
    """Return a node as a table of one line."""
    return Printout([_nodes([parse_object(text)])])


def findings(text: str) -> Printout:
    """Return a line for each finding of the tag check."""
    findings_found = as_objects(parse_json(text), "the body")
    if not findings_found:
        return Printout(["Every predefined tag is on a node."])
    return Printout(
        [
            table(
                [(finding.get("level"), finding.get("message")) for finding in findings_found],
                ("Level", "Message"),
                gap=4,
            )
        ]
    )


def _tags(tags: Sequence[JsonObject]) -> TextTable:
    listed = any("owner" in tag for tag in tags)
    rows = [
        (required(tag, "name"), _primary(tag), *((tag.get("owner"), _yes(tag.get("predefined"))) if listed else ()))
        for tag in tags
    ]
    return table(rows, ("Tag", "Primary", *(("Owner", "Predefined") if listed else ())), gap=4)


def _roles(roles: Sequence[JsonObject]) -> TextTable:
    listed = any("owner" in role for role in roles)
    rows = [
        (
            required(role, "name"),
            ", ".join(map(str, list_at(object_at(role, "meta"), "tags"))),
            _primary(role),
            *((role.get("owner"),) if listed else ()),
        )
        for role in roles
    ]
    return table(rows, ("Role", "Tags", "Primary", *(("Owner",) if listed else ())), gap=4)


def _nodes(nodes: Sequence[JsonObject]) -> TextTable:
    rows = [
        (
            f"node/{required(node, 'name')}",
            node.get("id"),
            node.get("status"),
            ", ".join(map(str, list_at(node, "roles"))),
            ", ".join(map(str, list_at(node, "tags"))),
        )
        for node in nodes
    ]
    return table(rows, ("Node", "Id", "Status", "Roles", "Tags"), gap=4)


def _primary(role: JsonObject) -> str:
    return _yes(object_at(role, "meta").get("has_primary"))


def _yes(value: object) -> str:
    return "yes" if value is True else "no"
