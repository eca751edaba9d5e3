"""What all entities have in common: how one is filled from a record, and written."""

import json
from functools import cache
from typing import Any, Self

import msgspec

from shipyard_api.api.entities.types import Write


class Entity(msgspec.Struct):
    """An object of the REST API.

    Its docstring is its description in the OpenAPI document, where two backquotes around a field and a colon begin that
    of the field. A field that a release added has a default: what its absence means in the answer of an older server.
    """

    @classmethod
    def of(cls, *records: object, **more: object) -> Self:
        """Return the entity of records: a field is that of the first which has one; ``more``: the other fields."""
        for name, write in _fields(cls):
            if name not in more:
                record = next((record for record in records if hasattr(record, name)), records[0])
                more[name] = write(getattr(record, name))
        return cls(**more)


@cache
def _fields(kind: type[Entity]) -> tuple[tuple[str, Write], ...]:
    """Return the name of each field, and what turns the attribute of a record into its value."""
    from msgspec import inspect, structs  # the command line fills no entity

    types = inspect.multi_type_info([field.type for field in structs.fields(kind)])
    return tuple((name, _writer(known)) for name, known in zip(kind.__struct_fields__, types, strict=True))


def _writer(known: Any) -> Write:
    from msgspec import inspect  # the command line fills no entity

    match known:
        case inspect.Metadata(extra={"write": write}):
            return write  # type: ignore[no-any-return]  # a function: see types
        case inspect.Metadata(type=inner):
            return _writer(inner)
        case inspect.StructType(cls=entity) if issubclass(entity, Entity):
            return entity.of
        case inspect.ListType(item_type=item):
            write_item = _writer(item)
            return lambda values: [write_item(value) for value in values]
        case inspect.UnionType(types=(value, inspect.NoneType())):
            write_value = _writer(value)
            return lambda optional: None if optional is None else write_value(optional)
    return _as_it_is


def _as_it_is(value: object) -> object:
    return value


def encoded(answer: object) -> bytes:
    """Return an answer as JSON: an entity, or what has entities in it, as the framework would write it."""
    return json.dumps(answer, ensure_ascii=False, default=msgspec.to_builtins).encode()
