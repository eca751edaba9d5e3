"""Where the values that change were written: the documents and places that an operator edits (product, section 14)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from shipyard_api.domain.documents import Revision, StoredDocument
from shipyard_api.domain.documents.explanation import explain, tokens_of, written_at
from shipyard_api.domain.findings import DocumentRef
from shipyard_api.usecases.actions.design_changes import DesignChanges, ValueChange, Written

_EXPLAINED = 20
"""Places that a plan explains: each replays the rendering of its document, 10 ms to 0.1 s in a real site."""

_LONGEST = 5.0  # seconds


def with_written(
    changes: DesignChanges, revision: Revision, stored: Callable[[Revision], Sequence[StoredDocument]]
) -> DesignChanges:
    """Return the changes with where their values were written, of as many as there is time for.

    ``stored``: returns the documents of a revision; one that renders for itself is replayed by our rules. A value that
    layering or a substitution took from another document was written there, once for all that have it.
    """
    if not changes.values:
        return changes
    documents, deadline = stored(revision), time.monotonic() + _LONGEST
    known: dict[DocumentRef, Written | None] = {}

    def found(place: DocumentRef) -> Written | None:
        key = DocumentRef(place.schema, place.name, place.path)
        if key not in known and len(known) < _EXPLAINED:
            try:
                tokens = tokens_of(place.path)[1:]
                values = explain(documents, (place.schema, place.name), tokens, lambda: time.monotonic() > deadline)
                known[key] = Written(*written_at(values))
            except LookupError:
                known[key] = None
        return known.get(key)

    return replace(changes, values=[_with_places(change, found) for change in changes.values])


def _with_places(change: ValueChange, found: Callable[[DocumentRef], Written | None]) -> ValueChange:
    places = {(at.stored.document.identity, at.path): at for ref in change.documents if (at := found(ref))}
    return replace(change, written=tuple(places.values()))
