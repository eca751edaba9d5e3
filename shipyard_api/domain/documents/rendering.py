"""Render the documents of a revision into a design (contract: deckhand, B10).

All findings come at once: an invalid document only stops the documents that depend on it.
"""

import hashlib
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents.data_schemas import Compile, schema_findings
from shipyard_api.domain.documents.document import (
    DATA_SCHEMA,
    VALIDATION_POLICY,
    Collection,
    Document,
    Revision,
    StoredDocument,
    canonical,
)
from shipyard_api.domain.documents.draft import Draft
from shipyard_api.domain.documents.layering import layered
from shipyard_api.domain.documents.machines import inventory
from shipyard_api.domain.documents.relations import Relations, relate
from shipyard_api.domain.documents.sizes import Sizes, TooLargeError
from shipyard_api.domain.documents.substitution import substitute
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.nodes import Inventory


def _never() -> bool:
    return False


class RenderedDocument(Struct, frozen=True):
    """A document of the design. ``secret``: it is encrypted, or it uses data of a document that is (B9)."""

    document: Document
    collection: Collection
    since: Revision
    secret: bool


@dataclass(frozen=True)  # without slots: its machines are read once
class Rendering:
    """A whole design, sorted by schema and name, with secrets in clear text."""

    documents: tuple[RenderedDocument, ...]

    @property
    def secrets(self) -> list[Any]:
        """The data of secret documents."""
        return [rendered.document.data for rendered in self.documents if rendered.secret]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all documents, secrets included: short ones could be guessed from it."""
        documents = [[*rendered.document.key, rendered.document.data] for rendered in self.documents]
        return hashlib.sha256(canonical(documents)).hexdigest()

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What others have read from the design, by its kind; kept as long as the design."""
        return {}

    @cached_property
    def machines(self) -> Inventory:
        """The machines of the design; read from its documents at the first use, and kept as long as they are."""
        return inventory(rendered.document for rendered in self.documents)


def render(
    documents: Sequence[StoredDocument], compile_schema: Compile, out_of_time: Callable[[], bool] = _never
) -> tuple[Rendering | None, tuple[Finding, ...]]:
    """Return the design, or None and all findings.

    The order of the documents does not matter: the design and the findings are sorted by schema, name and layer.
    ``out_of_time`` is called between pieces of work; once it returns true, rendering stops.
    """
    stored = sorted(documents, key=lambda entry: (*entry.document.key, entry.document.layer))
    relations = relate([entry.document for entry in stored])
    renderer = _Renderer(relations, out_of_time)
    renderer.run()
    result = [
        RenderedDocument(
            replace(entry.document, data=renderer.data[index]),
            entry.collection,
            entry.since,
            secret=index in relations.secret,
        )
        for index, entry in enumerate(stored)
        if index in renderer.data
        and entry.document.is_concrete
        and entry.document.schema != VALIDATION_POLICY  # never shown (A6)
        and index not in relations.family.replacements
    ]
    findings = [*relations.family.findings, *renderer.findings]
    schemas = [entry.document for entry in stored if entry.document.schema == DATA_SCHEMA]
    shown = [(rendered.document, rendered.secret) for rendered in result]
    findings.extend(schema_findings(shown, schemas, compile_schema, out_of_time))
    return (None if findings else Rendering(tuple(result))), tuple(findings)


def render_data(relations: Relations, needed: Set[int], out_of_time: Callable[[], bool] = _never) -> dict[int, Any]:
    """Return the rendered data of some documents, by index; ``needed`` has their dependencies, too.

    A document with findings has none. For those who look at single documents of a design that renders.
    """
    renderer = _Renderer(replace(relations, order=[index for index in relations.order if index in needed]), out_of_time)
    renderer.run()
    return renderer.data


class _Renderer:
    """Renders the data of all documents that have no findings."""

    def __init__(self, relations: Relations, out_of_time: Callable[[], bool]) -> None:
        self.data: dict[int, Any] = {}
        self.findings: list[Finding] = []
        self._relations = relations
        self._sizes = Sizes()
        self._out_of_time = out_of_time
        self._given_up = False

    def run(self) -> None:
        """Render the documents in order; skip one whose dependencies were not rendered."""
        relations = self._relations
        for index in relations.order:
            if index in relations.family.broken or any(
                dependency not in self.data for dependency in relations.dependencies[index]
            ):
                continue
            document = relations.documents[index]
            if relations.dependencies[index]:
                self._render(index, document)
            else:
                self.data[index] = document.data
            if self._given_up:
                # Data that is too large must not be walked, not even by the schema checks.
                break

    def _render(self, index: int, document: Document) -> None:
        base = self._relations.family.base(index)
        findings: list[Finding] = []
        if base is None:
            draft = Draft(document.data)
        else:
            draft, faults = layered(self.data[base], document)
            findings.extend(faults)
        if not findings:
            sources = self._relations.sources.get(index, ())
            findings = substitute(
                draft,
                document,
                [None if source is None else self._relations.documents[source] for source in sources],
                [None if source is None else self.data[source] for source in sources],
                self._out_of_time,
            )
        if self._out_of_time():
            self._given_up = True
            findings = [error("DesignTooSlow", "Rendering was given up in this document.").about(document.place)]
        if not findings:
            findings = self._measure(draft.value, document)
        if findings:
            self.findings.extend(findings)
        else:
            self.data[index] = draft.value

    def _measure(self, value: Any, document: Document) -> list[Finding]:
        try:
            self._sizes.add(value)
        except TooLargeError as large:
            self._given_up = True
            return [error("DesignTooLarge", f"With this document {large}.").about(document.place)]
        return []
