"""Compare two states of a design, document by document and value by value (seed 004; contract: deckhand A9).

Changes are named as the DeepDiff library names them, with JSON pointers for places. Applying the changes to the earlier
state gives the later one. Programs read changes, people read a unified diff.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from shipyard_api.domain.documents.document import Change, Collection, Document
from shipyard_api.domain.documents.paths import pointer

Place = tuple[str | int, ...]


class ValueChange(Struct, frozen=True):
    """One difference inside a document. ``kind``: DeepDiff's name for it. ``old`` or ``new`` is None where absent."""

    kind: str
    place: Place
    old: Any = None
    new: Any = None

    @property
    def path(self) -> str:
        """The place as a JSON pointer into the document."""
        return pointer(self.place)


class DocumentChange(Struct, frozen=True):
    """The change of one document of a collection between two states."""

    collection: Collection
    change: Change
    before: Document | None
    after: Document | None

    @property
    def document(self) -> Document:
        """The document in the later state, or in the earlier one if it was deleted."""
        for document in (self.after, self.before):
            if document is not None:
                return document
        raise ValueError("a change needs a document")

    def values(self) -> Sequence[ValueChange]:
        """Return the differences of a document that is in both states; empty if it was created or deleted."""
        if self.before is None or self.after is None:
            return ()
        return list(value_changes(_parts(self.before), _parts(self.after)))


Documents = Iterable[tuple[Collection, Document]]


def compare_documents(before: Documents, after: Documents) -> tuple[DocumentChange, ...]:
    """Return the documents that differ, by collection, schema, layer and name.

    A document that moved to another collection is deleted from the first and created in the second.
    """
    old, new = _by_place(before), _by_place(after)
    changes = []
    for place in sorted(old.keys() | new.keys()):
        earlier, later = old.get(place), new.get(place)
        if earlier is None:
            change = Change.CREATED
        elif later is None:
            change = Change.DELETED
        elif _same(_parts(earlier), _parts(later)):
            continue
        else:
            change = Change.MODIFIED
        changes.append(DocumentChange(place[0], change, earlier, later))
    return tuple(changes)


def value_changes(old: Any, new: Any, place: Place = ()) -> Iterator[ValueChange]:
    """Yield the changes that turn one value into the other, in an order in which they can be applied."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key not in new:
                yield ValueChange("dictionary_item_removed", (*place, key), old=old[key])
        for key, value in new.items():
            if key not in old:
                yield ValueChange("dictionary_item_added", (*place, key), new=value)
            else:
                yield from value_changes(old[key], value, (*place, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index, (earlier, later) in enumerate(zip(old, new, strict=False)):
            yield from value_changes(earlier, later, (*place, index))
        for index in reversed(range(len(new), len(old))):
            yield ValueChange("iterable_item_removed", (*place, index), old=old[index])
        for index in range(len(old), len(new)):
            yield ValueChange("iterable_item_added", (*place, index), new=new[index])
    elif not _same(old, new):
        kind = "values_changed" if type(old) is type(new) else "type_changes"
        yield ValueChange(kind, place, old=old, new=new)


def unified(changes: Iterable[DocumentChange], write: Callable[[Mapping[str, Any]], str]) -> str:
    """Return the changes as a unified diff of the documents as text; ``write`` renders a document."""
    pieces: list[str] = []
    for change in changes:
        document = change.document
        label = f"{change.collection}/{document.schema}/{document.layer or '-'}/{document.name}"
        before, after = _parts(change.before), _parts(change.after)
        old = [] if change.before is None else write(_arranged(before, after)).splitlines()
        new = [] if change.after is None else write(after).splitlines()
        lines = difflib.unified_diff(
            old,
            new,
            "/dev/null" if change.before is None else f"a/{label}",
            "/dev/null" if change.after is None else f"b/{label}",
            lineterm="",
        )
        pieces.extend(lines)
    return "".join(f"{line}\n" for line in pieces)


def _by_place(documents: Documents) -> Mapping[tuple[Collection, str, str, str], Document]:
    return {(collection, *document.identity): document for collection, document in documents}


def _arranged(old: Any, new: Any) -> Any:
    """Return the earlier value with its keys in the order of the later one: an order of keys is no change.

    A key that is no longer there follows the key that it followed.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        places, rank, after = {key: place for place, key in enumerate(new)}, {}, (-1, 0)
        for key in old:
            after = (places[key], 0) if key in places else (after[0], after[1] + 1)
            rank[key] = after
        return {key: _arranged(old[key], new.get(key)) for key in sorted(old, key=rank.__getitem__)}
    if isinstance(old, list) and isinstance(new, list):
        return [_arranged(value, new[place] if place < len(new) else None) for place, value in enumerate(old)]
    return old


def _parts(document: Document | None) -> dict[str, Any]:
    if document is None:
        return {}
    return {"schema": document.schema, "metadata": document.metadata, "data": document.data}


def _same(old: Any, new: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1, and 1 is not 1.0."""
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(_same(value, new[key]) for key, value in old.items())
    if isinstance(old, list):
        return len(old) == len(new) and all(_same(before, after) for before, after in zip(old, new, strict=True))
    if isinstance(old, float):
        return repr(old) == repr(new)  # as their JSON: 0.0 is not -0.0
    return bool(old == new)
