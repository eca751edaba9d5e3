"""Documents as readers get them: clear or redacted, filtered, sorted and limited."""

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import falcon

from shipyard_simulators.deckhand.rows import Row
from shipyard_simulators.deckhand.substitution import destinations

View = dict[str, Any]


def view(row: Row, data: Any, *, metadata: Mapping[str, Any] | None = None, revision: int | None = None) -> View:
    """Return a document as Deckhand shows it, without references to stored data."""
    return {
        "id": row.number,
        "schema": row.schema,
        "metadata": copy.deepcopy(dict(row.metadata if metadata is None else metadata)),
        "data": copy.deepcopy(data),
        "status": {"bucket": row.bucket, "revision": row.since if revision is None else revision},
    }


def redacted(document: View) -> View:
    """Return the document with hashes in place of its data and of the paths of its substitutions."""
    metadata = copy.deepcopy(document["metadata"])
    metadata["storagePolicy"] = "encrypted"
    for substitution in metadata.get("substitutions") or ():
        for place in (substitution["src"], *destinations(substitution)):
            place["path"] = hashed(place["path"])
    return {**document, "metadata": metadata, "data": hashed(document["data"])}


def hashed(value: object) -> str:
    """Return the hash of a value."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def selected(documents: Iterable[View], req: falcon.Request, *, rendered: bool) -> list[View]:
    """Return the documents that the query selects. Raises HTTPInvalidParam."""
    limit = req.get_param_as_int("limit")
    abstract = None if rendered else req.get_param_as_bool("metadata.layeringDefinition.abstract")
    schemas = req.get_param_as_list("schema") or []
    labels = [label.partition("=")[::2] for label in req.get_param_as_list("metadata.label") or []]
    wanted = {
        path: set(req.get_param_as_list(path) or [])
        for path in ("metadata.name", "metadata.layeringDefinition.layer", "status.bucket")
    }

    def fits(document: View) -> bool:
        metadata = document["metadata"]
        return (
            _has_schema(document["schema"], schemas)
            and all(not values or at(document, path) in values for path, values in wanted.items())
            and all((metadata.get("labels") or {}).get(key) == value for key, value in labels)
            and abstract in (None, bool(metadata["layeringDefinition"].get("abstract")))
        )

    found = ordered([document for document in documents if fits(document)], req)
    return found if limit is None else found[: 1 if limit < 0 else limit]


def _has_schema(schema: str, wanted: list[str]) -> bool:
    if len(wanted) == 1:
        return schema == wanted[0] or schema.startswith(f"{wanted[0]}/")
    return not wanted or schema in wanted


def ordered(documents: list[View], req: falcon.Request) -> list[View]:
    """Return the documents sorted by the paths of the query; unknown paths have no effect."""
    keys = req.get_param_as_list("sort") or []
    backwards = req.get_param("order") == "desc"
    for path in reversed(keys):
        values = [at(document, path) for document in documents]
        if any(value is not None for value in values):
            documents = sorted(documents, key=lambda each: _rank(at(each, path)), reverse=backwards)
    return documents


def at(document: View, path: str) -> Any:
    """Return the value at a dotted path, or None."""
    value: Any = document
    for word in path.removeprefix("$").removeprefix(".").split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return value


def _rank(value: object) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        return 1, value, ""
    return (0, 0, "") if value is None else (2, 0, str(value))
