"""Covering arrays: few rows in which every combination of two (or three) values occurs that may occur at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from random import Random

Row = Mapping[str, str]
Cell = tuple[tuple[str, str], ...]
Allowed = Callable[[Row], bool]

_CANDIDATES = 4


def rows(
    options: Mapping[str, Sequence[str]],
    allowed: Allowed,
    strength: int = 2,
    seed: int = 0,
    known: Sequence[Row] = (),
) -> list[Row]:
    """Return rows that cover every tuple of ``strength`` values that some allowed row has; always the same ones.

    Those that a ``known`` row has need no other.

    Each row starts with a tuple that is still missing, and is the one of a few candidates that adds most. ``allowed``
    is asked about parts of rows, too: it must answer yes unless the part alone makes each row with it impossible.
    """
    dice = Random(seed)
    covered = {cell for row in known for cell in cells_of(row, strength)}
    missing = {cell: None for cell in _cells(options, strength) if cell not in covered}
    found: list[Row] = []
    while missing:
        first = next(iter(missing))
        missing.pop(first)
        if (candidate := _completed(dict(first), options, allowed, dice, missing)) is None:
            continue  # the search was exhaustive
        others = (_completed(dict(first), options, allowed, dice, missing) for _ in range(_CANDIDATES - 1))
        candidates = [candidate, *filter(None, others)]
        best = max(candidates, key=lambda row: sum(cell in missing for cell in cells_of(row, strength)))
        found.append(best)
        for cell in cells_of(best, strength):
            missing.pop(cell, None)
    return found


def cells_of(row: Row, strength: int = 2) -> Iterator[Cell]:
    """Yield the tuples of values that a row has."""
    return combinations(row.items(), strength)


def _cells(options: Mapping[str, Sequence[str]], strength: int) -> Iterator[Cell]:
    for names in combinations(options, strength):
        for values in product(*(options[name] for name in names)):
            yield tuple(zip(names, values, strict=True))


def _completed(
    part: dict[str, str],
    options: Mapping[str, Sequence[str]],
    allowed: Allowed,
    dice: Random,
    missing: Mapping[Cell, None],
) -> Row | None:
    """Return an allowed row with these values, None if there is none; values whose pairs are missing come first."""
    place = {name: number for number, name in enumerate(options)}

    def news(row: Row, name: str, value: str) -> int:
        own, at = (name, value), place[name]
        return sum(((own, one) if at < place[one[0]] else (one, own)) in missing for one in row.items())

    def extended(row: dict[str, str], rest: Sequence[str]) -> Row | None:
        if not rest:
            return {name: row[name] for name in options}
        name, *others = rest
        values = [value for value in dice.sample(options[name], len(options[name])) if allowed({**row, name: value})]
        for value in sorted(values, key=lambda value: -news(row, name, value)):
            if (found := extended({**row, name: value}, others)) is not None:
                return found
        return None

    # In the order of the options: those on which others depend stand first, so that dead ends are short.
    return extended(part, [name for name in options if name not in part]) if allowed(part) else None
