"""The stored form of states, effects and inputs: that of their fields (ADR 0038)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args, get_type_hints

from msgspec import Struct, convert
from msgspec.structs import fields, replace

from shipyard_api.domain.json_types import JsonObject

Number = int | float
"""A number that is written as it was read: 5 does not become 5.0."""

Form = Callable[[Any], Any]
"""Writes a field that has a form of its own, or reads it."""

Value = TypeVar("Value")


def _always(_value: object) -> bool:
    return True


class Since(Struct, Generic[Value], frozen=True):
    """What a version of a stored form added, and whether a value has it: a form of an older version cannot say it."""

    version: int
    added: str
    is_in: Callable[[Value], bool] = _always


def least_version(versions: Sequence[Since[Value]], value: Value) -> int:
    """Return the least version that a value needs, so that a worker of an older release goes on with it if it can."""
    return max(since.version for since in versions if since.is_in(value))


class ByFields:
    """A struct that is stored by its fields; a NamedTuple in it is a list.

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
    return tuple(dict.fromkeys((*kind.FIRST, *kind.__struct_fields__)))


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


class Flat(ByFields):
    """A value with parts whose fields are stored beside its own, so that all of them are one object.

    ``PARTS``: the fields that are such parts, and a name that the stored form has only with the part; empty if it
    always has it. A part is None where that is missing. ``GROUPS``: an object of the stored form, and the fields in it.
    ``FORMS``: how fields are written and read that have a form of their own. ``UNSTORED``: fields that are left out.
    ``SPARSE``: the same of all that are None. A field at its default is left out too if it is ``OPTIONAL``.
    """

    __slots__ = ()
    PARTS: ClassVar[Mapping[str, str]] = {}
    GROUPS: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    FORMS: ClassVar[Mapping[str, tuple[Form, Form]]] = {}
    UNSTORED: ClassVar[frozenset[str]] = frozenset()
    SPARSE: ClassVar[bool] = False

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        kind: Any = type(self)
        groups = {name: group for group, names in self.GROUPS.items() for name in names}
        stored: dict[str, Any] = {} if self.STORED_VERSION is None else {"v": self.STORED_VERSION}
        for name in _names(kind):
            value = getattr(self, name)
            if name in self.PARTS:
                stored |= value.to_json() if value is not None else {}
            elif not self._left_out(name, value, kind):
                write, _ = self.FORMS.get(name, (_written, None))
                (stored.setdefault(groups[name], {}) if name in groups else stored)[name] = write(value)
        return stored

    def _left_out(self, name: str, value: object, kind: Any) -> bool:
        if name in self.UNSTORED or (self.SPARSE and value is None):
            return True
        return name in self.OPTIONAL and (not value or value == _defaults(kind)[name])

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the value from its stored form; raises ``msgspec.ValidationError``."""
        known = {name: value for name, value in stored.items() if name not in cls.UNSTORED}
        for group in cls.GROUPS:
            known |= stored[group]
        # They are put in as they are: the codec would copy them, and values that are shared would be so no more.
        made: dict[str, Any] = {name: read(known.pop(name)) for name, (_, read) in cls.FORMS.items() if name in known}
        kind: Any = cls
        kinds = _part_kinds(kind)
        for name, sign in cls.PARTS.items():
            known[name] = made[name] = kinds[name].from_json(stored) if not sign or sign in stored else None
        value: Any = convert(known, cls)
        return replace(value, **made)  # type: ignore[no-any-return]  # of this class


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:
    return {field.name: field.default for field in fields(kind)}


@cache
def _part_kinds(kind: Any) -> Mapping[str, type[ByFields]]:
    """Return the class of each part; that of an optional one is the first of its union."""
    hints = get_type_hints(kind)
    return {name: (get_args(hints[name]) or (hints[name],))[0] for name in kind.PARTS}
