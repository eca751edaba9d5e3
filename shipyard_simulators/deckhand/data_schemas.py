"""Data schemas: JSON schemas for the data of rendered documents."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import jsonschema

from shipyard_simulators.deckhand import paths
from shipyard_simulators.deckhand.errors import invalid
from shipyard_simulators.deckhand.rendering import Rendered
from shipyard_simulators.deckhand.rows import DATA_SCHEMA, POLICY, SECRET_KINDS, Row
from shipyard_simulators.deckhand.substitution import destinations

Schemas = Mapping[str, Mapping[str, Any]]

_HIDDEN = "Sanitized to avoid exposing secret."
_BUILT_IN: Schemas = {
    f"{POLICY}/v1": {
        "type": "object",
        "properties": {"layerOrder": {"type": "array", "items": {"type": "string"}}},
        "required": ["layerOrder"],
        "additionalProperties": False,
    },
    f"{DATA_SCHEMA}/v1": jsonschema.Draft4Validator.META_SCHEMA,
    **{kind: {"type": "string"} for kind in SECRET_KINDS},
}


def check(documents: Iterable[Rendered], data_schemas: Iterable[Row]) -> None:
    """Validate the documents' data as draft 4. Raises DeckhandError with every fault."""
    known: dict[str, Mapping[str, Any]] = {}
    for row in data_schemas:
        # An invalid schema is reported as a document of its own; nothing is validated against it.
        if isinstance(row.clear, dict) and jsonschema.Draft4Validator(_BUILT_IN[f"{DATA_SCHEMA}/v1"]).is_valid(
            row.clear
        ):
            known[row.name] = row.clear
    known |= _BUILT_IN
    findings = []
    for document in documents:
        schema = known.get(document.row.schema)
        if schema is not None:
            validator = jsonschema.Draft4Validator(schema)
            findings += [_finding(document, fault, schema) for fault in validator.iter_errors(document.data)]
    if findings:
        raise invalid("D002", findings)


def _finding(document: Rendered, fault: jsonschema.ValidationError, schema: Mapping[str, Any]) -> dict[str, Any]:
    row = document.row
    hidden: Any = {"data": copy.deepcopy(document.data)}
    substituted = [dest["path"] for each in row.substitutions for dest in destinations(each)]
    for path in substituted:
        for place in paths.find(hidden["data"], paths.parse(path)):
            if place.holder is None:
                hidden["data"] = _HIDDEN
            else:
                place.holder[place.key] = _HIDDEN
    section = hidden
    for key in ["data", *fault.absolute_path][:-1]:
        try:
            section = section[key]
        except (KeyError, IndexError, TypeError):
            # The fault lies inside a value that is hidden now.
            break
    message = fault.message if not substituted and not row.encrypted else _HIDDEN
    return {
        "message": message,
        "document": {"schema": row.schema, "layer": row.layer, "name": row.name},
        "diagnostic": {
            "schema_path": ".".join(str(part) for part in fault.absolute_schema_path),
            "validation_schema": dict(schema),
            "error_section": _HIDDEN if row.encrypted else section,
        },
    }
