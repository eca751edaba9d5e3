"""The shape of a document: what a PUT rejects, and the defaults that are stored."""

import re
from collections.abc import Iterator
from typing import Any

from shipyard_simulators.deckhand.errors import DeckhandError, invalid

_SCHEMA = re.compile(r"[A-Za-z]+/[A-Za-z]+/v\d+")
_METADATA = {
    "schema",
    "name",
    "storagePolicy",
    "layeringDefinition",
    "labels",
    "replacement",
    "substitutions",
}
_KINDS = {"metadata/Document/v1", "metadata/Control/v1"}


def checked(documents: list[Any]) -> list[dict[str, Any]]:
    """Return the documents with defaults filled in. Raises DeckhandError for the first invalid one."""
    odd = [position for position, each in enumerate(documents, start=1) if not each or not isinstance(each, dict)]
    if odd:
        raise DeckhandError(
            400, "HTTPBadRequest", f"The documents at the positions {odd} of the body are empty or no mappings."
        )
    return [_checked(document) for document in documents]


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    schema = document.get("schema")
    if isinstance(schema, str) and len(schema.split("/")) < 3:
        raise DeckhandError(500, "IndexError", "Unhandled Exception raised: list index out of range.")
    faults = list(_faults(document))
    if faults:
        metadata = document.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        layering = metadata.get("layeringDefinition")
        named = {
            "schema": schema if isinstance(schema, str) else "",
            "layer": layering.get("layer", "") if isinstance(layering, dict) else "",
            "name": metadata.get("name", ""),
        }
        findings = [{"message": fault, "document": named, "diagnostic": f"{fault} in {named}"} for fault in faults]
        raise invalid("D001", findings)
    return _with_defaults(document)


def _with_defaults(document: dict[str, Any]) -> dict[str, Any]:
    metadata = {"storagePolicy": "cleartext", "replacement": False, **document["metadata"]}
    layering = metadata.get("layeringDefinition")
    metadata["layeringDefinition"] = {"abstract": False, **(layering if isinstance(layering, dict) else {})}
    data = document.get("data", {})
    if metadata["storagePolicy"] == "encrypted" and (
        data is None or (isinstance(data, str | dict | list) and not data)
    ):
        # The secret store rejects empty values.
        metadata["storagePolicy"] = "cleartext"
    return {"schema": document["schema"], "metadata": metadata, "data": data}


def _faults(document: dict[str, Any]) -> Iterator[str]:
    schema, metadata = document.get("schema"), document.get("metadata")
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
        yield "schema is missing or has not the form namespace/Kind/v1"
    if not isinstance(metadata, dict):
        yield "metadata is missing or no mapping"
        return
    if not isinstance(metadata.get("name"), str):
        yield "metadata.name is missing or no text"
    if metadata.get("schema") not in _KINDS:
        yield f"metadata.schema is not one of {sorted(_KINDS)}"
    elif metadata["schema"] == "metadata/Control/v1":
        labels = metadata.get("labels", {})
        if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
            yield "metadata.labels is no mapping of texts"
    else:
        yield from _document_faults(metadata)


def _document_faults(metadata: dict[str, Any]) -> Iterator[str]:
    yield from _only(metadata, _METADATA, "metadata")
    if metadata.get("storagePolicy") not in ("cleartext", "encrypted"):
        yield "metadata.storagePolicy is neither cleartext nor encrypted"
    if not isinstance(metadata.get("labels", {}), dict):
        yield "metadata.labels is no mapping"
    if not isinstance(metadata.get("replacement", False), bool):
        yield "metadata.replacement is neither true nor false"
    layering = metadata.get("layeringDefinition")
    if isinstance(layering, dict):
        yield from _layering_faults(layering)
    else:
        yield "metadata.layeringDefinition is missing or no mapping"
    substitutions = metadata.get("substitutions", [])
    if not isinstance(substitutions, list):
        yield "metadata.substitutions is no list"
        return
    for number, substitution in enumerate(substitutions):
        yield from _substitution_faults(substitution, f"metadata.substitutions[{number}]")


def _layering_faults(layering: dict[str, Any]) -> Iterator[str]:
    place = "metadata.layeringDefinition"
    yield from _only(layering, {"layer", "abstract", "parentSelector", "actions"}, place)
    if not isinstance(layering.get("layer"), str):
        yield f"{place}.layer is missing or no text"
    if not isinstance(layering.get("abstract", False), bool):
        yield f"{place}.abstract is neither true nor false"
    if ("parentSelector" in layering) != ("actions" in layering):
        yield f"{place} has only one of parentSelector and actions"
    selector, actions = layering.get("parentSelector", {"": ""}), layering.get("actions", [{}])
    if not isinstance(selector, dict) or not selector:
        yield f"{place}.parentSelector is empty or no mapping"
    if not isinstance(actions, list) or not actions:
        yield f"{place}.actions is empty or no list"
        return
    for number, action in enumerate(actions if "actions" in layering else ()):
        where = f"{place}.actions[{number}]"
        if not isinstance(action, dict):
            yield f"{where} is no mapping"
            continue
        yield from _only(action, {"method", "path"}, where)
        if action.get("method") not in ("merge", "replace", "delete"):
            yield f"{where}.method is none of merge, replace and delete"
        if not isinstance(action.get("path"), str):
            yield f"{where}.path is missing or no text"


def _substitution_faults(substitution: object, place: str) -> Iterator[str]:
    if not isinstance(substitution, dict):
        yield f"{place} is no mapping"
        return
    yield from _only(substitution, {"src", "dest"}, place)
    src, dest = substitution.get("src"), substitution.get("dest")
    if isinstance(src, dict):
        yield from _only(src, {"schema", "name", "path", "pattern", "match_group", "deepcopy"}, f"{place}.src")
        for key in ("schema", "name", "path"):
            if not isinstance(src.get(key), str):
                yield f"{place}.src.{key} is missing or no text"
        yield from _optional(src, {"pattern": str, "match_group": int, "deepcopy": bool}, f"{place}.src")
    else:
        yield f"{place}.src is missing or no mapping"
    if not isinstance(dest, dict | list) or dest == []:
        yield f"{place}.dest is missing or empty"
        return
    for each in dest if isinstance(dest, list) else [dest]:
        if not isinstance(each, dict):
            yield f"{place}.dest is no mapping"
            continue
        yield from _only(each, {"path", "pattern", "recurse"}, f"{place}.dest")
        if not isinstance(each.get("path"), str):
            yield f"{place}.dest.path is missing or no text"
        yield from _optional(each, {"pattern": str}, f"{place}.dest")
        recurse = each.get("recurse", {"depth": 0})
        depth = recurse.get("depth") if isinstance(recurse, dict) and set(recurse) == {"depth"} else None
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < -1:
            yield f"{place}.dest.recurse has no depth of at least -1, or more than a depth"


def _only(mapping: dict[str, Any], known: set[str], place: str) -> Iterator[str]:
    for key in mapping:
        if key not in known:
            yield f"{place} has the key {key!r}, which is not known"


def _optional(mapping: dict[str, Any], types: dict[str, type], place: str) -> Iterator[str]:
    for key, kind in types.items():
        if key in mapping and type(mapping[key]) is not kind:
            yield f"{place}.{key} is not of the type {kind.__name__}"
