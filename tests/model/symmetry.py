"""Two nodes that nothing distinguishes: a state is explored once, and not again with their names exchanged."""

import json
from collections.abc import Hashable
from enum import Enum
from functools import lru_cache
from typing import Any

Folds = tuple[int, int]
"""The hash of a value as it is, and that of the value with the two names exchanged."""
_NAMES = ("n1", "n2")


def folds(value: Hashable) -> Folds:
    """Return what distinguishes a value, and its mirror image, from others."""
    return hash(_seen(value, exchanged=False)), hash(_seen(value, exchanged=True))


def _seen(value: Any, *, exchanged: bool) -> Hashable:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, str):
        return _text(value, exchanged=exchanged)
    if isinstance(value, tuple):
        return tuple([_seen(part, exchanged=exchanged) for part in value])
    if isinstance(value, frozenset):
        return frozenset(_seen(part, exchanged=exchanged) for part in value)
    rest: Hashable = value
    return rest


@lru_cache(maxsize=200_000)
def _text(text: str, *, exchanged: bool) -> str:
    if exchanged:
        first, second = _NAMES
        text = text.replace(first, "\0").replace(second, first).replace("\0", second)
    return json.dumps(_in_order(json.loads(text)), sort_keys=True) if text.startswith("{") else text


def _in_order(value: Any) -> Any:
    """Return stored JSON without what two names in another order would change: lists of names, and markers."""
    if isinstance(value, dict):
        return {name: _in_order(part) for name, part in value.items() if name != "marker"}
    if isinstance(value, list):
        parts = [_in_order(part) for part in value]
        return sorted(parts) if all(isinstance(part, str) for part in parts) else parts
    return value
