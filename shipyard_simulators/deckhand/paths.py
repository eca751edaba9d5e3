"""The paths of actions, substitutions and queries: a subset of JSONPath. Parse, find, read and write."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


class PathUnreadable(ValueError):
    """An invalid path; ``error_type`` is Deckhand's name of the failure."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


class PathBlocked(ValueError):
    """A path through a value that cannot hold its next part."""

    error_type = "AttributeError"


@dataclass(frozen=True, slots=True)
class Keys:
    """Members of a mapping by name; None: all."""

    names: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of a list: indexes or one range; None: all."""

    numbers: tuple[int, ...] | None = None
    span: tuple[int | None, int | None, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Anywhere:
    """Apply the next step at any depth."""

    step: Keys | Elements


Step = Keys | Elements | Anywhere
Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class PathTarget:
    """A value that a path selects, with its holder and key; the root has neither."""

    holder: Any
    key: Any
    value: Any


_TOKEN = re.compile(
    r"""(?P<deep>\.\.)|(?P<dot>\.)|(?P<root>\$)|(?P<star>\*)|(?P<open>\[)|(?P<close>\])|(?P<colon>:)|(?P<comma>,)
    |(?P<number>-?\d+)|(?P<word>(?:[^\W\d]|@)[\w@-]*)|'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)"
    |(?P<blank>[ \t]+)""",
    re.VERBOSE,
)


@lru_cache(maxsize=4096)
def parse(text: str) -> Path:
    """Return the steps of a path; none for the root. Raises PathUnreadable."""
    written = "$" if text == "." else "$" + text if text.startswith(".") else text
    return _Parser(list(_tokens(written)), text).path()


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise PathUnreadable("JsonPathLexerError", f"unexpected character {text[position]!r} in {text!r}")
        kind, position = match.lastgroup, match.end()
        if kind in ("single", "double"):
            yield "quoted", re.sub(r"\\(.)", r"\1", match[kind])
        elif kind != "blank":
            yield kind, match[kind]


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], text: str) -> None:
        self._tokens = [*tokens, ("end", "")]
        self._text = text
        self._at = 0

    def path(self) -> Path:
        steps: list[Step] = []
        # A path without a leading dot or root is read as if it had one.
        if not self._take("root") and self._peek() != "open":
            steps.append(self._step())
        while not self._take("end"):
            if self._take("deep"):
                steps.append(Anywhere(self._step()))
            elif self._take("dot") or self._peek() == "open":
                steps.append(self._step())
            else:
                raise self._unreadable()
        return tuple(steps)

    def _step(self) -> Keys | Elements:
        if self._take("open"):
            return self._bracket()
        if self._take("star"):
            return Keys(None)
        return Keys((self._name("word", "quoted", "number"),))

    def _bracket(self) -> Keys | Elements:
        if self._take("star"):
            self._need("close")
            return Elements()
        if self._peek() in ("word", "quoted"):
            names = [self._name("word", "quoted")]
            while self._take("comma"):
                names.append(self._name("word", "quoted"))
            self._need("close")
            return Keys(tuple(names))
        parts: list[int | None] = [self._number()]
        if self._peek() == "comma" and parts[0] is not None:
            numbers = [parts[0]]
            while self._take("comma"):
                numbers.append(int(self._name("number")))
            self._need("close")
            return Elements(tuple(numbers))
        while self._take("colon"):
            parts.append(self._number())
        self._need("close")
        if len(parts) == 1 and parts[0] is not None:
            return Elements((parts[0],))
        if len(parts) > 3 or len(parts) == 1:
            raise self._unreadable()
        return Elements(span=(parts[0], parts[1], parts[2] if len(parts) == 3 else None))

    def _number(self) -> int | None:
        return int(self._name("number")) if self._peek() == "number" else None

    def _name(self, *kinds: str) -> str:
        kind, text = self._tokens[self._at]
        if kind not in kinds or (kind == "number" and "number" in kinds and len(kinds) > 1 and text.startswith("-")):
            raise self._unreadable()
        self._at += 1
        return text

    def _peek(self) -> str:
        return self._tokens[self._at][0]

    def _take(self, kind: str) -> bool:
        found = self._peek() == kind
        self._at += found
        return found

    def _need(self, kind: str) -> None:
        if not self._take(kind):
            raise self._unreadable()

    def _unreadable(self) -> PathUnreadable:
        return PathUnreadable("JsonPathParserError", f"{self._text!r} is not a path")


def find(data: Any, path: Path) -> list[PathTarget]:
    """Return everything that the path selects, in order of the data."""
    places = [PathTarget(None, None, data)]
    for step in path:
        if isinstance(step, Anywhere):
            places = [deep for place in places for deep in _anywhere(place.value, step.step)]
        else:
            places = [member for place in places for member in _members(place.value, step)]
    return places


def read(data: Any, path: Path) -> Any:
    """Return the first value that the path selects, or None."""
    places = find(data, path)
    return places[0].value if places else None


def write(data: Any, path: Path, value: Any) -> Any:
    """Write the value to every place of the path, creating a missing one. Return the changed data.

    Raises PathBlocked if a place cannot be created.
    """
    if not path:
        return value
    for place in find(data, path) or [_make(data, path)]:
        place.holder[place.key] = value
    return data


def _members(value: Any, step: Keys | Elements) -> list[PathTarget]:
    if isinstance(step, Keys):
        if not isinstance(value, dict):
            return []
        names = list(value) if step.names is None else [name for name in step.names if name in value]
        return [PathTarget(value, name, value[name]) for name in names]
    if not isinstance(value, list):
        return []
    numbers = range(len(value))
    if step.span is not None:
        numbers = numbers[slice(*step.span)]
    if step.numbers is None:
        return [PathTarget(value, number, value[number]) for number in numbers]
    return [PathTarget(value, number, value[number]) for number in step.numbers if -len(value) <= number < len(value)]


def _anywhere(value: Any, step: Keys | Elements) -> Iterator[PathTarget]:
    yield from _members(value, step)
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _anywhere(member, step)


def _make(data: Any, path: Path) -> PathTarget:
    """Create the missing parts of the path and return its last place."""
    current, place = data, PathTarget(None, None, data)
    for step, following in zip(path, [*path[1:], None], strict=True):
        empty: Any = [] if isinstance(following, Elements) else {}
        if isinstance(step, Keys) and step.names and len(step.names) == 1 and isinstance(current, dict):
            key: Any = step.names[0]
            current.setdefault(key, empty)
        elif isinstance(step, Elements) and step.numbers and len(step.numbers) == 1 and isinstance(current, list):
            key = step.numbers[0]
            while 0 <= key >= len(current):
                current.append({})
            if not -len(current) <= key:
                raise PathBlocked("there is no such element")
        else:
            raise PathBlocked("the way to the end of the path cannot be made")
        place = PathTarget(current, key, current[key])
        current = place.value
    return place
