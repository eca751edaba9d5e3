"""Filter, sort and limit the documents of a design as Deckhand's API does (contract: deckhand A5, A6)."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from shipyard_api.domain.documents.document import layering_of
from shipyard_api.domain.documents.paths import MISSING, PathError, parse_path, read
from shipyard_api.domain.documents.rendering import RenderedDocument


class Query(Struct, frozen=True):
    """Filters, order and limit. An empty filter matches everything.

    ``labels``: key and value as text; a document must have all of them, and one of each other filter. ``sort``: paths
    into the document. ``limit``: None for all.
    """

    schemas: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    collections: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    descending: bool = False
    limit: int | None = None


def choose(documents: Sequence[RenderedDocument], query: Query) -> tuple[RenderedDocument, ...]:
    """Return the matching documents, sorted and limited. Redact secrets first: sorting by them would reveal them."""
    chosen = [candidate for candidate in documents if _matches(candidate, query)]
    if query.sort:
        chosen.sort(key=lambda candidate: [_sort_key(candidate, path) for path in query.sort], reverse=query.descending)
    elif query.descending:
        chosen.reverse()
    return tuple(chosen if query.limit is None else chosen[: query.limit])


def _matches(candidate: RenderedDocument, query: Query) -> bool:
    document = candidate.document
    labels = document.metadata.get("labels")
    labels = labels if isinstance(labels, dict) else {}
    return (
        _matches_schema(document.schema, query.schemas)
        and (not query.names or document.name in query.names)
        and (not query.layers or layering_of(document.metadata).get("layer", "") in query.layers)
        and (not query.collections or candidate.collection in query.collections)
        and all(key in labels and str(labels[key]) == value for key, value in query.labels)
    )


def _matches_schema(schema: str, wanted: Sequence[str]) -> bool:
    """Return whether a filter matches. A single value may be a prefix, such as a namespace; several must be exact."""
    if not wanted:
        return True
    if len(wanted) > 1:
        return schema in wanted
    return schema == wanted[0] or schema.startswith(f"{wanted[0].rstrip('/')}/")


def _sort_key(candidate: RenderedDocument, path: str) -> tuple[int, Any]:
    """Return a sort key that any two documents have: numbers before texts before all others."""
    whole = {
        "schema": candidate.document.schema,
        "metadata": candidate.document.metadata,
        "status": {"bucket": candidate.collection, "revision": candidate.since},
        "data": candidate.document.data,
    }
    try:
        value = read(parse_path(path if path.startswith((".", "$")) else f".{path}"), whole)
    except PathError:
        value = MISSING
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, "")
