"""Metrics: ours in a form that a monitoring system scrapes, and queries of those that it keeps."""

from typing import Protocol

from msgspec import Struct


class QueryResult(Struct, frozen=True):
    """Whether a query holds at the moment, and its result in words."""

    holds: bool
    text: str


class Queries(Protocol):
    """A monitoring system that evaluates queries."""

    @property
    def name(self) -> str:
        """Return the name of the system."""

    def ask(self, query: str) -> QueryResult:
        """Evaluate a query now. Changes nothing, and may be repeated. Raises ports.errors."""


class Exposition(Protocol):
    """The metrics of a process, and of the site if it knows it."""

    @property
    def content_type(self) -> str:
        """Return the media type of the text."""

    def text(self) -> bytes:
        """Return all metrics as they are now; the part of the site is left out while the database is unreachable."""
