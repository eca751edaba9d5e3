"""Which value of which feature sets the affected nodes apart: Fisher's exact test, and what explains them smallest.

A value is a candidate if enough of its nodes are affected, and so many more than of the others that chance would not
do it once in ``1 / CHANCE`` sites, whatever the number of features.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from math import inf, lgamma, log, log1p
from operator import itemgetter

from msgspec import Struct

from shipyard_api.domain.cases.features import WORDINGS, Column, Features, Value

CHANCE = 0.01
"""The highest probability that chance alone makes any value look like this, over all values that were tried."""

LEAST = 3
"""The least affected nodes of a case."""

LEAST_SHARE = 0.3
"""The least share of the nodes with the value that are affected."""

LEAST_LIFT = 1.25
"""How many times the share of the others the share of the nodes with the value must be."""

BACKGROUND = 0.05
"""The share of nodes that fail on a site without any cause; more of them with the same words are a case."""

_MOST_WEIGHT = 2.0
_CLEARLY = log(100)
_LEAST_PART = 0.2
"""The least share of the affected nodes of a candidate that a smaller one explains in its place."""

_MOST_OF_THEM = 0.5
_SAME_WORDS = 0.8
_ORDER = {feature: place for place, feature in enumerate(WORDINGS)}
_TRIED = LEAST.__le__
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value of a feature: of ``affected`` affected and ``known`` counted nodes, it has ``hits`` and ``size``.

    ``log_p``: the logarithm of the chance of it. ``weight``: the same, as if the feature were known of all nodes: what
    a site does not know must not let another feature win.
    """

    feature: str
    value: str
    hits: int
    size: int
    affected: int
    known: int
    log_p: float = field(default=0.0, compare=False)
    weight: float = field(default=0.0, compare=False)

    @property
    def order(self) -> tuple[float, int, int, str]:
        """The best explanation first; of two equal ones that with fewer other nodes, then the nearer to the metal."""
        return self.weight, self.size, _ORDER.get(self.feature, len(_ORDER)), self.value


def log_fisher(hits: int, size: int, affected: int, known: int) -> float:
    """Return the logarithm of the chance that ``size`` of ``known`` nodes hold at least ``hits`` ``affected`` ones."""
    most = min(size, affected)
    if hits <= max(0, size + affected - known):
        return 0.0
    first = _log_choose(affected, hits) + _log_choose(known - affected, size - hits) - _log_choose(known, size)
    total = term = 1.0
    for more in range(hits, most):
        term *= (affected - more) * (size - more) / ((more + 1) * (known - affected - size + more + 1))
        total += term
        if term < _NEGLIGIBLE * total:
            break
    return min(0.0, first + log(total))


def log_background(hits: int, known: int, share: float = BACKGROUND) -> float:
    """Return the logarithm of the chance that at least ``hits`` of ``known`` nodes fail without a cause."""
    if hits <= known * share:
        return 0.0
    first = _log_choose(known, hits) + hits * log(share) + (known - hits) * log1p(-share)
    total = term = 1.0
    for more in range(hits, known):
        term *= (known - more) / (more + 1) * share / (1 - share)
        total += term
        if term < _NEGLIGIBLE * total:
            break
    return min(0.0, first + log(total))


def _log_choose(all_of: int, some: int) -> float:
    if some < 0 or some > all_of:
        return -inf
    return lgamma(all_of + 1) - lgamma(some + 1) - lgamma(all_of - some + 1)


Tally = Mapping[str, Counter[str]]
"""How many nodes have each value, by feature."""


class Table(Struct, frozen=True):
    """How many of the counted, and of the affected nodes have each value; ``""`` counts those that are not known."""

    counted: Tally
    affected: Tally

    @classmethod
    def of(cls, features: Features, counted: bytes, affected: Sequence[int]) -> "Table":
        """Count; ``counted`` has a byte a node, ``affected`` the places of the affected ones."""
        columns = features.columns
        return cls(
            {name: _spread(Counter(compress(column, counted))) for name, column in columns.items()},
            tally(features, affected),
        )

    def without(self, features: Features, counted: Sequence[int], affected: Sequence[int]) -> "Table":
        """Return the table without these nodes."""
        return Table(_less(self.counted, tally(features, counted)), _less(self.affected, tally(features, affected)))

    def measured(self, part: Candidate, known: int, affected: int) -> Candidate:
        """Return a candidate of some of the nodes with its numbers among all of them."""
        sizes, hits = self.counted[part.feature], self.affected[part.feature]
        known, affected = known - sizes[""], affected - hits[""]
        log_p = log_fisher(hits[part.value], sizes[part.value], affected, known)
        return Candidate(part.feature, part.value, hits[part.value], sizes[part.value], affected, known, log_p)

    def candidates(self, known: int, affected: int) -> list[Candidate]:
        """Return the values that explain more than chance would, the best first."""
        found, tried = [], 0
        for feature, sizes in self.counted.items():
            hits = self.affected[feature]
            all_known, all_affected = known - sizes[""], affected - hits[""]
            tried += sum(map(_TRIED, sizes.values())) - _TRIED(sizes[""])
            for value, number in hits.items():
                if number >= LEAST and value and _stands_out(number, sizes[value], all_affected, all_known):
                    log_p = log_fisher(number, sizes[value], all_affected, all_known)
                    weight = log_p * min(_MOST_WEIGHT, affected / all_affected)
                    found.append(
                        Candidate(feature, value, number, sizes[value], all_affected, all_known, log_p, weight)
                    )
        least = log(CHANCE) - log(max(tried, 1))
        return sorted((candidate for candidate in found if candidate.log_p <= least), key=lambda found: found.order)


