"""JSON as it comes from documents, rows and peers: what it may be is looked at, and what it lacks is nothing."""

from collections.abc import Mapping
from typing import Any, TypeGuard

JsonObject = Mapping[str, Any]
"""A JSON object whose shape is known elsewhere: a schema, a codec, or the peer."""


def member(value: object, *path: str) -> Any:
    """Return what stands at the path of keys below a value; None where a key is missing, or a value is no object."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def objects(value: object) -> list[JsonObject]:
    """Return the objects of a list; what is no list has none."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Return the texts of a list; what is no list has none."""
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def are_texts(value: object) -> TypeGuard[list[str]]:
    """Return whether a value is a list of nothing but texts."""
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
