"""The differences between two revisions, by bucket and by document."""

from collections.abc import Iterator
from typing import Any

from shipyard_simulators.deckhand.revisions import Revision
from shipyard_simulators.deckhand.views import View

Changes = dict[str, Any]


def bucket_changes(old: Revision, new: Revision) -> dict[str, str]:
    """Return the change of every bucket that holds a document in either revision."""
    before, after = old.contents(), new.contents()
    changes = {}
    for bucket in sorted(before.keys() | after.keys()):
        if bucket not in before:
            changes[bucket] = "created"
        elif bucket not in after:
            changes[bucket] = "deleted"
        else:
            changes[bucket] = "unmodified" if before[bucket] == after[bucket] else "modified"
    return changes


def document_changes(old: list[View], new: list[View]) -> Changes:
    """Return which rendered documents of a bucket were added, deleted and changed."""
    before, after = ({(each["schema"], each["metadata"]["name"]): each for each in side} for side in (old, new))
    added = [list(key) for key in after if key not in before]
    deleted = [list(key) for key in before if key not in after]
    changed = {}
    for key in before:
        if key in after:
            data = _data_changes(before[key], after[key])
            metadata = value_changes(before[key]["metadata"], after[key]["metadata"])
            if data or metadata:
                changed[str(key)] = {"data_changed": data, "metadata_changed": metadata}
    kinds = {"document_added": added, "document_deleted": deleted, "document_changed": changed}
    return {kind: {"count": len(details), "details": details} for kind, details in kinds.items() if details}


def _data_changes(old: View, new: View) -> Changes:
    changes = value_changes(old["data"], new["data"])
    secret = any(each["metadata"]["storagePolicy"] == "encrypted" for each in (old, new))
    return {"encrypted": True} if changes and secret else changes


def value_changes(old: Any, new: Any) -> Changes:
    """Return the changes by kind; each is named by its place, as a Python expression."""
    found: Changes = {}
    for kind, place, change in _walk(old, new, "root"):
        if kind.startswith("dictionary_item"):
            found.setdefault(kind, []).append(place)
        else:
            found.setdefault(kind, {})[place] = change
    return found


def _walk(old: Any, new: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    if type(old) is not type(new):
        names = {"old_type": type(old).__name__, "new_type": type(new).__name__}
        yield "type_changes", place, {**names, "old_value": old, "new_value": new}
    elif isinstance(old, dict):
        for key in new:
            if key not in old:
                yield "dictionary_item_added", f"{place}[{key!r}]", None
        for key in old:
            if key not in new:
                yield "dictionary_item_removed", f"{place}[{key!r}]", None
            else:
                yield from _walk(old[key], new[key], f"{place}[{key!r}]")
    elif isinstance(old, list):
        for index, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _walk(one, other, f"{place}[{index}]")
        for index in range(len(old), len(new)):
            yield "iterable_item_added", f"{place}[{index}]", new[index]
        for index in range(len(new), len(old)):
            yield "iterable_item_removed", f"{place}[{index}]", old[index]
    elif old != new:
        yield "values_changed", place, {"new_value": new, "old_value": old}
