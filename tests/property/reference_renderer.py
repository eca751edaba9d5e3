"""Rendering as the contract has it (deckhand, B5 to B8), without a thought for speed: everything is copied every time.

Takes entries of the shape that ``parse_documents`` accepts, with paths of keys, numbers and ``[*]`` only.
"""

import json
import re
from copy import deepcopy
from typing import Any

MISSING: Any = object()


class CannotError(Exception):
    """An action or a substitution cannot be done."""


def steps_of(path: str) -> list[Any]:
    return [
        key if key else "*" if number == "*" else int(number)
        for key, number in re.findall(r"([a-z]+)|\[(\*|-?\d+)\]", path)
    ]


def places_of(steps: list[Any], value: Any) -> list[list[Any]]:
    """Return every place that is there."""
    if not steps:
        return [[]]
    step, rest = steps[0], steps[1:]
    if step == "*":
        inner = list(range(len(value))) if isinstance(value, list) else []
    elif isinstance(step, str):
        inner = [step] if isinstance(value, dict) and step in value else []
    else:
        inner = [step % len(value)] if isinstance(value, list) and -len(value) <= step < len(value) else []
    return [[one, *place] for one in inner for place in places_of(rest, value[one])]


def at(place: list[Any], value: Any) -> Any:
    for step in place:
        value = value[step]
    return value


def read(path: str, value: Any) -> Any:
    found = places_of(steps_of(path), value)
    return deepcopy(at(found[0], value)) if found else MISSING


def write(value: Any, place: list[Any], new: Any) -> Any:
    """Return a copy of the value with something else at the place; what is missing on the way is made."""
    if not place:
        return deepcopy(new)
    step, rest = place[0], place[1:]
    if isinstance(step, str):
        mapping = {} if value is MISSING else value
        if not isinstance(mapping, dict):
            raise CannotError
        return {**mapping, step: write(mapping.get(step, MISSING), rest, new)}
    items = [] if value is MISSING else value
    if not isinstance(items, list):
        raise CannotError
    items = list(items)
    if -len(items) <= step < len(items):
        items[step] = write(items[step], rest, new)
    elif step < 0:
        raise CannotError
    else:
        while len(items) < step:
            items.append({})
        items.append(write(MISSING, rest, new))
    return items


def remove(value: Any, place: list[Any]) -> Any:
    if not place:
        return {}
    value = deepcopy(value)
    del at(place[:-1], value)[place[-1]]
    return value


def targets(path: str, value: Any) -> list[list[Any]]:
    steps = steps_of(path)
    found = [steps] if "*" not in steps else places_of(steps, value)
    if not found:
        raise CannotError
    return found


def merged(under: Any, over: Any) -> Any:
    if not isinstance(under, dict) or not isinstance(over, dict):
        return deepcopy(over)
    result = deepcopy(under)
    for key, value in over.items():
        result[key] = merged(result[key], value) if key in result else deepcopy(value)
    return result


def act(data: Any, method: str, path: str, child: Any) -> Any:
    if method == "delete":
        found = [place for place in places_of(steps_of(path), data) if at(place, data) is not None]
        if not found:
            raise CannotError
        for place in reversed(found):
            data = remove(data, place)
        return data
    value = read(path, child)
    if value is MISSING or value is None:
        raise CannotError
    for place in targets(path, data):
        there = places_of(place, data)
        old = at(there[0], data) if there else MISSING
        data = write(data, place, merged(old, value) if method == "merge" else value)
    return data


def into_text(pattern: str, value: Any, text: str) -> str:
    if isinstance(value, dict | list):
        raise CannotError
    return re.sub(pattern, lambda _: str(value), text)


