"""Node sets: ``r[1-40]n[1-20]`` names 800 nodes. Read and written at the edge; nothing stores one.

ClusterShell knows the notation. It reads node groups from files and commands of its host, and counts only after it has
expanded. Its input is checked and counted first: names with ranges, and nothing else.
"""

import math
import re
from collections.abc import Iterable, Sequence

MOST = 10_000
"""How many names a node set may stand for; an action has no more targets."""

_LONGEST_NAME = 253  # as in DNS
_SHOWN = 60
_SPECIAL = re.compile(r"[@*?!&^\[\]]")
# Commas between brackets belong to the part.
_PARTS = re.compile(r"(?:\[[^\[\]]*\]|[^,])+")
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER = "[0-9]{1,9}"
_RANGE = re.compile(f"({_NUMBER})(?:-({_NUMBER})(?:/({_NUMBER}))?)?")
_FOLDED = re.compile(r"(?:[A-Za-z0-9._-]*\[[0-9,/-]+\])+[A-Za-z0-9._-]*")


class InvalidNodeSet(ValueError):
    """A text is not a node set, or expands to too many names."""


def is_node_set(text: str) -> bool:
    """Return whether the text is more than plain names with commas."""
    return bool(_SPECIAL.search(text))


def parts(text: str) -> list[str]:
    """Return what the commas outside of brackets separate, without blanks around it and without empty parts."""
    return [part for part in map(str.strip, _PARTS.findall(text)) if part]


def expand(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names that the texts stand for, each once: plain names as they are, ranges in order.

    Raises InvalidNodeSet, before more than MOST names are in memory.
    """
    names: list[str] = []
    for part in (part for text in texts for part in parts(text)):
        names += _ranged(part, MOST - len(names)) if is_node_set(part) else [part]
        if len(names) > MOST:
            raise InvalidNodeSet(_too_many(len(names)))
    return tuple(dict.fromkeys(names))


def fold(names: Sequence[str]) -> str:
    """Return the names in one text, those that only differ in numbers as ranges."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    plain = [name for name in names if _PLAIN.fullmatch(name)]
    rest = [name for name in names if not _PLAIN.fullmatch(name)]
    return ",".join([str(NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP))] * bool(plain) + rest)


def _ranged(part: str, most: int) -> Sequence[str]:
    """Return the names of one part with brackets."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    brackets = re.findall(r"\[(.*?)\]", part) if _FOLDED.fullmatch(part) else [""]
    ranges = [[_RANGE.fullmatch(part) for part in inside.split(",")] for inside in brackets]
    if not all(map(all, ranges)):
        raise InvalidNodeSet(
            f"{_shown(part)} is no node set: write names with ranges of numbers, such as r[1-40]n[1-20], and commas "
            "between them. Node groups (@), wildcards and operators (!, &, ^) are not supported"
        )
    if len(part) - sum(map(len, brackets)) > _LONGEST_NAME:
        raise InvalidNodeSet(f"{_shown(part)} expands to names of more than {_LONGEST_NAME} characters")
    number = math.prod(sum(_steps(*part.groups()) for part in inside if part) for inside in ranges)
    if number > most:
        raise InvalidNodeSet(_too_many(number + MOST - most))
    try:
        return list(NodeSet(part, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        raise InvalidNodeSet(f"{_shown(part)} is no node set: {error}") from error


def _too_many(number: int) -> str:
    return f"it expands to {number} names or more; at most {MOST} are accepted"


def _steps(first: str, last: str | None, step: str | None) -> int:
    return max(0, int(last or first) - int(first)) // max(1, int(step or 1)) + 1


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")
