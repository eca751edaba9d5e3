"""Check rendered data against the data schemas of its kind (contract: deckhand B3). Secret data is never quoted."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents.document import TEXT_KINDS, Document
from shipyard_api.domain.documents.substitution import substitutions_of
from shipyard_api.domain.findings import Finding, error

_FAULTS_PER_DOCUMENT = 100


class SchemaFault(Struct, frozen=True):
    """Where a value breaks a JSON schema: ``path`` in the value and ``rule`` in the schema, both JSON pointers.

    ``message`` may quote the value unless ``quotes`` is false.
    """

    path: str
    rule: str
    message: str
    quotes: bool = True


DataCheck = Callable[[object], Sequence[SchemaFault]]
"""Checks a value against one compiled schema."""

Compile = Callable[[Mapping[str, Any]], DataCheck]
"""Compiles a JSON schema as draft 4, whatever its ``$schema``; raises ValueError if it is invalid. Fetches nothing."""


def schema_findings(
    documents: Sequence[tuple[Document, bool]],
    schemas: Sequence[Document],
    compile_schema: Compile,
    out_of_time: Callable[[], bool],
) -> list[Finding]:
    """Return findings where data breaks the schemas of its kind. ``documents``: each with whether it is secret.

    Once ``out_of_time`` returns true, the rest is not checked, and a finding says so.
    """
    by_kind: defaultdict[str, list[Document]] = defaultdict(list)
    for schema in schemas:
        by_kind[schema.name].append(schema)
    compiled: dict[str, list[tuple[str, DataCheck]]] = {}
    findings: list[Finding] = []
    for document, is_secret in documents:
        if document.schema in TEXT_KINDS:
            if not isinstance(document.data, str):
                findings.append(_broken_rule(document, SchemaFault("", "/type", "it must be text"), document.schema))
            continue
        if document.schema not in by_kind or document.is_control:
            continue
        if document.schema not in compiled:
            compiled[document.schema] = []
            for schema in by_kind[document.schema]:
                try:
                    compiled[document.schema].append((schema.name, compile_schema(schema.data)))
                except ValueError as invalid:
                    message = f"This JSON schema (draft 4) cannot be used: {invalid}"
                    findings.append(error("D002", message).about(schema.place))
        if out_of_time():
            findings.append(error("DesignTooSlow", "Checking was given up at this document.").about(document.place))
            break
        for name, check in compiled[document.schema]:
            for fault in list(check(document.data))[:_FAULTS_PER_DOCUMENT]:
                if not fault.quotes:
                    pass
                elif is_secret:
                    fault = SchemaFault("", fault.rule, "data that is not shown, being secret, breaks a rule")
                elif substitutions_of(document):
                    fault = replace(fault, message="what was put together here breaks a rule")
                findings.append(_broken_rule(document, fault, name))
    return findings


def _broken_rule(document: Document, fault: SchemaFault, schema: str) -> Finding:
    where = fault.path or "the data"
    return error(
        "D002",
        f"{where}: {fault.message} (rule {fault.rule or '/'} of {schema})",
        path=fault.path,
        diagnostic=f"Section: not specified at {where} (schema {schema} at {fault.rule or '/'})",
    ).about(document.place)
