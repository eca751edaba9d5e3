"""Count the steps that a check of a value against a schema takes, before it is checked.

The schemas of a design are a stranger's: references that branch a dozen times make billions of steps from a kilobyte.
The library does not let other threads run while it checks, so a long check would stop the whole process.

A step is one rule applied to one value: about 15 ns in jsonschema-rs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

# Subschemas that one value meets without going deeper into it: through $ref, allOf, anyOf, oneOf, not, dependencies.
MOST_BRANCHES = 10_000
# Steps for one document and schema: some 30 ms without another thread.
MOST_STEPS = 2_000_000
# Values in a schema, and the squares of the lengths of its patterns: each takes the library some 0.2 s to compile.
MOST_VALUES = 100_000
MOST_PATTERN = 4_000_000
# Pairs of subschema and value that are counted one by one, where the estimate for all values is not enough.
MOST_PAIRS = 200_000
# The limit of the library for one match of a pattern with lookaround or backreferences.
BACKTRACKS = 5_000

_CHARACTERS = 64  # of text that are compared or matched in one step
_NESTED = 64  # levels of a value, each of which may ask for unique items

Targets = Callable[[str], Sequence[Mapping[str, Any]]]
"""The schemas that a reference may lead to."""


class TooManySteps(ValueError):
    """The schema, or a check against it, exceeds a limit; the text says which, and quotes no value."""


def check_size(schema: Mapping[str, Any]) -> None:
    """Raise TooManySteps if compiling the schema would take too long."""
    if _size(schema, MOST_VALUES) >= MOST_VALUES:
        raise TooManySteps(f"it has more than {MOST_VALUES:,} values")
    squares = 0
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            squares += sum(len(pattern) ** 2 for pattern in _patterns(value))
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    if squares > MOST_PATTERN:
        raise TooManySteps("its patterns are too many or too long; at most four of 1,000 characters are compiled")


@dataclass(slots=True, eq=False)
class _Part:
    """A subschema: what it costs by itself, and the subschemas for the same value and for the values in it."""

    steps: float = 1
    backtracks: bool = False
    unique: bool = False
    same: list["_Part"] = field(default_factory=list)
    properties: dict[str, "_Part"] = field(default_factory=dict)
    any_property: list["_Part"] = field(default_factory=list)
    other_properties: list["_Part"] = field(default_factory=list)
    by_position: list["_Part"] = field(default_factory=list)
    items: list["_Part"] = field(default_factory=list)


class StepCount:
    """The steps of one schema. Raises TooManySteps if its branches alone are too many."""

    def __init__(self, schema: Mapping[str, Any], targets: Targets) -> None:
        parts = _parts(schema, targets)
        self._root = parts[0]
        branches: dict[int, float] = {}
        for part in parts:
            if (count := _sum(part, _alternatives, _one, branches, circle=0.0)) > MOST_BRANCHES:
                raise TooManySteps(
                    f"its references and combinations (allOf, anyOf, oneOf, not) expand to {_number(count)} subschemas "
                    f"for one value; at most {MOST_BRANCHES:,} are checked"
                )
        # How often any value is met at most. Endless where the schema refers to itself.
        self._visits = _sum(self._root, _children, _steps_by_itself, {}, circle=math.inf)
        if any(part.backtracks for part in parts):
            self._visits = math.inf

    def check(self, value: object) -> None:
        """Raise TooManySteps if a check of the value takes more than MOST_STEPS."""
        if self._visits * _size(value, MOST_STEPS) <= MOST_STEPS:
            return
        try:
            steps = self._steps(self._root, value, {})
        except RecursionError:
            raise TooManySteps("its references are nested too deeply for this document") from None
        if steps > MOST_STEPS:
            raise TooManySteps(
                f"a check against it takes {_number(steps)} steps for this document; at most {MOST_STEPS:,} are made"
            )

    def _steps(self, part: _Part, value: Any, known: dict[tuple[int, int], float | None]) -> float:
        """Return the steps of a subschema for a value; each pair is counted once, however often it is met."""
        key = id(part), id(value)
        if key in known:
            if (count := known[key]) is None:
                raise TooManySteps("its references lead from one to the next without end")
            return count
        if len(known) >= MOST_PAIRS:
            raise TooManySteps(f"more than {MOST_PAIRS:,} of its rules apply to this document")
        known[key] = None
        total: float = part.steps
        for part_left in part.same:
            total += self._steps(part_left, value, known)
        if isinstance(value, str):
            total += _text_steps(part, value)
        elif isinstance(value, dict):
            for name, inner in value.items():
                total += 1 + (_text_steps(part, name) if part.any_property else 0)
                named = part.properties.get(name)
                for part_left in (*part.any_property, *((named,) if named else part.other_properties)):
                    total += self._steps(part_left, inner, known)
        elif isinstance(value, list):
            if part.unique:
                size_key = 0, id(value)
                if (size := known.get(size_key)) is None:
                    size = known[size_key] = _size(value, MOST_STEPS)
                total += size
            for position, inner in enumerate(value):
                total += 1
                for part_left in part.items:
                    total += self._steps(part_left, inner, known)
                if position < len(part.by_position):
                    total += self._steps(part.by_position[position], inner, known)
        known[key] = total
        return total


def _parts(schema: Mapping[str, Any], targets: Targets) -> list[_Part]:
    """Return the schema and all that it leads to."""
    parts: dict[int, _Part] = {}
    waiting: list[tuple[_Part, Mapping[str, Any]]] = []

    def part_of(rules: object) -> list[_Part]:
        if not isinstance(rules, Mapping):
            return []
        if id(rules) not in parts:
            parts[id(rules)] = _Part()
            waiting.append((parts[id(rules)], rules))
        return [parts[id(rules)]]

    def each(values: object) -> list[_Part]:
        if isinstance(values, Mapping):
            values = list(values.values())
        return [part for rules in values for part in part_of(rules)] if isinstance(values, list) else []

    part_of(schema)
    while waiting:
        part, rules = waiting.pop()
        reference, items = rules.get("$ref"), rules.get("items")
        properties, patterns = rules.get("properties"), rules.get("patternProperties")
        if isinstance(reference, str):
            part.same += each(list(targets(reference)))
        for word in ("allOf", "anyOf", "oneOf", "dependencies"):
            part.same += each(rules.get(word))
        part.same += part_of(rules.get("not"))
        if isinstance(properties, Mapping):
            part.properties = {name: choice for name, value in properties.items() for choice in part_of(value)}
        part.any_property = each(patterns)
        part.other_properties = part_of(rules.get("additionalProperties"))
        part.items = [*part_of(items), *part_of(rules.get("additionalItems"))]
        part.by_position = each(items) if isinstance(items, list) else []
        part.unique = rules.get("uniqueItems") is True
        part.steps = _own_steps(rules)
        part.backtracks = not all(map(is_linear, _patterns(rules)))
    return list(parts.values())


@lru_cache(maxsize=1024)
def is_linear(pattern: str) -> bool:
    """Return whether the time of a match is linear: the pattern has no lookaround and no backreference."""
    try:
        import jsonschema_rs
    except ImportError:
        return False
    try:
        jsonschema_rs.Draft4Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def _patterns(rules: Mapping[str, Any]) -> list[str]:
    """Return the regular expressions of a subschema."""
    by_name = rules.get("patternProperties")
    patterns = [rules.get("pattern"), *(by_name if isinstance(by_name, Mapping) else ())]
    return [pattern for pattern in patterns if isinstance(pattern, str)]


def _text_steps(part: _Part, text: str) -> int:
    """Return the steps of matching a text; each backtrack may look at all of it."""
    return len(text) // _CHARACTERS + (len(text) * (len(text) + BACKTRACKS) // 8 if part.backtracks else 0)


def _alternatives(part: _Part) -> list[_Part]:
    return part.same


def _one(_part: _Part) -> float:
    return 1.0


def _children(part: _Part) -> list[_Part]:
    return [
        *part.same,
        *part.properties.values(),
        *part.any_property,
        *part.other_properties,
        *part.by_position,
        *part.items,
    ]


def _steps_by_itself(part: _Part) -> float:
    return part.steps + (_NESTED if part.unique else 0)


def _sum(
    part: _Part,
    follow: Callable[[_Part], list[_Part]],
    weight: Callable[[_Part], float],
    known: dict[int, float],
    *,
    circle: float,
) -> float:
    """Return the weight of a part with all that follow, each as often as it is met; ``circle``: that of an ancestor."""
    waiting = [(part, False)]
    begun: set[int] = set()
    while waiting:
        top, finished = waiting.pop()
        if finished:
            known[id(top)] = weight(top) + sum(known.get(id(following), circle) for following in follow(top))
        elif id(top) not in known and id(top) not in begun:
            begun.add(id(top))
            waiting.append((top, True))
            waiting += [(following, False) for following in follow(top)]
    return known[id(part)]


def _own_steps(rules: Mapping[str, Any]) -> float:
    """Return the steps of the words of a subschema that do not lead to another one."""
    listed = sum(len(rules[word]) for word in ("required", "properties", "dependencies") if _has_members(rules, word))
    return len(rules) + listed + (_size(rules["enum"], MOST_STEPS) if isinstance(rules.get("enum"), list) else 0)


def _has_members(rules: Mapping[str, Any], word: str) -> bool:
    return isinstance(rules.get(word), list | Mapping)


def _size(value: object, enough: int) -> int:
    """Return the number of values in a value, long texts counted as several; counting stops at ``enough``."""
    count = 0
    waiting: list[object] = [value]
    while waiting and count < enough:
        item = waiting.pop()
        count += 1
        if isinstance(item, str):
            count += len(item) // _CHARACTERS
        elif isinstance(item, Mapping):
            count += len(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return count


def _number(count: float) -> str:
    return f"{count:,.0f}" if count < 1e12 else "more than a trillion"
