"""A revision: what it wrote, the contents of all buckets, and its tags and validations."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shipyard_simulators.deckhand.rows import POLICY, VALIDATION_POLICY, Identity, Row, is_kind


@dataclass(slots=True)
class Revision:
    """A numbered state of all buckets.

    ``written`` and ``deleted``: its own changes; ``rows``: all documents. Tags and validation results may be added
    later; nothing else changes.
    """

    number: int
    created: datetime
    buckets: list[str]
    rows: dict[Identity, Row]
    written: dict[Identity, Row]
    deleted: dict[Identity, Row]
    tags: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    validations: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def created_at(self) -> str:
        """The time of creation in Deckhand's format: UTC, without a zone."""
        return self.created.isoformat(timespec="microseconds")

    def tag_data(self) -> dict[str, dict[str, Any]]:
        """Return the data of the tags; of a tag set twice, the later."""
        return dict(sorted(self.tags, key=lambda tag: tag[0]))

    def plain_rows(self) -> list[Row]:
        """Return the documents that readers may see: all but validation policies, in order of writing."""
        return in_order(row for row in self.rows.values() if not is_kind(row.schema, VALIDATION_POLICY))

    def policies(self, kind: str = POLICY) -> list[Row]:
        """Return the control documents of a kind, in order of writing."""
        return in_order(row for row in self.rows.values() if is_kind(row.schema, kind))

    def contents(self) -> dict[str, frozenset[str]]:
        """Return the contents of every bucket that holds a document in this revision."""
        found: dict[str, set[str]] = {}
        for row in self.rows.values():
            found.setdefault(row.bucket, set()).add(row.content())
        return {bucket: frozenset(contents) for bucket, contents in found.items()}


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows in order of writing."""
    return sorted(rows, key=lambda row: row.number)
