"""Find the cases of an action, or of a comparison: pure, from facts about its nodes (product, section 15).

The best cause is named first; what it explains is taken away, and the rest is looked at again.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from itertools import compress, filterfalse

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.cases.case import WORDS, Case, CaseKind, Tie, clock
from shipyard_api.domain.cases.features import Features, Value
from shipyard_api.domain.cases.ranking import (
    LEAST,
    Candidate,
    Table,
    holders,
    is_more_than_background,
    refined,
)
from shipyard_api.domain.cases.reasons import first_words, in_common, template
from shipyard_api.domain.nodes import NodeName

MOST_CASES = 3
_MOST_REASONS = 200
"""Reasons that are clustered; those of more nodes are a sample."""

_MOST_WORDS = 100
"""Reasons that are read for the words of a case."""

_MOST_CLUSTERS = 3
_MOST_MOMENTS = 20
_SENT = "sent"


class Seen(Enum):
    """What is known of a node. ``AFFECTED``: it failed, is late, or differs. ``SPARED``: it was tried, and did not.
    ``AHEAD``: it has not begun. ``LEFT_OUT``: it says nothing, as it is held, or was never part of it.
    """

    AFFECTED = "affected"
    SPARED = "spared"
    AHEAD = "ahead"
    LEFT_OUT = "left out"

    __hash__ = object.__hash__  # as NodeStatus


_COUNTED = frozenset((Seen.AFFECTED, Seen.SPARED))


class NodeFact(Struct, frozen=True):
    """What is known of a node: its reason, since when, and when it was sent."""

    seen: Seen
    reason: str = ""
    since: datetime | None = None
    sent: datetime | None = None


class _Population(Struct):
    """The nodes that are looked at, by their places in the columns of the features."""

    features: Features
    facts: Sequence[NodeFact | None]
    affected: list[int]
    counted: list[int]
    table: Table
    ahead: Sequence[int]

    def clusters(self, places: Sequence[int]) -> Sequence[Sequence[int]]:
        """Return these nodes by the template of their reason, the most common one first; of many, a sample."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for at in places[:: 1 + len(places) // _MOST_REASONS]:
            fact = self.facts[at]
            if fact and fact.reason:
                found[template(fact.reason, self.features.names[at])].append(at)
        return sorted(found.values(), key=len, reverse=True)[:_MOST_CLUSTERS]

    def take(self, gone: Sequence[int]) -> None:
        """Take nodes away that a case has explained."""
        away = set(gone)
        hit = [at for at in self.affected if at in away]
        self.table = self.table.without(self.features, gone, hit)
        self.affected = list(filterfalse(away.__contains__, self.affected))
        self.counted = list(filterfalse(away.__contains__, self.counted))


def find_cases(kind: CaseKind, nodes: Mapping[NodeName, NodeFact], features: Features) -> tuple[Case, ...]:
    """Return the cases of these nodes, the best first; none where nothing stands out.

    ``features``: of any nodes, those of the mapping among them or not. Nodes that it lacks have no feature.
    """
    affected = sum(fact.seen is Seen.AFFECTED for fact in nodes.values())
    if affected < LEAST:
        return ()
    population = _population(nodes, features)
    cases: list[Case] = []
    while len(cases) < MOST_CASES and len(population.affected) >= LEAST:
        candidates = population.table.candidates(len(population.counted), len(population.affected))
        if not candidates:
            break
        best = refined(
            population.features,
            population.table,
            candidates[0],
            population.counted,
            population.affected,
            population.clusters,
        )
        explained = affected - len(population.affected)
        cases.append(replace(_case(kind, population, best, candidates), explained=explained))
        if len(cases) < MOST_CASES:
            column = population.features.columns[best.feature]
            # Of nodes of which the feature is not known, the case may be the cause as well.
            gone = holders(column, best.value, population.counted) + holders(column, "", population.counted)
            population.take(gone)
    if len(cases) < MOST_CASES and (alike := _alike(kind, population)):
        cases.append(replace(alike, explained=affected - len(population.affected)))
    return tuple(cases)


