"""The stored form of states, effects and inputs: that of their fields (ADR 0038)."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Self

from msgspec import convert

from shipyard_api.domain.json_types import JsonObject

Number = int | float
"""A number that is written as it was read: 5 does not become 5.0."""


class ByFields:
    """A frozen dataclass that is stored by its fields; a NamedTuple in it is a list.

    ``STORED_VERSION`` is written under ``v``. ``FIRST``: the fields that are written before the others, in this order.
    ``OPTIONAL``: those that are left out while they are empty.
    """

    __slots__ = ()
    STORED_VERSION: ClassVar[int | None] = None
    FIRST: ClassVar[tuple[str, ...]] = ()
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        kind: Any = type(self)
        version = {} if kind.STORED_VERSION is None else {"v": kind.STORED_VERSION}
        values = ((name, getattr(self, name)) for name in _names(kind))
        return version | {name: _written(value) for name, value in values if value or name not in kind.OPTIONAL}

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the value from its stored form; raises ``msgspec.ValidationError``."""
        return convert(stored, cls)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*kind.FIRST, *(field.name for field in fields(kind)))))


def _written(value: Any) -> Any:
    match value:
        case None | str() | bool() | int() | float():
            return value
        case ByFields():
            return value.to_json()
        case Enum():
            return value.value
        case datetime():
            return value.isoformat()
        case frozenset():
            return sorted(value)
        case tuple() | list():
            return [_written(item) for item in value]
        case Mapping():
            return {_written(key): _written(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} has no stored form")
