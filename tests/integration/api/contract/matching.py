"""What the body of an answer must be: plain JSON, compared exactly, with matchers where the value is not known before.

``$name`` in a text stands for something that the given state or the answer itself names: ``$action``, ``$request``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

Names = Mapping[str, Any]


class Matcher:
    """Something other than a plain value that an answer is held to."""

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        """Say what is wrong with the value at that place."""
        raise NotImplementedError


@dataclass(frozen=True)
class Pattern(Matcher):
    """A text that fits the expression as a whole; a ``$name`` is put in with its letters taken literally."""

    expression: str

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        escaped = {name: re.escape(str(value)) for name, value in names.items()}
        expression = Template(self.expression).safe_substitute(escaped)
        if not isinstance(actual, str) or re.fullmatch(expression, actual, re.DOTALL) is None:
            yield f"{at}: {actual!r} does not fit {expression}"


@dataclass(frozen=True)
class Type(Matcher):
    """Any value of that JSON type; a boolean is no integer."""

    type: type

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        if type(actual) is not self.type:
            yield f"{at}: {actual!r} is no {self.type.__name__}"


class Either(Matcher):
    """One of several."""

    def __init__(self, *choices: Any) -> None:
        self.choices = choices

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        found = [list(faults(choice, actual, at, names)) for choice in self.choices]
        if all(found):
            yield f"{at}: none of {len(found)} possibilities: " + "; or ".join(map(str, found))


@dataclass(frozen=True)
class Entity(Matcher):
    """An object with at least these fields; the contract leaves room for more."""

    fields: Mapping[str, Any]

    def but(self, **fields: Any) -> "Entity":
        """The same, with some fields narrowed."""
        return Entity({**self.fields, **fields})

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        if not isinstance(actual, dict):
            yield f"{at}: {actual!r} is no object"
            return
        for name, expected in self.fields.items():
            if name in actual:
                yield from faults(expected, actual[name], f"{at}.{name}", names)
            else:
                yield f"{at}.{name} is missing"


@dataclass(frozen=True)
class Each(Matcher):
    """A list of at least so many entries, each of which fits."""

    entry: Any
    least: int = 0

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        if not isinstance(actual, list) or len(actual) < self.least:
            yield f"{at}: {actual!r} is no list of {self.least} or more"
            return
        for number, value in enumerate(actual):
            yield from faults(self.entry, value, f"{at}[{number}]", names)


class Among(Matcher):
    """A list that holds an entry that fits for each of these, in this order, others between them."""

    def __init__(self, *entries: Any) -> None:
        self.entries = entries

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        rest = list(actual) if isinstance(actual, list) else []
        for entry in self.entries:
            while rest and list(faults(entry, rest[0], at, names)):
                rest.pop(0)
            if not rest:
                yield f"{at}: nothing (or not in this order) in {actual!r} fits {entry!r}"
                return
            rest.pop(0)


@dataclass(frozen=True)
class Count(Matcher):
    """A list of exactly so many entries."""

    number: int

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        if not isinstance(actual, list) or len(actual) != self.number:
            yield f"{at}: not {self.number} entries: {actual!r}"


class All(Matcher):
    """Everything of this at once."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        for part in self.parts:
            yield from faults(part, actual, at, names)


class Words(Matcher):
    """A list of words in a header, in any order."""

    def __init__(self, text: str) -> None:
        self.words = sorted(text.split(", "))

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        if sorted(str(actual).split(", ")) != self.words:
            yield f"{at}: {actual!r} instead of {self.words}"


@dataclass(frozen=True)
class Lacks(Matcher):
    """An object without that field."""

    name: str

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        if isinstance(actual, dict) and self.name in actual:
            yield f"{at}.{self.name} should not be there"


@dataclass(frozen=True)
class Named(Matcher):
    """What the state calls by that name, type and all; ``$name`` in a text would make it text."""

    name: str

    def faults(self, actual: Any, at: str, names: Names) -> Iterator[str]:
        yield from faults(names[self.name], actual, at, {})


def faults(expected: Any, actual: Any, at: str, names: Names) -> Iterator[str]:
    """Say everything in which a value differs from what it must be."""
    if isinstance(expected, Matcher):
        yield from expected.faults(actual, at, names)
    elif isinstance(expected, Mapping):
        yield from Entity(expected).faults(actual, at, names)
        if isinstance(actual, dict):
            yield from (f"{at}.{name} is not described" for name in actual if name not in expected)
    elif isinstance(expected, Sequence) and not isinstance(expected, str):
        if not isinstance(actual, list) or len(actual) != len(expected):
            yield f"{at}: {actual!r} has not the {len(expected)} entries of {expected!r}"
            return
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from faults(one, other, f"{at}[{number}]", names)
    else:
        wanted = filled(expected, names) if isinstance(expected, str) else expected
        if type(wanted) is not type(actual) or wanted != actual:
            yield f"{at}: {actual!r} instead of {wanted!r}"


def filled(text: str, names: Names) -> str:
    """A text with the names of the state in it."""
    return Template(text).safe_substitute(names)


# What the contract calls by these words (chapters 1 and 11).
ULID = Pattern("[0-9A-HJKMNP-TV-Z]{26}")
UUID = Pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
STAMP = Pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")
DATABASE_TIME = Pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00")
ENGINE_TIME = Pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
TEXT = Type(str)
SOME = Pattern(".+")
INTEGER = Type(int)
BOOLEAN = Type(bool)
OBJECT = Type(dict)
LIST = Type(list)


def maybe(expected: Any) -> Either:
    """That, or null."""
    return Either(expected, None)