def _population(nodes: Mapping[NodeName, NodeFact], features: Features) -> _Population:
    facts = list(map(nodes.get, features.names))
    if len(nodes) > sum(map(bool, facts)):
        unknown = list(nodes.keys() - set(features.names))
        columns = {name: [*column, *[""] * len(unknown)] for name, column in features.columns.items()}
        features = Features([*features.names, *unknown], columns)
        facts += [nodes[name] for name in unknown]
    seen = [fact.seen if fact else Seen.LEFT_OUT for fact in facts]
    counted = bytes(map(_COUNTED.__contains__, seen))
    places = range(len(seen))
    affected = [at for at in places if seen[at] is Seen.AFFECTED]
    features = _with_moments(features, facts)
    table = Table.of(features, counted, affected)
    ahead = [at for at in places if seen[at] is Seen.AHEAD]
    return _Population(features, facts, affected, list(compress(places, counted)), table, ahead)


def _with_moments(features: Features, facts: Sequence[NodeFact | None]) -> Features:
    """Add when nodes were sent as a feature: the moments before which each was not sent."""
    sent = [fact.sent if fact else None for fact in facts]
    moments = sorted(moment for moment in set(sent) if moment)
    if len(moments) < 2:
        return features
    # The first moment sets nobody apart.
    shown = moments[1 :: max(1, len(moments) // _MOST_MOMENTS)]
    since: dict[datetime | None, Value] = {
        moment: frozenset(clock(past) for past in shown if past <= moment) for moment in moments
    }
    since[None] = ""
    column = list(map(since.__getitem__, sent))
    return Features(features.names, {**features.columns, _SENT: column})


def _case(kind: CaseKind, population: _Population, best: Candidate, candidates: Sequence[Candidate]) -> Case:
    features = population.features
    column = features.columns[best.feature]
    hit = holders(column, best.value, population.affected)
    ahead = holders(column, best.value, population.ahead)
    case = Case(
        kind,
        best.feature,
        best.value,
        tuple(sorted(features.names[at] for at in hit)),
        best.affected,
        best.size - best.hits,
        best.known - best.affected,
        unknown=len(population.affected) - best.affected,
        also=_ties(population, best, candidates),
        rest=len(ahead),
    )
    return _with_words(case, population, hit)


def _ties(population: _Population, best: Candidate, candidates: Sequence[Candidate]) -> tuple[Tie, ...]:
    """Return the other values that hold the same nodes, where both are known."""
    columns = population.features.columns
    column = columns[best.feature]
    ties = []
    for other in candidates:
        is_same = (other.feature, other.value) == (best.feature, best.value)
        # Counting is cheap, and most candidates are far from equal.
        far = not best.hits / 2 <= other.hits <= best.hits * 2 or other.size > best.size * 2
        if is_same or far:
            continue
        theirs = columns[other.feature]
        if all(
            column[at] == "" or theirs[at] == ""
            for places in (population.affected, population.counted)
            for at in set(holders(column, best.value, places)).symmetric_difference(
                holders(theirs, other.value, places)
            )
        ):
            ties.append(Tie(other.feature, other.value))
    return tuple(ties)


def _with_words(case: Case, population: _Population, hit: Sequence[int]) -> Case:
    """Return the case with what most of its nodes give as the reason, and since when."""
    facts = [(population.features.names[at], population.facts[at]) for at in hit]
    reasons: dict[str, str] = {name: fact.reason for name, fact in facts[:_MOST_WORDS] if fact and fact.reason}
    moments = [fact.since for _, fact in facts if fact and fact.since]
    words = first_words(in_common(reasons)) if reasons else ""
    return replace(case, since=min(moments, default=None), words=words)


def _alike(kind: CaseKind, population: _Population) -> Case | None:
    """Return the case of nodes that only give the same reason, of so many that chance does not explain it."""
    templates: Counter[str] = Counter()
    of_nodes: dict[int, str] = {}
    for at in population.affected:
        fact = population.facts[at]
        if fact and fact.reason:
            of_nodes[at] = template(fact.reason, population.features.names[at])
            templates[of_nodes[at]] += 1
    if not templates:
        return None
    common = templates.most_common(1)[0][0]
    words = min((text for text in templates if _is_detailed(common, text)), key=len)
    hit = [at for at, text in of_nodes.items() if _is_detailed(text, words)]
    affected, known = len(population.affected), len(population.counted)
    if not is_more_than_background(len(hit), affected, known, len(templates)):
        return None
    nodes = tuple(sorted(population.features.names[at] for at in hit))
    case = Case(kind, WORDS, words, nodes, affected, 0, known - affected, rest=len(population.ahead))
    return _with_words(case, population, hit)


def _is_detailed(text: str, reason: str) -> bool:
    """Return whether a text is this reason, with more details or without: peers are asked for those of a few nodes."""
    return text == reason or text.startswith(f"{reason};")
