"""The items of an answer as ``-o name`` prints them and other commands take them: ``action/ID``, ``node/NAME``."""

from collections.abc import Iterator
from typing import Any

from shipyard_api.cli.errors import ShapeError
from shipyard_api.cli.output.shapes import JsonObject, as_object, as_objects, parse_json

# The key that marks an item, the key of its name, and the word before the name; the first that fits counts.
_ITEMS = (
    ("workflow_id", "workflow_id", "workflow"),
    ("collection_name", "collection_name", "configdocs"),
    ("dag_status", "id", "action"),
    ("hostname", "hostname", "node"),
    ("groups", "name", "node"),
    ("placed_by", "id", "hold"),
    ("stored_by", "id", "plan"),
)
# Lists below a key; the report of an action has its action there.
_LISTS = ("nodes", "holds", "plans", "nodes_provision_status", "machines_powerstate")


def names(text: str) -> str:
    """Return a line for each item, in order, each once. Raises UnreadableError and ShapeError."""
    return "\n".join(dict.fromkeys(_names(parse_json(text))))


def _names(body: Any) -> Iterator[str]:
    if isinstance(body, list):
        items = as_objects(body, "the body")
    elif isinstance(body.get("action") if isinstance(body, dict) else None, dict):
        items = [body["action"]]
    else:
        entity = as_object(body, "the body")
        lists = [key for key in _LISTS if key in entity]
        items = [item for key in lists for item in as_objects(entity[key], key)] if lists else [entity]
    yield from map(_name, items)


def _name(item: JsonObject) -> str:
    for mark, key, word in _ITEMS:
        if mark in item and key in item:
            return f"{word}/{item[key]}"
    raise ShapeError("it has no names; use -o json")
