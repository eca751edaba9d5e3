"""From the documents of a revision to the design that they make (contract: deckhand, B10).

Everything that can be found is told at once: a document that is wrong keeps only those from being made that need it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shipyard_api.domain.documents.data_schemas import Compile, schema_findings
from shipyard_api.domain.documents.document import (
    DATA_SCHEMA,
    VALIDATION_POLICY,
    Collection,
    Document,
    Revision,
    StoredDocument,
)
from shipyard_api.domain.documents.draft import Draft
from shipyard_api.domain.documents.layering import layered
from shipyard_api.domain.documents.relations import Relations, relate
from shipyard_api.domain.documents.sizes import Sizes, TooLargeError
from shipyard_api.domain.documents.substitution import substitute
from shipyard_api.domain.findings import Finding, error


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    """A document of the design. ``secret``: it is encrypted, or its data took something from one that is (B9)."""

    document: Document
    collection: Collection
    since: Revision
    secret: bool


@dataclass(frozen=True, slots=True)
class Rendering:
    """A whole design, by schema and name, secrets in clear."""

    documents: tuple[RenderedDocument, ...]

    @property
    def secrets(self) -> list[Any]:
        """The data of the documents that hold secrets."""
        return [one.document.data for one in self.documents if one.secret]


def render(
    documents: Sequence[StoredDocument], compile_schema: Compile, out_of_time: Callable[[], bool] = _never
) -> tuple[Rendering | None, tuple[Finding, ...]]:
    """Return the design, or None and everything that stands in its way.

    The order of the documents does not matter: both the design and the findings come by schema, name and layer.
    ``out_of_time`` is asked between pieces of work, and once it says so the design is given up.
    """
    stored = sorted(documents, key=lambda one: (*one.document.key, one.document.layer))
    relations = relate([one.document for one in stored])
    made = _Making(relations, out_of_time)
    made.run()
    result = [
        RenderedDocument(
            replace(one.document, data=made.data[index]), one.collection, one.since, secret=index in relations.secret
        )
        for index, one in enumerate(stored)
        if index in made.data
        and one.document.is_concrete
        and one.document.schema != VALIDATION_POLICY  # never shown (A6)
        and index not in relations.family.replacements
    ]
    findings = [*relations.family.findings, *made.findings]
    schemas = [one.document for one in stored if one.document.schema == DATA_SCHEMA]
    shown = [(one.document, one.secret) for one in result]
    findings.extend(schema_findings(shown, schemas, compile_schema))
    return (None if findings else Rendering(tuple(result))), tuple(findings)


class _Making:
    """Makes the data of all documents that can be made."""

    def __init__(self, relations: Relations, out_of_time: Callable[[], bool]) -> None:
        self.data: dict[int, Any] = {}
        self.findings: list[Finding] = []
        self._relations = relations
        self._sizes = Sizes()
        self._out_of_time = out_of_time
        self._given_up = False

    def run(self) -> None:
        """Go through the documents in their order; one whose needs were not made is left out without a word."""
        relations = self._relations
        for index in relations.order:
            if index in relations.family.broken or any(need not in self.data for need in relations.needs[index]):
                continue
            document = relations.documents[index]
            if relations.needs[index]:
                self._make(index, document)
            else:
                self.data[index] = document.data
            if self._given_up:
                # What has grown without end on paper must not be walked by anybody, the checks of data included.
                break

    def _make(self, index: int, document: Document) -> None:
        base = self._relations.family.base(index)
        findings: list[Finding] = []
        if base is None:
            draft = Draft(document.data)
        else:
            draft, wrong = layered(self.data[base], document)
            findings.extend(wrong)
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
            findings = self._measured(draft.value, document)
        if findings:
            self.findings.extend(findings)
        else:
            self.data[index] = draft.value

    def _measured(self, value: Any, document: Document) -> list[Finding]:
        try:
            self._sizes.add(value)
        except TooLargeError as large:
            self._given_up = True
            return [error("DesignTooLarge", f"With this document {large}.").about(document.place)]
        return []
