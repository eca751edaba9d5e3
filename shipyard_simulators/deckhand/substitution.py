"""Substitution: copy a value of a source document to a place in another document."""

import copy
import re
from collections.abc import Callable
from typing import Any

from shipyard_simulators.deckhand import paths
from shipyard_simulators.deckhand.errors import DeckhandError


def destinations(substitution: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the destinations of a substitution, in either notation."""
    dest = substitution["dest"]
    return [dest] if isinstance(dest, dict) else list(dest)


def source_value(src: dict[str, Any], data: Any) -> Any:
    """Return the value of the source, not copied."""
    value = data
    if isinstance(data, dict):
        try:
            value = paths.read(data, paths.parse(src["path"]))
        except paths.PathUnreadable as cause:
            raise DeckhandError(500, cause.error_type, str(cause)) from cause
    if value is None:
        place = f"[{src['schema']}] {src['name']} at {src['path']}"
        raise DeckhandError(400, "SubstitutionSourceDataNotFound", f"There is nothing to substitute from {place}.")
    if "pattern" not in src:
        return value
    with _Unknown():
        match = re.search(src["pattern"], value)
        return match.group(src.get("match_group", 0)) if match else value


def substituted(data: Any, dest: dict[str, Any], value: Any, *, shared: bool) -> Any:
    """Return the data with the value at the destination. ``shared``: nested objects stay the source's own."""
    with _Unknown():
        if not dest["path"].startswith((".", "$")):
            raise PathWithoutRoot(dest["path"])
        path = paths.parse(dest["path"])
        # The real Deckhand copies only the outermost mapping or list: nested values stay the source's own.
        value = copy.copy(value) if shared else copy.deepcopy(value)
        if "pattern" in dest:
            return _into_text(data, path, dest, value)
        if path:
            return paths.write(data, path, value)
        if isinstance(value, dict) and isinstance(data, dict):
            return data | value
        if not value and not isinstance(data, dict):
            # The real Deckhand takes an empty result for a failure.
            raise ValueError(value)
        return value


class PathWithoutRoot(ValueError):
    """A destination without a leading dot or root."""


class _Unknown:
    """Turn every exception inside into the one error that has no details."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise DeckhandError(500, "UnknownSubstitutionError") from error


def _into_text(data: Any, path: paths.Path, dest: dict[str, Any], value: Any) -> Any:
    pattern, recurse = dest["pattern"], dest.get("recurse")

    def replaced(text: Any) -> str:
        # The value is a regular expression's replacement, so its backslashes have a meaning.
        return re.sub(pattern, str(value), text)

    places = paths.find(data, path)
    if not places:
        raise KeyError(path)
    for place in places:
        if recurse is not None and isinstance(place.value, dict | list):
            _below(place.value, int(recurse["depth"]), pattern, replaced)
        elif place.holder is None:
            return replaced(place.value)
        else:
            place.holder[place.key] = replaced(place.value)
    return data


def _below(holder: Any, depth: int, pattern: str, replaced: Callable[[Any], str]) -> None:
    if depth == 0:
        return
    for key, member in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        if isinstance(member, str) and pattern in member:
            holder[key] = replaced(member)
        elif isinstance(member, dict | list):
            _below(member, depth - 1, pattern, replaced)
