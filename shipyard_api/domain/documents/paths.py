"""Paths into a document's data, as layering and substitution write them (contract: deckhand, B6).

The language is the core of JSONPath in the spelling of Airship sites: ``.`` is the root, ``.a.b`` keys, ``.a[0]`` an
element. We do not use jsonpath-ng: it takes a millisecond for each path and writes into shared values. A test compares
the results of both.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

MISSING: Final[Any] = object()
"""The result of reading a path that leads nowhere."""

_LONGEST = 1024  # characters
_LIST_LIMIT = 10_000
_BELOW_LIMIT = 2


class PathError(ValueError):
    """A path cannot be parsed or followed; the text says why, without quoting data."""


class Every(Struct, frozen=True):
    """All elements of a list: ``[*]``."""


class Fields(Struct, frozen=True):
    """All values of a mapping: ``*``."""


class Range(Struct, frozen=True):
    """Some elements of a list: ``[0:2]``."""

    start: int | None
    stop: int | None


class Elements(Struct, frozen=True):
    """Named elements of a list: ``[0,1]``."""

    indices: tuple[int, ...]


class Below(Struct, frozen=True):
    """The next step at this value or anywhere below it: ``..``."""


Step = str | int | Every | Fields | Range | Elements | Below
"""A string is a key of a mapping, a number an element of a list."""


class Path(Struct, frozen=True):
    """A parsed path. ``text``: the path as written. No steps: the root."""

    text: str
    steps: tuple[Step, ...]

    @property
    def is_plain(self) -> bool:
        """Whether the path leads to one place at most."""
        return all(isinstance(step, str | int) for step in self.steps)


@lru_cache(maxsize=32_768)
def parse_path(text: str) -> Path:
    """Parse a path; raises PathError with the position of the fault."""
    if len(text) > _LONGEST:
        raise PathError(f"a path of {len(text)} characters; at most {_LONGEST} are read")
    if text in (".", "$"):
        return Path(text, ())
    if not text:
        raise PathError("an empty path; the root is written as a dot")
    steps = tuple(_steps(text))
    if sum(isinstance(step, Below) for step in steps) > _BELOW_LIMIT:
        raise PathError(f"more than {_BELOW_LIMIT} times two dots; the search would never end")
    return Path(text, steps)


@lru_cache(maxsize=32_768)
def parse_action_path(text: str) -> Path:
    """Parse the path of a layering action, which may begin with ``data`` (B5); raises PathError."""
    inner = text.removeprefix("$")
    inner = inner if inner.startswith((".", "[")) or not inner else f".{inner}"
    # Only the whole word: Deckhand also strips these letters from .database.
    if inner == ".data":
        inner = "."
    elif inner.startswith((".data.", ".data[")):
        inner = inner.removeprefix(".data")
    return Path(text, parse_path(inner or ".").steps)


def read(path: Path, value: Any) -> Any:
    """Return the first value at the path, or MISSING."""
    for position, step in enumerate(path.steps):
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return MISSING
            value = value[step]
        elif isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return MISSING
            value = value[step]
        else:
            return next((match for _, match in _matches(path.steps[position:], value)), MISSING)
    return value


def places(path: Path, value: Any) -> Sequence[tuple[str | int, ...]]:
    """Return every place that the path matches, as plain steps, in the order of the value."""
    return list(dict.fromkeys(place for place, _ in _matches(path.steps, value)))


def pointer(steps: Sequence[str | int]) -> str:
    """Return plain steps as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def _matches(steps: Sequence[Step], value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield place and value of every match. Recurses by steps and by depth, both of them bounded."""
    if not steps:
        yield (), value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, Below):
        yield from _matches(rest, value)
        for inner, child in _children(value):
            for place, match in _matches(steps, child):
                yield (inner, *place), match
        return
    for inner, child in _chosen(step, value):
        for place, match in _matches(rest, child):
            yield (inner, *place), match


def _chosen(step: Step, value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield step, value[step]
    elif isinstance(step, Fields):
        if isinstance(value, dict):
            yield from value.items()
    elif isinstance(value, list):
        size = len(value)
        if isinstance(step, Every):
            yield from enumerate(value)
        elif isinstance(step, Range):
            yield from ((index, value[index]) for index in range(size)[step.start : step.stop])
        else:
            indices = (step,) if isinstance(step, int) else step.indices if isinstance(step, Elements) else ()
            yield from ((index % size, value[index]) for index in indices if -size <= index < size)


def _children(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


_NUMBER = re.compile(r"-?\d+")
_KEY = re.compile(r"(?:[^\W\d]|@)[@\w-]*|\d+(?![\w@-])")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
_RANGE = re.compile(r"(-?\d+)?:(-?\d+)?")
_LIST = re.compile(r"-?\d+(?:,-?\d+)+")


def _steps(text: str) -> Iterator[Step]:
    position = 1 if text[0] == "$" else 0
    if text[0] not in "$.[":
        key, position = _name(text, 0)
        yield key
    while position < len(text):
        if text[position] == "[":
            step, position = _bracket(text, position)
            yield step
            continue
        if text[position] != ".":
            raise PathError(f"a dot or a bracket was expected at character {position + 1}")
        position += 1
        if text.startswith(".", position):
            yield Below()
            position += 1
        if text.startswith("[", position):
            step, position = _bracket(text, position)
        else:
            step, position = _name(text, position)
        yield step


def _name(text: str, position: int) -> tuple[Step, int]:
    if text.startswith("*", position):
        return Fields(), position + 1
    if quoted := _QUOTED.match(text, position):
        return _unquoted(quoted), quoted.end()
    if word := _KEY.match(text, position):
        return word.group(), word.end()
    raise PathError(
        f"a key was expected at character {position + 1}; a key that is more than letters, digits, _, - and @ is "
        "written in quotes"
    )


def _bracket(text: str, start: int) -> tuple[Step, int]:
    end = text.find("]", start)
    if quoted := _QUOTED.match(text, start + 1):
        end = quoted.end()
        if not text.startswith("]", end):
            raise PathError(f"a closing bracket was expected at character {end + 1}")
        return _unquoted(quoted), end + 1
    inner = text[start + 1 : end] if end > 0 else ""
    step: Step
    if inner == "*":
        step = Every()
    elif _NUMBER.fullmatch(inner):
        step = _index(inner, start)
    elif _LIST.fullmatch(inner):
        step = Elements(tuple(_index(element, start) for element in inner.split(",")))
    elif (bounds := _RANGE.fullmatch(inner)) and inner != ":":
        first, last = (None if bound is None else _index(bound, start) for bound in bounds.groups())
        step = Range(first, last)
    elif inner == ":":
        step = Every()
    else:
        raise PathError(f"the bracket at character {start + 1} holds no number, range, * or text in quotes")
    return step, end + 1


def _index(text: str, start: int) -> int:
    if len(text) > 9 or abs(int(text)) >= _LIST_LIMIT:
        raise PathError(f"the bracket at character {start + 1} counts beyond {_LIST_LIMIT} elements")
    return int(text)


def _unquoted(quoted: re.Match[str]) -> str:
    single, double = quoted.groups()
    return re.sub(r"\\(.)", r"\1", single if single is not None else double, flags=re.DOTALL)
