"""Layering: the parent of each document, and a child's actions on its parent's data."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from shipyard_simulators.deckhand import paths
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.rows import Row, same


def find_parents(rows: Sequence[Row], layers: Sequence[str]) -> dict[int, Row]:
    """Return the parent of every row that has one, by the row's number. Raises DeckhandError."""
    for row in rows:
        if row.layer not in layers:
            raise DeckhandError(
                400, "InvalidDocumentLayer", f"Document {row.title} has layer {row.layer!r}, not one of {list(layers)}."
            )
    rank = {layer: position for position, layer in enumerate(layers)}
    by_label: dict[str, list[Row]] = {}
    for row in rows:
        for label in row.metadata.get("labels") or {}:
            by_label.setdefault(label, []).append(row)
    parents = {}
    for row in rows:
        parent = _find_parent(row, by_label, rank)
        if parent is not None:
            parents[row.number] = parent
    return parents


def _find_parent(row: Row, by_label: Mapping[str, Sequence[Row]], rank: Mapping[str, int]) -> Row | None:
    selector = row.metadata["layeringDefinition"].get("parentSelector")
    if not selector:
        return None
    candidates = [
        other
        for other in by_label.get(next(iter(selector)), ())
        if other is not row and all(_has(other.metadata["labels"], label, selector[label]) for label in selector)
    ]
    for other in candidates:
        if other.schema != row.schema or rank[other.layer] >= rank[row.layer]:
            why = "another schema" if other.schema != row.schema else f"the layer {other.layer!r}"
            raise DeckhandError(
                400, "InvalidDocumentParent", f"The parent {other.title} of {row.title} is invalid: it has {why}."
            )
    for layer in reversed(list(rank)):
        level = [other for other in candidates if other.layer == layer]
        if len(level) > 1:
            names = ", ".join(other.title for other in level)
            raise DeckhandError(400, "IndeterminateDocumentParent", f"{row.title} has too many parents: {names}.")
    return max(candidates, key=lambda other: rank[other.layer], default=None)


def _has(labels: Mapping[str, Any], label: str, value: object) -> bool:
    return label in labels and same(labels[label], value)


def layered(row: Row, own: Any, parent: Any, *, delete_by_value: bool) -> Any:
    """Return the parent's data after the actions of the row."""
    data, own = copy.deepcopy(parent), copy.deepcopy(own)
    for action in row.metadata["layeringDefinition"].get("actions", ()):
        try:
            path = paths.parse(_relative(action["path"]))
            data = _applied(action["method"], path, data, own, delete_by_value=delete_by_value)
        except (paths.PathUnreadable, paths.PathBlocked) as cause:
            raise DeckhandError(500, cause.error_type, str(cause)) from cause
        except KeyError as cause:
            raise DeckhandError(
                400, "MissingDocumentKey", f"Action {action['method']} of {row.title}: nothing at {action['path']}."
            ) from cause
    return data


def _relative(path: str) -> str:
    # Cut by letters, as the real one does: `.database` loses its first letters, too.
    for head in (".data", "$.data"):
        if path.startswith(head):
            path = path[len(head) :]
            break
    return path if path.startswith((".", "$")) else f".{path}"


def _applied(method: str, path: paths.Path, data: Any, own: Any, *, delete_by_value: bool) -> Any:
    """Return the data after one action. Raises KeyError if a needed value is missing or null."""
    if method == "delete":
        return _without(data, path, by_value=delete_by_value)
    value = paths.read(own, path)
    if value is None:
        raise KeyError(path)
    if method == "merge":
        places = paths.find(data, path)
        if places and all(isinstance(each, dict) for each in (value, *(place.value for place in places))):
            for place in places:
                _merge(place.value, copy.deepcopy(value))
            return data
    return paths.write(data, path, value)


def _merge(into: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _without(data: Any, path: paths.Path, *, by_value: bool) -> Any:
    if not path:
        return {}
    places = paths.find(data, path)
    if not places or places[0].value is None:
        raise KeyError(path)
    if by_value:
        _delete_first_equal(data, places[0].value)
        return data
    # From the end, so that the indexes of the other elements stay valid.
    for place in reversed(places):
        del place.holder[place.key]
    return data


def _delete_first_equal(holder: Any, value: Any) -> bool:
    members = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
    for key, member in list(members):
        if member == value:
            del holder[key]
            return True
        if _delete_first_equal(member, value):
            return True
    return False
