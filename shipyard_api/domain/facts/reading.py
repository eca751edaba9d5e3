"""Read the parts of a stored fact. Each function raises Malformed where the part is not what this release writes."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName

E = TypeVar("E", bound=Enum)


class Malformed(ValueError):
    """A stored fact does not have the form of its kind and version."""

    def __init__(self, key: str, found: Any) -> None:
        super().__init__(f"{key}: unexpected {type(found).__name__}")


def text(stored: JsonObject, key: str, default: str | None = None) -> str:
    """Return a string; ``default`` is for stored facts of the time before the part."""
    value = stored.get(key, default)
    if not isinstance(value, str):
        raise Malformed(key, value)
    return value


def number(stored: JsonObject, key: str, default: int | None = None) -> int:
    """Return a whole number; ``default`` as for ``text``."""
    value = stored.get(key, default)
    if not isinstance(value, int):
        raise Malformed(key, value)
    return value


def seconds(stored: JsonObject, key: str) -> float:
    """Return a duration."""
    value = stored.get(key)
    if not isinstance(value, int | float):
        raise Malformed(key, value)
    return value


def mapping(stored: JsonObject, key: str) -> JsonObject:
    """Return an object; an absent one is empty."""
    value = stored.get(key, {})
    if not isinstance(value, Mapping):
        raise Malformed(key, value)
    return value


def objects(stored: JsonObject, key: str) -> tuple[JsonObject, ...]:
    """Return a list of objects; an absent one is empty."""
    value = stored.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise Malformed(key, value)
    return tuple(value)


def texts(stored: JsonObject, key: str) -> tuple[str, ...]:
    """Return a list of strings; an absent one is empty."""
    value = stored.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Malformed(key, value)
    return tuple(value)


def nodes(stored: JsonObject, key: str = "nodes") -> tuple[NodeName, ...]:
    """Return names of nodes; an absent list is empty."""
    return tuple(map(NodeName, texts(stored, key)))


def choice(words: type[E], stored: JsonObject, key: str) -> E:
    """Return a word of an enum."""
    return word(words, stored.get(key), key)


def word(words: type[E], value: Any, key: str) -> E:
    """Return a value as a word of an enum."""
    try:
        return words(value)
    except ValueError as error:
        raise Malformed(key, value) from error
