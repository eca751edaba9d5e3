"""Findings that an action reports."""

from dataclasses import dataclass
from typing import ClassVar, Self

from shipyard_api.domain.facts import reading
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.findings import DocumentRef, Finding, Level
from shipyard_api.domain.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class FindingReported:
    """The action was created with a finding, or one of its steps made one. The journal keeps no diagnostic."""

    kind: ClassVar[str] = "finding"
    version: ClassVar[int] = 1

    finding: Finding

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        finding = self.finding
        return {
            "name": finding.name,
            "level": finding.level.value,
            "message": finding.message,
            "path": finding.path,
            "source": finding.source,
            "documents": [
                {"schema": ref.schema, "name": ref.name, **({"path": ref.path} if ref.path else {})}
                for ref in finding.documents
            ],
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the fact."""
        documents = tuple(
            DocumentRef(reading.text(one, "schema"), reading.text(one, "name"), path=reading.text(one, "path", ""))
            for one in reading.objects(stored, "documents")
        )
        return cls(
            Finding(
                reading.text(stored, "name"),
                reading.choice(Level, stored, "level"),
                reading.text(stored, "message"),
                documents,
                path=reading.text(stored, "path", ""),
                source=reading.text(stored, "source", ""),
            )
        )


FACTS: tuple[type[Fact], ...] = (FindingReported,)
