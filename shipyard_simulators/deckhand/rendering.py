"""Rendering: from the documents of a revision to the documents that readers get."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.layering import find_parents, layered
from shipyard_simulators.deckhand.rows import Row
from shipyard_simulators.deckhand.substitution import destinations, source_value, substituted

Name = tuple[str, str]


@dataclass(slots=True)
class Rendered:
    """A rendered document. ``tainted``: a substitution brought it a secret, directly or indirectly."""

    row: Row
    data: Any
    tainted: bool = False


def render(rows: Sequence[Row], policy: Row | None, behaviour: Behaviour) -> list[Rendered]:
    """Return the rendered documents in order of rendering. Raises DeckhandError.

    ``rows``: all documents of the revision but validation policies; ``policy``: the layering policy.
    """
    layers = _layers(policy)
    plain = [row for row in rows if not row.control]
    parents = find_parents(plain, layers)
    replacements = _check_names(plain, parents)
    work = {row.number: Rendered(row, copy.deepcopy(row.clear)) for row in rows}
    sources = {(row.schema, row.name): row for row in rows if row.number not in replacements}
    order = _ordered(rows, parents, replacements, sources)
    for row in order:
        if not row.control:
            _render_one(work, row, parents.get(row.number), sources, behaviour)
    return [work[row.number] for row in order if not row.abstract and row.number not in replacements]


def _layers(policy: Row | None) -> list[str]:
    order = policy.clear.get("layerOrder") if policy is not None and isinstance(policy.clear, dict) else None
    if not isinstance(order, list):
        raise DeckhandError(409, "LayeringPolicyNotFound", "Required layering policy was not found for layering.")
    return order


def _check_names(rows: Iterable[Row], parents: Mapping[int, Row]) -> dict[int, Row]:
    """Return the replacement of each replaced row, by its number. Any other shared name is rejected."""
    replacements: dict[int, Row] = {}
    namesakes: dict[Name, list[Row]] = {}
    for row in rows:
        namesakes.setdefault((row.schema, row.name), []).append(row)
        parent = parents.get(row.number)
        if row.replaces:
            if parent is None or (parent.schema, parent.name) != (row.schema, row.name):
                raise _bad_replacement(row, "it has no parent of the same schema and name to replace")
            if parent.replaces:
                raise _bad_replacement(row, "its parent is a replacement itself")
            replacements[parent.number] = row
    for same_name in namesakes.values():
        for row in same_name[1:]:
            pair = len(same_name) == 2 and any(each.number in replacements for each in same_name)
            if not pair:
                raise _bad_replacement(row, "another document has the same schema and name, and neither replaces it")
    return replacements


def _bad_replacement(row: Row, why: str) -> DeckhandError:
    return DeckhandError(400, "InvalidDocumentReplacement", f"Replacement document {row.title} is invalid: {why}.")


def _ordered(
    rows: Iterable[Row], parents: Mapping[int, Row], replacements: Mapping[int, Row], sources: Mapping[Name, Row]
) -> list[Row]:
    """Return the rows, each after those that it needs.

    Ties are resolved as in the real Deckhand, because with shared objects the result depends on the order: first, in
    generations, the documents that no other one needs; then the whole order is reversed; documents without any
    dependency follow in their own order.
    """
    needs: dict[int, dict[int, None]] = {}
    by_number = {row.number: row for row in rows}
    for row in by_number.values():
        for needed in _needed(row, parents, replacements, sources):
            needs.setdefault(row.number, {})[needed.number] = None
            needs.setdefault(needed.number, {})
    waiting = dict.fromkeys(needs, 0)
    for wanted in needs.values():
        for number in wanted:
            waiting[number] += 1
    found: list[int] = []
    generation = [number for number, count in waiting.items() if count == 0]
    while generation:
        found += generation
        following = []
        for number in generation:
            for wanted_number in needs[number]:
                waiting[wanted_number] -= 1
                if waiting[wanted_number] == 0:
                    following.append(wanted_number)
        generation = following
    if len(found) < len(needs):
        stuck = sorted(by_number[number].title for number in set(needs) - set(found))
        raise DeckhandError(400, "SubstitutionDependencyCycle", f"Documents need each other: {', '.join(stuck)}.")
    return [by_number[number] for number in (*reversed(found), *(each for each in by_number if each not in needs))]


def _needed(
    row: Row, parents: Mapping[int, Row], replacements: Mapping[int, Row], sources: Mapping[Name, Row]
) -> Iterable[Row]:
    if row.control:
        return
    parent = parents.get(row.number)
    if parent is not None:
        stand_in = replacements.get(parent.number)
        yield stand_in if stand_in is not None and stand_in is not row else parent
    for substitution in row.substitutions:
        source = sources.get((substitution["src"]["schema"], substitution["src"]["name"]))
        if source is not None:
            yield source


def _render_one(
    work: Mapping[int, Rendered], row: Row, parent: Row | None, sources: Mapping[Name, Row], behaviour: Behaviour
) -> None:
    this = work[row.number]
    if parent is not None:
        inherited = work[parent.number].data
        this.data = layered(row, this.data, inherited, delete_by_value=behaviour.delete_by_value)
    for substitution in row.substitutions:
        src = substitution["src"]
        source = sources.get((src["schema"], src["name"]))
        if source is None or source.abstract:
            raise DeckhandError(
                409,
                "SubstitutionSourceNotFound",
                f"{row.title} substitutes from [{src['schema']}] {src['name']}, which is not among the documents.",
            )
        giver = work[source.number]
        value = source_value(src, giver.data)
        shared = behaviour.shared_objects and not src.get("deepcopy", False)
        for dest in destinations(substitution):
            this.data = substituted(this.data, dest, value, shared=shared)
        this.tainted = this.tainted or source.encrypted or giver.tainted
    if row.replaces and parent is not None:
        work[parent.number].data = this.data
