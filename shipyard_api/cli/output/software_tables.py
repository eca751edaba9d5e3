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
    found = as_objects(parse_json(text), "the body")
    if not found:
        return Printout(["Every predefined tag is on a node."])
    return Printout([table([(one.get("level"), one.get("message")) for one in found], ("Level", "Message"), gap=4)])


def _tags(found: Sequence[JsonObject]) -> TextTable:
    listed = any("owner" in one for one in found)
    rows = [
        (required(one, "name"), _primary(one), *((one.get("owner"), _yes(one.get("predefined"))) if listed else ()))
        for one in found
    ]
    return table(rows, ("Tag", "Primary", *(("Owner", "Predefined") if listed else ())), gap=4)


def _roles(found: Sequence[JsonObject]) -> TextTable:
    listed = any("owner" in one for one in found)
    rows = [
        (
            required(one, "name"),
            ", ".join(map(str, list_at(object_at(one, "meta"), "tags"))),
            _primary(one),
            *((one.get("owner"),) if listed else ()),
        )
        for one in found
    ]
    return table(rows, ("Role", "Tags", "Primary", *(("Owner",) if listed else ())), gap=4)


def _nodes(found: Sequence[JsonObject]) -> TextTable:
    rows = [
        (
            f"node/{required(one, 'name')}",
            one.get("id"),
            one.get("status"),
            ", ".join(map(str, list_at(one, "roles"))),
            ", ".join(map(str, list_at(one, "tags"))),
        )
        for one in found
    ]
    return table(rows, ("Node", "Id", "Status", "Roles", "Tags"), gap=4)


def _primary(found: JsonObject) -> str:
    return _yes(object_at(found, "meta").get("has_primary"))


def _yes(value: object) -> str:
    return "yes" if value is True else "no"