def into_tree(pattern: str, value: Any, tree: Any, depth: int) -> Any:
    if isinstance(tree, str):
        return into_text(pattern, value, tree) if pattern in tree else tree
    if depth == 0:
        return tree
    if isinstance(tree, dict):
        return {key: into_tree(pattern, value, inner, depth - 1) for key, inner in tree.items()}
    if isinstance(tree, list):
        return [into_tree(pattern, value, inner, depth - 1) for inner in tree]
    return tree


def put(data: Any, destination: dict[str, Any], value: Any) -> Any:
    path, pattern = destination["path"], destination.get("pattern")
    if pattern is None:
        if steps_of(path):
            for place in targets(path, data):
                data = write(data, place, value)
            return data
        if isinstance(value, dict) and isinstance(data, dict):
            return {**data, **deepcopy(value)}
        return deepcopy(value)
    found = places_of(steps_of(path), data)
    if not found:
        raise CannotError
    for place in found:
        old = at(place, data)
        if isinstance(old, str):
            new: Any = into_text(pattern, value, old)
        elif "recurse" in destination and isinstance(old, dict | list):
            depth = destination["recurse"]["depth"]
            # One more for the text itself: depth counts levels of members.
            new = into_tree(pattern, value, old, depth) if depth != 0 else old
        else:
            raise CannotError
        data = write(data, place, new)
    return data


