"""Shorten names to a width and keep them distinct. Pure."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

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
