"""Types of the fields of entities: how the OpenAPI document describes them, and how records become them.

Readers check none of the descriptions: a newer server may have words that an older command line does not know.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import Annotated, Any

from msgspec import Meta

REFERENCE = "#/components/schemas/{name}"
Write = Callable[[Any], object]
"""Makes the value of a field from that of a record."""


def zulu(moment: datetime | None) -> str | None:
    """Return a moment in the form of ISO 8601 that clients of the engine know, ``2026-11-21T01:23:55.745506Z``."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:-6]}Z" if moment else None


def described(write: Write | None = None, **schema: object) -> Meta:
    """Return a description by JSON Schema, and the function that makes the value from that of a record."""
    return Meta(extra_json_schema=schema, extra={"write": write} if write else None)


def component(name: str, write: Write | None = None, **schema: object) -> Meta:
    """Return a description that is a component of the document; one without a schema is written there by hand."""
    return described(write, **{"$ref": REFERENCE.format(name=name)}, **({"x-component": schema} if schema else {}))


def one_of(words: Iterable[Enum | str], name: str = "", **schema: object) -> Meta:
    """Return the description of a word on the wire; ``name``: that of its component."""
    schema["enum"] = [word(known) for known in words]
    return component(name, word, **schema) if name else described(word, **schema)


def counted(statuses: type[Enum], name: str, **schema: object) -> Meta:
    """Return the description of numbers by status, with their total; ``name``: that of its component."""
    words = ["total", *map(word, statuses)]
    numbers = {"required": words, "properties": {status: {"type": "integer", "minimum": 0} for status in words}}
    write = partial(counts, statuses)
    return component(name, write, **schema, type="object", additionalProperties=False, **numbers)


def counts(statuses: type[Enum], numbers: Mapping[Any, int]) -> Mapping[str, int]:
    """Return numbers by status, with their total."""
    known = {word(status): number for status, number in numbers.items()}
    return {"total": sum(known.values()), **{word(status): known.get(word(status), 0) for status in statuses}}


def word(value: Enum | str) -> str:
    """Return the word that stands for a value; records have some as words."""
    return str(getattr(value, "value", value))


Natural = Annotated[int, described(minimum=0)]
Ulid = Annotated[str, component("Ulid")]
Zulu = Annotated[str, component("Zulu", zulu)]
DateTime = Annotated[str, described(zulu, format="date-time")]
ActionName = Annotated[str, component("ActionName")]
Next = Annotated[str | None, component("Next")]
LookAt = Annotated[str | None, component("LookAt")]
