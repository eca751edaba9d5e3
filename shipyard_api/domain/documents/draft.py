"""The data of one document during rendering.

A draft never changes the data that it starts from: it copies a mapping or list, one level deep, on the first write into
it. So unchanged data costs nothing, however large it is, and no other document sees the change (contract: deckhand B7,
"always copy").
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from shipyard_api.domain.documents.paths import MISSING, Path, PathError, places, pointer, read
from shipyard_api.domain.documents.sizes import NODES, TEXT, Sizes, TooLargeError

_PADDING_LIMIT = 10_000


class Draft:
    """A copy-on-write value."""

    def __init__(self, value: Any) -> None:
        self._root = value
        # By identity; the values keep the containers alive, so their ids are not reused.
        self._owned_containers: dict[int, Any] = {}
        self._padding = 0
        self._written = 0

    @property
    def value(self) -> Any:
        """The current data. Do not change the draft after handing this out."""
        return self._root

    def put(self, path: Path, value: Any) -> None:
        """Write the value at the path and create missing containers (B6). Raises PathError."""
        for place in self._targets(path):
            self._write(place, value)

    def merge(self, path: Path, value: Any) -> None:
        """Merge a mapping into the mapping at the path, key by key; replace anything else. Raises PathError."""
        for place in self._targets(path):
            old = _at(place, self._root)
            both = isinstance(old, dict) and isinstance(value, dict)
            self._write(place, self._merged(old, value) if both else value)

    def overlay(self, value: Any) -> None:
        """Update the data with the keys of a mapping; anything else replaces the data (B7, path ``.``)."""
        if isinstance(value, dict) and isinstance(self._root, dict):
            self._owned(self._root, into=self._set_root).update(value)
        else:
            self._root = value

    def delete(self, path: Path) -> bool:
        """Delete the value at the path; return whether there was one other than null."""
        targets = [place for place in self._places(path) if _at(place, self._root) is not None]
        # Last elements first, so that the places of the others stay valid.
        for place in sorted(targets, key=_sort_key, reverse=True):
            if not place:
                self._root = {}
                break
            container = self._container(place)
            del container[place[-1]]
        return bool(targets)

    def change_texts(self, path: Path, change: Callable[[str], str], *, depth: int | None, contains: str) -> None:
        """Change the text at the path, or with a ``depth`` the texts below it that contain ``contains`` (B7).

        ``depth``: 1 for direct members, -1 for all, None if the path must lead to a text. Raises PathError.
        """
        targets = self._places(path)
        if not targets:
            raise PathError("the path leads nowhere")
        if depth is not None:
            self._check_size()
        for place in targets:
            value = _at(place, self._root)
            if isinstance(value, str):
                self._replace_text(place, value, change)
            elif depth is None or not isinstance(value, dict | list):
                raise PathError("there is no text at the path")
            else:
                for inner, text in _texts(value, depth):
                    if contains in text:
                        self._replace_text((*place, *inner), text, change)

    def _replace_text(self, place: Sequence[str | int], text: str, change: Callable[[str], str]) -> None:
        changed = change(text)
        if changed != text:
            self._written += len(changed)
            if self._written > TEXT:
                raise PathError(f"the texts of the document would come to more than {TEXT:,} characters")
            self._write(place, changed)

    def _places(self, path: Path) -> Sequence[tuple[str | int, ...]]:
        if not path.is_plain:
            self._check_size()
        return places(path, self._root)

    def _check_size(self) -> None:
        """Raise PathError for data that is small only because parts of it are shared."""
        try:
            Sizes().add(self._root)
        except TooLargeError as large:
            raise PathError(str(large)) from None

    def _targets(self, path: Path) -> Sequence[Sequence[str | int]]:
        plain = [step for step in path.steps if isinstance(step, str | int)]
        if len(plain) == len(path.steps):
            return [plain]
        targets = self._places(path)
        if not targets:
            raise PathError("the path leads nowhere, and there is no one place that could be made")
        return targets

    def _write(self, place: Sequence[str | int], value: Any) -> None:
        if place:
            self._set(self._container(place), place[-1], value)
        else:
            self._root = value

    def _container(self, place: Sequence[str | int]) -> Any:
        """Return a writable mapping or list that holds the place; creates missing ones."""
        node = self._ready(self._root, place[0], place[:0])
        self._root = node
        for position, (step, after) in enumerate(pairwise(place), start=1):
            child = self._ready(_get(node, step), after, place[:position])
            self._set(node, step, child)
            node = child
        return node

    def _set(self, container: Any, step: str | int, value: Any) -> None:
        if isinstance(step, str) or -len(container) <= step < len(container):
            container[step] = value
            return
        if not len(container) <= step < _PADDING_LIMIT:
            raise PathError(f"the list has {len(container)} elements, and none could be numbered {step}")
        self._padding += step - len(container)
        if self._padding > NODES:
            raise PathError(f"the lists of the document would be filled up with more than {NODES:,} mappings")
        container.extend({} for _ in range(step - len(container)))
        container.append(value)

    def _ready(self, value: Any, step: str | int, place: Sequence[str | int]) -> Any:
        wanted = dict if isinstance(step, str) else list
        if value is MISSING:
            container: Any = wanted()
            self._owned_containers[id(container)] = container
            return container
        if not isinstance(value, wanted):
            kind = "mapping" if wanted is dict else "list"
            raise PathError(f"there is no {kind} at {pointer(place) or 'the root'} to go on from")
        return self._owned(value)

    def _owned(self, container: Any, into: Callable[[Any], None] = lambda _: None) -> Any:
        if id(container) not in self._owned_containers:
            container = container.copy()
            self._owned_containers[id(container)] = container
            into(container)
        return container

    def _set_root(self, value: Any) -> None:
        self._root = value

    def _merged(self, under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = self._owned(under)
        for key, value in over.items():
            old = result.get(key)
            both = isinstance(old, dict) and isinstance(value, dict)
            result[key] = self._merged(old, value) if both else value  # type: ignore[arg-type]  # both are mappings
        return result


def _at(place: Sequence[str | int], value: Any) -> Any:
    """Return the value at a place, or MISSING."""
    return read(Path("", tuple(place)), value)


def _get(container: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return container.get(step, MISSING)
    return container[step] if -len(container) <= step < len(container) else MISSING


def _sort_key(place: Sequence[str | int]) -> list[tuple[int, str | int]]:
    """Return a sort key for places of one value: numbers by size, keys by text."""
    return [(0, step) if isinstance(step, int) else (1, step) for step in place]


def _texts(value: Any, depth: int) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the texts below a value with their places, before any of them changes."""
    texts: list[tuple[tuple[str | int, ...], str]] = []
    level: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while level and depth:
        depth -= 1
        inner = []
        for place, container in level:
            members = container.items() if isinstance(container, dict) else enumerate(container)
            for step, member in members:
                if isinstance(member, str):
                    texts.append(((*place, step), member))
                elif isinstance(member, dict | list):
                    inner.append(((*place, step), member))
        level = inner
    return texts
