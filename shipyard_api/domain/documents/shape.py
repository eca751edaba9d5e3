"""Check the shape of incoming documents (contract: deckhand B2, B3 and C2). Reports every fault of every document.

Data is never quoted: it may be secret, even in a malformed document.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from shipyard_api.domain.documents.data_schemas import Compile
from shipyard_api.domain.documents.document import (
    CONTROL,
    DATA_SCHEMA,
    DOCUMENT,
    LAYERING_POLICY,
    NAME_LIMIT,
    TEXT_KINDS,
    VALIDATION_POLICY,
    Document,
    Identity,
    layering_of,
    with_defaults,
)
from shipyard_api.domain.documents.paths import PathError, parse_action_path, parse_path, pointer
from shipyard_api.domain.documents.patterns import PatternError, check_pattern
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.json_types import member

_SCHEMA = re.compile(r"[A-Za-z]+/[A-Za-z]+/v[0-9]+")
_VALIDATION = re.compile(r".+-(validation|verification)")

_METADATA = frozenset(
    {"schema", "name", "storagePolicy", "layeringDefinition", "labels", "replacement", "substitutions"}
)
_LAYERING = frozenset({"layer", "abstract", "parentSelector", "actions"})
_ACTION = frozenset({"method", "path"})
_METHODS = ("merge", "replace", "delete")
_SOURCE = {"schema": str, "name": str, "path": str, "pattern": str, "match_group": int, "deepcopy": bool}
_DESTINATION = {"path": str, "pattern": str, "recurse": Mapping}
_KINDS = {str: "text", int: "a whole number", bool: "true or false", Mapping: "a mapping"}

Fault = tuple[str, str]
"""JSON pointer into the document, and the fault there."""


def parse_documents(
    entries: Sequence[object], compile_schema: Compile | None = None
) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """Return the documents of a stream, and findings about their shape.

    ``compile_schema`` checks data schemas; without it, a bad one is found when it is used.
    """
    documents: list[Document] = []
    findings: list[Finding] = []
    places: dict[Identity, int] = {}
    for position, entry in enumerate(entries, start=1):
        faults = [_finding(position, entry, place, message) for place, message in _faults(entry, compile_schema)]
        findings.extend(faults)
        if faults or not isinstance(entry, Mapping):
            continue
        document = _document(entry)
        if document.identity in places:
            findings.append(
                error(
                    "DuplicateDocument",
                    f"Documents {places[document.identity]} and {position} are both {document.schema} "
                    f"'{document.name}' of layer '{document.layer}'; a document may occur once.",
                ).about(document.place)
            )
        places.setdefault(document.identity, position)
        documents.append(document)
    return tuple(documents), tuple(findings)


def _document(entry: Mapping[str, Any]) -> Document:
    metadata = with_defaults(entry["metadata"])
    layer = layering_of(metadata).get("layer", "")
    return Document(
        entry["schema"], metadata["name"], layer if isinstance(layer, str) else "", metadata, entry.get("data", {})
    )


def _finding(position: int, entry: object, place: str, message: str) -> Finding:
    known = ""
    if isinstance(entry, Mapping):
        metadata = entry.get("metadata")
        name = member(metadata, "name")
        said = [_short(value) for value in (entry.get("schema"), name) if value is not None]
        known = f" ({', '.join(said)})" if said else ""
    return error("D001", f"Document {position}: {message}{known}", path=place)


def _short(value: object) -> str:
    """Return a value as text for a message, cut at 80 characters."""
    text = str(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}…"


def _faults(entry: object, compile_schema: Compile | None) -> Iterator[Fault]:
    if not isinstance(entry, Mapping):
        yield "", "is empty or not a mapping; a document has the keys schema, metadata and data"
        return
    schema = entry.get("schema")
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema) or len(schema) > NAME_LIMIT:
        yield "/schema", f"'schema' must be text of the form word/Word/v1 with at most {NAME_LIMIT} characters"
    metadata = entry.get("metadata")
    if not isinstance(metadata, Mapping):
        yield "/metadata", "'metadata' is missing or not a mapping"
        return
    if not _is_name(metadata.get("name")):
        yield "/metadata/name", f"'metadata.name' must be text of 1 to {NAME_LIMIT} printable characters"
    kind = metadata.get("schema")
    if kind == DOCUMENT:
        yield from _document_faults(metadata)
        if (
            isinstance(schema, str)
            and schema in TEXT_KINDS
            and _is_final(metadata)
            and not isinstance(entry.get("data", {}), str)
        ):
            yield "/data", f"the data of a {schema} must be text"
    elif kind == CONTROL:
        yield from _control_faults(schema, metadata, entry.get("data", {}), compile_schema)
    else:
        yield "/metadata/schema", f"'metadata.schema' must be {DOCUMENT} or {CONTROL}"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= NAME_LIMIT and value.isprintable()


def _is_final(metadata: Mapping[str, Any]) -> bool:
    """Return whether the data is final as loaded; other data is checked after rendering."""
    layering = layering_of(metadata)
    return not (layering.get("abstract") or layering.get("parentSelector") or metadata.get("substitutions"))


def _document_faults(metadata: Mapping[str, Any]) -> Iterator[Fault]:
    yield from _unknown(metadata, _METADATA, "/metadata")
    if metadata.get("storagePolicy") not in ("cleartext", "encrypted"):
        yield "/metadata/storagePolicy", "'metadata.storagePolicy' must be cleartext or encrypted"
    if not isinstance(metadata.get("labels", {}), Mapping):
        yield "/metadata/labels", "'metadata.labels' must be a mapping"
    if not isinstance(metadata.get("replacement", False), bool):
        yield "/metadata/replacement", "'metadata.replacement' must be true or false"
    yield from _layering_faults(metadata.get("layeringDefinition"))
    substitutions = metadata.get("substitutions", [])
    if not isinstance(substitutions, list):
        yield "/metadata/substitutions", "'metadata.substitutions' must be a list"
        return
    for index, substitution in enumerate(substitutions):
        yield from _substitution_faults(substitution, f"/metadata/substitutions/{index}")


def _layering_faults(layering: object) -> Iterator[Fault]:
    at = "/metadata/layeringDefinition"
    if not isinstance(layering, Mapping):
        yield f"{at}/layer", "'metadata.layeringDefinition.layer' must name the layer"
        return
    yield from _unknown(layering, _LAYERING, at)
    layer = layering.get("layer")
    if not isinstance(layer, str) or not layer:
        yield f"{at}/layer", "'metadata.layeringDefinition.layer' must name the layer"
    elif not _is_name(layer):
        yield f"{at}/layer", f"the layer must be text of at most {NAME_LIMIT} printable characters"
    if not isinstance(layering.get("abstract", False), bool):
        yield f"{at}/abstract", "'metadata.layeringDefinition.abstract' must be true or false"
    selector, actions = layering.get("parentSelector"), layering.get("actions")
    if ("parentSelector" in layering) != ("actions" in layering):
        yield at, "'parentSelector' and 'actions' need each other"
    if "parentSelector" in layering and (not isinstance(selector, Mapping) or not selector):
        yield f"{at}/parentSelector", "'parentSelector' must be a mapping with at least one label"
    if "actions" in layering:
        if not isinstance(actions, list) or not actions:
            yield f"{at}/actions", "'actions' must be a list with at least one action"
            return
        for index, action in enumerate(actions):
            yield from _action_faults(action, f"{at}/actions/{index}")


def _action_faults(action: object, at: str) -> Iterator[Fault]:
    if not isinstance(action, Mapping):
        yield at, "an action must be a mapping of 'method' and 'path'"
        return
    yield from _unknown(action, _ACTION, at)
    if action.get("method") not in _METHODS:
        yield f"{at}/method", f"'method' must be one of {', '.join(_METHODS)}"
    yield from _path_faults(action.get("path"), f"{at}/path", parse_action_path)


def _substitution_faults(substitution: object, at: str) -> Iterator[Fault]:
    if not isinstance(substitution, Mapping):
        yield at, "a substitution must be a mapping of 'src' and 'dest'"
        return
    yield from _unknown(substitution, frozenset({"src", "dest"}), at)
    source = substitution.get("src")
    if isinstance(source, Mapping):
        yield from _field_faults(source, _SOURCE, ("schema", "name"), f"{at}/src")
        yield from _path_faults(source.get("path"), f"{at}/src/path", parse_path)
        if isinstance(source.get("pattern"), str):
            yield from _pattern_faults(source["pattern"], source.get("match_group", 0), f"{at}/src")
    else:
        yield f"{at}/src", "'src' must be a mapping of 'schema', 'name' and 'path'"
    destinations = substitution.get("dest")
    if isinstance(destinations, Mapping):
        yield from _destination_faults(destinations, f"{at}/dest")
    elif isinstance(destinations, list) and destinations:
        for index, destination in enumerate(destinations):
            yield from _destination_faults(destination, f"{at}/dest/{index}")
    else:
        yield f"{at}/dest", "'dest' must be a mapping with a 'path', or a list of at least one"


def _destination_faults(destination: object, at: str) -> Iterator[Fault]:
    if not isinstance(destination, Mapping):
        yield at, "a destination must be a mapping with a 'path'"
        return
    yield from _field_faults(destination, _DESTINATION, (), at)
    path = destination.get("path")
    if isinstance(path, str) and path and path[0] not in ".$":
        yield f"{at}/path", "the path of a destination must begin with a dot or $"
    else:
        yield from _path_faults(path, f"{at}/path", parse_path)
    if isinstance(destination.get("pattern"), str):
        yield from _pattern_faults(destination["pattern"], 0, at)
    recurse = destination.get("recurse")
    if isinstance(recurse, Mapping):
        yield from _unknown(recurse, frozenset({"depth"}), f"{at}/recurse")
        depth = recurse.get("depth")
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < -1:
            yield f"{at}/recurse/depth", "'depth' must be a whole number from -1 on"


def _field_faults(
    entry: Mapping[str, Any], known: Mapping[str, type], required: Sequence[str], at: str
) -> Iterator[Fault]:
    yield from _unknown(entry, known.keys(), at)
    for name in required:
        if name not in entry:
            yield f"{at}/{name}", f"'{name}' is missing"
    for name, kind in known.items():
        value = entry.get(name)
        invalid = name in entry and (not isinstance(value, kind) or (kind is int and isinstance(value, bool)))
        if invalid and name != "path":
            yield f"{at}/{name}", f"'{name}' must be {_KINDS[kind]}"


def _path_faults(path: object, at: str, parse: Callable[[str], object]) -> Iterator[Fault]:
    if not isinstance(path, str):
        yield at, "'path' must be text, such as .chart.values.port"
        return
    try:
        parse(path)
    except PathError as invalid:
        yield at, f"the path cannot be read: {invalid}"


def _pattern_faults(pattern: str, group: object, at: str) -> Iterator[Fault]:
    try:
        groups = check_pattern(pattern)
    except PatternError as invalid:
        yield f"{at}/pattern", f"the pattern is no regular expression: {invalid}"
        return
    if isinstance(group, int) and not 0 <= group <= groups:
        yield f"{at}/match_group", f"the pattern has {groups} groups, and 'match_group' names none of them"


def _control_faults(
    schema: object, metadata: Mapping[str, Any], data: Any, compile_schema: Compile | None
) -> Iterator[Fault]:
    labels = metadata.get("labels", {})
    if not isinstance(labels, Mapping) or not all(isinstance(value, str) for value in labels.values()):
        yield "/metadata/labels", "'metadata.labels' of a control document must be a mapping with texts as values"
    layer = layering_of(metadata).get("layer")
    if isinstance(layer, str) and not _is_name(layer):
        yield "/metadata/layeringDefinition/layer", f"the layer must be text of 1 to {NAME_LIMIT} printable characters"
    if schema == LAYERING_POLICY:
        order = member(data, "layerOrder")
        if not isinstance(order, list) or not order or not all(map(_is_name, order)):
            yield "/data/layerOrder", "'layerOrder' must be a list of at least one layer, outermost first"
        elif len(set(order)) != len(order):
            yield "/data/layerOrder", "'layerOrder' names a layer twice"
        if isinstance(data, Mapping):
            yield from _unknown(data, frozenset({"layerOrder"}), "/data")
    elif schema == DATA_SCHEMA:
        yield from _data_schema_faults(data, compile_schema)
    elif schema == VALIDATION_POLICY:
        yield from _validation_policy_faults(data)


def _data_schema_faults(data: Any, compile_schema: Compile | None) -> Iterator[Fault]:
    if not isinstance(data, Mapping):
        yield "/data", "a data schema must be a mapping: a JSON schema"
    elif compile_schema is not None:
        try:
            compile_schema(data)
        except ValueError as invalid:
            yield "/data", f"this JSON schema (draft 4) cannot be used: {invalid}"


def _validation_policy_faults(data: Any) -> Iterator[Fault]:
    listed = member(data, "validations")
    if not isinstance(listed, list):
        yield "/data/validations", "'validations' must be a list"
        return
    yield from _unknown(data, frozenset({"validations"}), "/data")
    for index, entry in enumerate(listed):
        at = f"/data/validations/{index}"
        name = member(entry, "name")
        if not isinstance(name, str) or not _VALIDATION.fullmatch(name):
            yield at, "a validation needs a 'name' that ends in -validation or -verification"
        else:
            yield from _unknown(entry, frozenset({"name", "expiresAfter"}), at)


def _unknown(entry: Mapping[str, Any], known: Iterable[str], at: str) -> Iterator[Fault]:
    known = frozenset(known)
    for name in entry:
        if name not in known:
            yield (
                f"{at}{pointer([_short(name)])}",
                f"there is no key '{_short(name)}' here; there are: {', '.join(sorted(known))}",
            )
