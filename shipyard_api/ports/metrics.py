"""Metrics in a form that a monitoring system scrapes."""

from typing import Protocol


class Exposition(Protocol):
    """The metrics of a process, and of the site if it knows it."""

    @property
    def content_type(self) -> str:
        """Return the media type of the text."""

    def text(self) -> bytes:
        """Return all metrics as they are now; the part of the site is left out while the database is unreachable."""
