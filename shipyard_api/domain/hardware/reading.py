"""Read the JSON of inspections, whose shape no peer promises: what is odd reads as nothing."""

from collections.abc import Iterable, Mapping

from shipyard_api.domain.json_types import JsonObject


def text(value: object) -> str:
    """Return a value as text, nothing as an empty one."""
    return "" if value is None else str(value)


def number(value: object) -> int:
    """Return a number, 0 for anything else; people write some of them as text."""
    if isinstance(value, str):
        return int(value) if value.isdigit() else 0
    return max(int(value), 0) if isinstance(value, int | float) else 0


def mapping(value: object) -> JsonObject:
    """Return a mapping, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Iterable[object]:
    """Return the items of a list, none of anything else."""
    return value if isinstance(value, list) else ()


def mappings(value: object) -> list[JsonObject]:
    """Return the mappings in a list."""
    return [found for found in map(mapping, items(value)) if found]
