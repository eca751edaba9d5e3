"""The document that names the version of a deployment (contract: shipyard-rest, 12.3 and 13)."""

from collections.abc import Iterable

from msgspec import Struct

from shipyard_api.domain.documents import Document, find
from shipyard_api.domain.findings import DocumentRef, Finding, Level


class VersionRule(Struct, frozen=True):
    """The demand for a deployment version in a design (contract: shipyard-rest, 12.3 and 13); None: not required."""

    level: Level | None = None
    schema: str = "pegleg/DeploymentData/v1"
    name: str = "deployment-version"

    def check(self, documents: Iterable[Document]) -> tuple[Finding, ...]:
        """Return a finding if the document is missing."""
        if self.level is None or find(documents, self.schema, self.name) is not None:
            return ()
        messages = {
            Level.ERROR: f"Missing required document {self.schema}",
            Level.WARNING: f"Missing recommended document {self.schema}",
            Level.INFO: f"Optional document {self.schema} not found",
        }
        finding = Finding(
            "DocumentNotFoundError", self.level, messages[self.level], diagnostic=expected(self.schema, self.name)
        )
        return (finding.about(DocumentRef(self.schema, self.name)),)


def expected(schema: str, name: str) -> str:
    """Return what a design must include, as a diagnostic."""
    return f"The configuration documents must include a document with schema: {schema} and name: {name}"
