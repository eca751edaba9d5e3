"""JSON from documents, rows and peers, and how to read it without a schema."""

from collections.abc import Mapping
from typing import Any, TypeGuard

JsonObject = Mapping[str, Any]
"""A JSON object whose shape is known elsewhere: a schema, a codec, or the peer."""


def member(value: object, *path: str) -> Any:
    """Return the value at a path of keys; None if a key is missing, or a value on the way is no object."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def objects(value: object) -> list[JsonObject]:
    """Return the objects in a list; none if the value is no list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Return the texts in a list; none if the value is no list."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def are_texts(value: object) -> TypeGuard[list[str]]:
    """Return whether a value is a list that has only texts."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
