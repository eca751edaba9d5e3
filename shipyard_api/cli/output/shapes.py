"""Reading the JSON of an answer. A wrong shape is the server's fault and raises ShapeError; anything else is a bug."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from shipyard_api.cli.errors import ShapeError, UnreadableError

JsonObject = Mapping[str, Any]
Entity = TypeVar("Entity")


def parse_json(text: str) -> Any:
    """Return the text's JSON. Raises UnreadableError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("not JSON, or nested too deeply") from error


def decode(text: str, kind: type[Entity]) -> Entity:
    """Return the entity in a text. Raises UnreadableError, ShapeError."""
    return as_entity(parse_json(text), kind)


def as_entity(value: object, kind: type[Entity]) -> Entity:
    """Return the entity in a value; fields that this release does not know are left out."""
    from msgspec import ValidationError, convert

    try:
        return convert(value, kind)
    except ValidationError as error:
        raise ShapeError(str(error)) from error


def parse_object(text: str) -> JsonObject:
    """Return the text's JSON object. Raises UnreadableError, ShapeError."""
    return as_object(parse_json(text), "the body")


def parse_objects(text: str) -> Sequence[JsonObject]:
    """Return the objects of the text's JSON list. Raises UnreadableError, ShapeError."""
    return as_objects(parse_json(text), "the body")


def as_object(value: Any, name: str) -> JsonObject:
    """Return the value, which must be an object; ``name`` is what the error calls it."""
    if not isinstance(value, dict):
        raise ShapeError(f"{name} is not an object")
    return value


def as_objects(value: Any, name: str) -> Sequence[JsonObject]:
    """Return the value, which must be a list of objects."""
    if not (isinstance(value, list) and all(isinstance(item, dict) for item in value)):
        raise ShapeError(f"{name} is not a list of objects")
    return value


def required(entity: JsonObject, key: str) -> Any:
    """Return the value of a key that the object must have."""
    if key not in entity:
        raise ShapeError(f"{key} is missing")
    return entity[key]


def object_at(entity: JsonObject, key: str) -> JsonObject:
    """Return the object below a key; empty where it is null or absent."""
    return as_object(entity.get(key) or {}, key)


def objects_at(entity: JsonObject, key: str) -> Sequence[JsonObject]:
    """Return the list of objects below a key; empty where it is null or absent."""
    return as_objects(entity.get(key) or [], key)


def list_at(entity: JsonObject, key: str) -> Sequence[Any]:
    """Return the list below a key; empty where it is null or absent."""
    value = entity.get(key) or []
    if not isinstance(value, list):
        raise ShapeError(f"{key} is not a list")
    return value


def counts_at(entity: JsonObject, key: str) -> Mapping[str, int]:
    """Return the numbers by name below a key; empty where it is null or absent."""
    value = object_at(entity, key)
    if not all(isinstance(number, int) for number in value.values()):
        raise ShapeError(f"{key} holds something other than numbers")
    return value
