"""Names in answers: items as ``-o name`` prints them, lists of names in a cell, and names that are cut to a width."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Any

from shipyard_api.cli.errors import ShapeError
from shipyard_api.cli.output.shapes import JsonObject, as_object, as_objects, parse_json
from shipyard_api.cli.output.wording import printable
from shipyard_api.domain.node_sets import fold

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


FEW = 8
"""How many names a cell shows as they are; the forms raw and format have them all."""


def listed(names: Sequence[object]) -> str:
    """Return the names with commas. More than 8 are a node set if that is not longer than the first 8 names."""
    names_shown = [printable(name) for name in names]
    if len(names_shown) <= FEW:
        return ", ".join(names_shown)
    cut = f"{', '.join(names_shown[:FEW])} and {len(names_shown) - FEW} more"
    return min(fold(names_shown), cut, key=len)


_SEGMENT = re.compile(r"[-_./: ]+")
_LEAST_PREFIX = 4  # characters; less is not worth an explanation


def prefixes(names: Iterable[str]) -> list[str]:
    """Return the common beginnings of all names that end at a separator, the shortest first."""
    prefixes_of = list(names)
    if len(prefixes_of) < 2:
        return []
    common = common_prefix(prefixes_of)
    ends = [match.end() for match in _SEGMENT.finditer(common)]
    return [common[:end] for end in ends if end >= _LEAST_PREFIX and all(len(name) > end for name in prefixes_of)]


@lru_cache(maxsize=8)
def shortened(names: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Return each name in at most ``width`` characters, which are 4 or more; different names stay different.

    A name loses its middle, or, if the names then look alike, another part; as a last resort it gets its number.
    """
    room = width - 1
    cuts = sorted(range(room + 1), key=lambda head: abs(head - (room - room // 2)))
    for head in cuts:
        tried = [_without_middle(name, head, room - head) for name in names]
        if _tell_apart(names, tried):
            return tuple(tried)
    tried = _cores(names, width)
    if _tell_apart(names, tried):
        return tuple(tried)
    return tuple(_numbered(name, number, width) for number, name in enumerate(names, 1))


def common_prefix(names: Sequence[str]) -> str:
    """Return what all names begin with; empty without names."""
    pairs = zip(min(names, default=""), max(names, default=""), strict=False)
    return "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _tell_apart(names: Sequence[str], tried: Sequence[str]) -> bool:
    return len(set(tried)) == len(set(names))


def _without_middle(name: str, head: int, tail: int) -> str:
    return name if len(name) <= head + tail + 1 else f"{name[:head]}…{name[len(name) - tail :]}"


def _cores(names: Sequence[str], width: int) -> list[str]:
    """Return the long names without the beginning and the end that all of them share."""
    long = [name for name in names if len(name) > width]
    first = len(common_prefix(long))
    last = min(len(common_prefix([name[::-1] for name in long])), min(map(len, long)) - first)
    tried = []
    for name in names:
        core = name[first : len(name) - last]
        spare = max(width - 2 - len(core), 0)
        start = max(first - spare, 0)
        tried.append(name if len(name) <= width else f"…{name[start : start + width - 2]}…")
    return tried


def _numbered(name: str, number: int, width: int) -> str:
    if len(name) <= width:
        return name
    mark = f"…#{number}"
    return f"{name[: max(width - len(mark), 0)]}{mark}"[-width:]