class Reference:
    """Renders when it is made: ``data`` by position of the entry, and ``findings`` as pairs of word and position."""

    def __init__(self, entries: list[dict[str, Any]], layers: tuple[str, ...]) -> None:
        self.entries = deepcopy(entries)
        self.layers = layers
        self.findings: set[tuple[str, int]] = set()
        self.broken: set[int] = set()
        self.parents: dict[int, int] = {}
        self.replacements: dict[int, int] = {}
        self.data: dict[int, Any] = {}
        everybody = range(len(entries))
        for index in everybody:
            self._find_parent(index)
        self._find_replacements()
        self.sources = {index: self._find_sources(index) for index in everybody}
        self.needs = {
            index: ([] if self._base(index) is None else [self._base(index)])
            + [one for one in self.sources[index] if one is not None]
            for index in everybody
        }
        self.circular = {index for index in everybody if index in self._reached_from(index)}
        waiting = [index for index in everybody if not self.circular & (self._reached_from(index) | {index})]
        self.secret = {
            index
            for index in everybody
            if any(
                entries[one]["metadata"]["storagePolicy"] == "encrypted" for one in self._reached_from(index) | {index}
            )
        }
        while waiting:
            index = next(one for one in waiting if not set(self.needs[one]) & set(waiting))
            waiting.remove(index)
            if index not in self.broken and all(one in self.data for one in self.needs[index]):
                self._make(index)
        self.shown = {
            index for index in self.data if not self._layering(index)["abstract"] and index not in self.replacements
        }

    def _layering(self, index: int) -> dict[str, Any]:
        layering: dict[str, Any] = self.entries[index]["metadata"]["layeringDefinition"]
        return layering

    def _rank(self, index: int) -> int:
        layer = self._layering(index)["layer"]
        return self.layers.index(layer) if layer in self.layers else -1

    def _key(self, index: int) -> tuple[str, str]:
        return self.entries[index]["schema"], self.entries[index]["metadata"]["name"]

    def _is_replacement(self, index: int) -> bool:
        return bool(self.entries[index]["metadata"].get("replacement"))

    def _wrong(self, name: str, *indices: int) -> None:
        for index in indices:
            self.findings.add((name, index))
            self.broken.add(index)

    def _find_parent(self, index: int) -> None:
        if self._rank(index) < 0:
            self._wrong("InvalidDocumentLayer", index)
            return
        selector = self._layering(index).get("parentSelector")
        if not selector:
            return
        fitting = []
        for other, entry in enumerate(self.entries):
            labels = entry["metadata"].get("labels", {})
            if other != index and all(
                key in labels and json.dumps(labels[key]) == json.dumps(value) for key, value in selector.items()
            ):
                fitting.append(other)
        ranks = [self._rank(one) for one in fitting]
        schema = self.entries[index]["schema"]
        if any(self.entries[one]["schema"] != schema or self._rank(one) >= self._rank(index) for one in fitting):
            self._wrong("InvalidDocumentParent", index)
        elif len({self._layering(one)["layer"] for one in fitting}) < len(fitting):
            self._wrong("IndeterminateDocumentParent", index)
        elif fitting:
            self.parents[index] = fitting[ranks.index(max(ranks))]

    def _find_replacements(self) -> None:
        everybody = range(len(self.entries))
        for index in everybody:
            if not self._is_replacement(index) or index in self.broken:
                continue
            parent = self.parents.get(index)
            if parent is None or self._key(parent) != self._key(index) or self._is_replacement(parent):
                self._wrong("InvalidDocumentReplacement", index)
            else:
                self.replacements.setdefault(parent, index)
        for key in {self._key(index) for index in everybody}:
            same = [index for index in everybody if self._key(index) == key]
            if len(same) == 1:
                continue
            if len(same) == 2 and (
                self.replacements.get(same[0]) == same[1] or self.replacements.get(same[1]) == same[0]
            ):
                continue
            if self.broken.isdisjoint(same):
                self._wrong("InvalidDocumentReplacement", *same)
            self.broken.update(same)  # which of them is meant, nobody knows

    def _find_sources(self, index: int) -> list[int | None]:
        found: list[int | None] = []
        for entry in self.entries[index]["metadata"].get("substitutions", []):
            wanted = entry["src"]["schema"], entry["src"]["name"]
            fitting = [
                one
                for one in range(len(self.entries))
                if self._key(one) == wanted and one not in self.replacements and not self._layering(one)["abstract"]
            ]
            if not fitting:
                self._wrong("SubstitutionSourceNotFound", index)
            if len(fitting) > 1:
                self.broken.add(index)  # which of them is meant, nobody knows; that has been told
            found.append(fitting[0] if len(fitting) == 1 else None)
        return found

    def _base(self, index: int) -> int | None:
        parent = self.parents.get(index)
        if parent is None:
            return None
        standing_in = self.replacements.get(parent, parent)
        return parent if standing_in == index else standing_in

    def _reached_from(self, index: int) -> set[int]:
        reached: set[int] = set()
        waiting = list(self.needs[index])
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting.extend(self.needs[one])
        return reached

    def _make(self, index: int) -> None:
        entry, base = self.entries[index], self._base(index)
        data = deepcopy(entry["data"])
        before = len(self.findings)
        if base is not None:
            data = deepcopy(self.data[base])
            for action in self._layering(index)["actions"]:
                try:
                    data = act(data, action["method"], action["path"], entry["data"])
                except CannotError:
                    self._wrong("MissingDocumentKey", index)
        if len(self.findings) == before:
            for position, substitution in enumerate(entry["metadata"].get("substitutions", [])):
                data = self._substituted(index, position, substitution, data)
        if len(self.findings) == before:
            self.data[index] = data

    def _substituted(self, index: int, position: int, substitution: dict[str, Any], data: Any) -> Any:
        taken_from = self.sources[index][position]
        assert taken_from is not None
        source = self.data[taken_from]
        src = substitution["src"]
        value = read(src["path"], source) if isinstance(source, dict) else deepcopy(source)
        if value is MISSING or value is None:
            self._wrong("SubstitutionSourceDataNotFound", index)
            return data
        if "pattern" in src:
            if not isinstance(value, str):
                self._wrong("UnknownSubstitutionError", index)
                return data
            found = re.search(src["pattern"], value)
            value = found.group(src.get("match_group", 0)) if found else value
        destinations = substitution["dest"] if isinstance(substitution["dest"], list) else [substitution["dest"]]
        for destination in destinations:
            try:
                data = put(data, destination, value)
            except CannotError:
                self._wrong("UnknownSubstitutionError", index)
        return data
