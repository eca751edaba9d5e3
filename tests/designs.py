"""Builders of designs: documents in layers, what they take from each other, and what becomes of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.domain.documents import (
    CONTROL,
    DATA_SCHEMA,
    Collection,
    RenderedDocument,
    Revision,
    StoredDocument,
    parse_documents,
    render,
)
from shipyard_api.domain.findings import Finding
from tests.factories import document, layering_policy

KIND = "test/Kind/v1"
LAYERS = ("global", "region", "type", "site")
POLICY = layering_policy(*LAYERS)
SCHEMAS = DataSchemas()


def in_layer(
    layer: str,
    name: str,
    data: object = None,
    /,
    *,
    schema: str = KIND,
    parent: Mapping[str, Any] | None = None,
    actions: Iterable[tuple[str, str]] = (("merge", "."),),
    abstract: bool = False,
    **metadata: Any,
) -> dict[str, Any]:
    """Return a document of a layer; ``parent`` holds the labels to choose one by, ``data`` is an empty mapping if None.

    Null as data is written as ``...``.
    """
    layering: dict[str, Any] = {"layer": layer, "abstract": abstract}
    if parent is not None:
        layering["parentSelector"] = dict(parent)
        layering["actions"] = [{"method": method, "path": path} for method, path in actions]
    written = {} if data is None else None if data is ... else data
    return document(schema, name, written, layeringDefinition=layering, **metadata)


def taking(
    name: str, path: str, *destinations: str | Mapping[str, Any], schema: str = KIND, **source: Any
) -> dict[str, Any]:
    """Return an entry of ``substitutions``: what is at the path of that document goes to the destinations."""
    places: list[Any] = [{"path": one} if isinstance(one, str) else dict(one) for one in destinations]
    return {
        "src": {"schema": schema, "name": name, "path": path, **source},
        "dest": places[0] if len(places) == 1 else places,
    }


def data_schema(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document that describes a kind."""
    return {"schema": DATA_SCHEMA, "metadata": {"schema": CONTROL, "name": name}, "data": dict(data)}


def stored(*entries: Mapping[str, Any], collection: str = "design") -> list[StoredDocument]:
    """Return documents as a revision holds them; they must be sound."""
    documents, findings = parse_documents(entries, SCHEMAS)
    assert findings == ()
    return [StoredDocument(one, Collection(collection), Revision(1)) for one in documents]


def rendered(*entries: Mapping[str, Any]) -> dict[str, RenderedDocument]:
    """Return what becomes of the documents, under the usual layers, by name; there must be nothing wrong with them."""
    design, findings = render(stored(POLICY, *entries), SCHEMAS)
    assert findings == ()
    assert design is not None
    return {one.document.name: one for one in design.documents if one.document.metadata["schema"] != CONTROL}


def data_of(*entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rendered data of the documents by name."""
    return {name: one.document.data for name, one in rendered(*entries).items()}


def wrong(*entries: Mapping[str, Any], policy: Mapping[str, Any] | None = POLICY) -> Sequence[Finding]:
    """Return what stands in the way of the design, which must be something."""
    design, findings = render(stored(*([] if policy is None else [policy]), *entries), SCHEMAS)
    assert design is None
    assert findings
    return findings


def names_of(findings: Iterable[Finding]) -> list[tuple[str, list[str]]]:
    """Return findings as pairs of their word and the names of the documents they are about."""
    return [(one.name, [ref.name for ref in one.documents]) for one in findings]