def tally(features: Features, places: Sequence[int]) -> Tally:
    """Return how many of these nodes have each value."""
    return {name: _spread(Counter(picked(column, places))) for name, column in features.columns.items()}


def picked(column: Column, places: Sequence[int]) -> Sequence[Value]:
    """Return the values at these places."""
    return itemgetter(*places)(column) if len(places) > 1 else [column[at] for at in places]


def has(held: Value, value: str) -> bool:
    """Return whether a node with this value, or with these, has the other."""
    return held == value if isinstance(held, str) else value in held


def holders(column: Column, value: str, places: Sequence[int]) -> list[int]:
    """Return those of the places whose node has the value."""
    held = picked(column, places)
    having = {one for one in set(held) if has(one, value)}
    return list(compress(places, map(having.__contains__, held)))


def refined(
    features: Features,
    table: Table,
    chosen: Candidate,
    counted: Sequence[int],
    affected: Sequence[int],
    words: Callable[[Sequence[int]], Sequence[Sequence[int]]],
) -> Candidate:
    """Return what explains the affected nodes of a candidate better than it does as a whole, else the candidate.

    Of a power domain of which only one rack fails, it is the rack; of two racks that fail for two reasons, each of
    them. ``table`` counts the nodes at the places ``counted`` and ``affected``. ``words``: clusters nodes by their
    reason.
    """
    while True:
        column = features.columns[chosen.feature]
        inside, hit = holders(column, chosen.value, counted), holders(column, chosen.value, affected)
        parts = Table(tally(features, inside), tally(features, hit)).candidates(len(inside), len(hit))
        whole = (table.measured(part, len(counted), len(affected)) for part in parts if _is_part(part, chosen, hit))
        smaller = next((part for part in whole if part.size < chosen.size), None)
        if smaller is None and len(clusters := words(hit)) > 1:
            least = _LEAST_PART * sum(map(len, clusters))
            large = [cluster for cluster in clusters if len(cluster) >= max(LEAST, least)]
            best = (_of_words(features, table, chosen, cluster, counted, affected) for cluster in large)
            smaller = next((part for part in best if part is not None), None)
        if smaller is None:
            return chosen
        chosen = smaller


def _is_part(part: Candidate, chosen: Candidate, hit: Sequence[int]) -> bool:
    return part.size < chosen.size and part.hits >= _LEAST_PART * len(hit)


def _of_words(
    features: Features,
    table: Table,
    chosen: Candidate,
    cluster: Sequence[int],
    counted: Sequence[int],
    affected: Sequence[int],
) -> Candidate | None:
    """Return what explains the nodes of one reason clearly better than a candidate does, with fewer other nodes."""
    away = list(set(affected).difference(cluster))
    known = Table(table.without(features, away, ()).counted, tally(features, cluster))
    found = known.candidates(len(counted) - len(away), len(cluster))
    mine = (one.weight for one in found if (one.feature, one.value) == (chosen.feature, chosen.value))
    least = next(mine, 0.0) - _CLEARLY
    for candidate in found:
        if candidate.weight > least:
            return None
        # Of a cluster that is a sample, a value without any other node looks better than it is.
        part = table.measured(candidate, len(counted), len(affected))
        if part.size < chosen.size and candidate.hits >= _MOST_OF_THEM * candidate.affected:
            return part
    return None


def _stands_out(hits: int, size: int, affected: int, known: int) -> bool:
    others, others_hit = known - size, affected - hits
    share = hits / size
    return share >= LEAST_SHARE and others > 0 and share * others >= LEAST_LIFT * others_hit


def is_more_than_background(hits: int, affected: int, known: int, tried: int) -> bool:
    """Return whether so many nodes with the same words are a case of their own."""
    enough = hits >= LEAST and hits >= _SAME_WORDS * affected
    return enough and log_background(hits, known) <= log(CHANCE) - log(max(tried, 1))


def _spread(counts: "Counter[Value]") -> "Counter[str]":
    """Return counts of single values, of those that nodes have several of."""
    if not any(isinstance(value, frozenset) for value in counts):
        return counts  # type: ignore[return-value]  # no value is a set
    spread: Counter[str] = Counter()
    for value, number in counts.items():
        for single in (value,) if isinstance(value, str) else value:
            spread[single] += number
    return spread


def _less(whole: Tally, taken: Tally) -> Tally:
    left = {}
    for name, counts in whole.items():
        left[name] = counts.copy()
        left[name].subtract(taken[name])
    return left
