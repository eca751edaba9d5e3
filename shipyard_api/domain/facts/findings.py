"""Findings that an action reports."""

from typing import Any, ClassVar, Self

from msgspec import convert

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.json_types import JsonObject


class FindingReported(Fact, frozen=True):
    """The action was created with a finding, or one of its steps made one. The journal keeps no diagnostic."""

    kind: ClassVar[str] = "finding"

    finding: Finding

    def to_json(self) -> dict[str, Any]:
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
        return cls(convert(stored, Finding))


FACTS: tuple[type[Fact], ...] = (FindingReported,)
