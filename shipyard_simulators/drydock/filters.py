"""Node filters, evaluated as Drydock does, quirks included (contract: Node filters).

A client that follows the documentation but not the program must fail here, not in a data centre.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shipyard_simulators.drydock.design import DesignNode

Matches = set[str]


class NotEvaluable(Exception):
    """A filter that breaks Drydock."""


def select(nodes: Sequence[DesignNode], node_filter: object) -> Matches:
    """Return the names of the nodes that the filter selects; None selects all. Raises NotEvaluable."""
    if node_filter is None:
        return {node.name for node in nodes}
    if not isinstance(node_filter, dict):
        raise NotEvaluable("the filter is not an object")
    filters = node_filter.get("filter_set")
    if not isinstance(filters, list) or not filters:
        raise NotEvaluable("the filter has no filter_set")
    join = _join(node_filter.get("filter_set_type"))
    selected = join([_apply(nodes, each) for each in filters])
    if selected is None:
        raise NotEvaluable("nothing is left to evaluate")
    return selected


def _apply(nodes: Sequence[DesignNode], one_filter: object) -> Matches | None:
    """Return what one filter of the set selects; None for a blank intersection, which has no result of its own."""
    if not isinstance(one_filter, dict):
        raise NotEvaluable("a filter of the set is not an object")
    filter_type = one_filter.get("filter_type")
    join = _join(filter_type)
    hits = [
        {node.name for node in nodes if matches(node)}
        for criterion, read in _CRITERIA.items()
        if one_filter.get(criterion)
        for matches in (read(one_filter[criterion]),)
    ]
    # A blank union is empty; a blank intersection is undecided.
    if not hits:
        return set() if filter_type == "union" else None
    return join([*hits])


def _join(word: object) -> Callable[[list[Matches | None]], Matches | None]:
    if word == "union":
        return _union
    if word == "intersection":
        return _intersection
    raise NotEvaluable(f"neither union nor intersection: {word!r}")


def _union(parts: list[Matches | None]) -> Matches | None:
    joined: Matches = set()
    for part in parts:
        if part is None:
            raise NotEvaluable("a blank filter cannot be joined to others")
        joined |= part
    return joined


def _intersection(parts: list[Matches | None]) -> Matches | None:
    given = [part for part in parts if part is not None]
    return set.intersection(*given) if given else None


def _words(values: object) -> frozenset[str]:
    if not isinstance(values, list):
        raise NotEvaluable("a criterion is not a list")
    return frozenset(value for value in values if isinstance(value, str))


def _by_name(values: object) -> Callable[[DesignNode], bool]:
    names = _words(values)
    return lambda node: node.name in names


def _by_tag(values: object) -> Callable[[DesignNode], bool]:
    tags = _words(values)
    return lambda node: not tags.isdisjoint(node.tags)


def _by_label(values: object) -> Callable[[DesignNode], bool]:
    if not isinstance(values, dict):
        raise NotEvaluable("node_labels is not an object")
    labels: Iterable[tuple[Any, Any]] = tuple(values.items())
    # Each pair is evaluated alone and the hits are united, even if the filter says intersection.
    return lambda node: any(key in node.labels and node.labels[key] == value for key, value in labels)


def _by_rack(values: object) -> Callable[[DesignNode], bool]:
    racks = _words(values)
    return lambda node: node.rack in racks


# rack_labels is missing on purpose: Drydock accepts and ignores it.
_CRITERIA: Mapping[str, Callable[[object], Callable[[DesignNode], bool]]] = {
    "node_names": _by_name,
    "node_tags": _by_tag,
    "node_labels": _by_label,
    "rack_names": _by_rack,
}
