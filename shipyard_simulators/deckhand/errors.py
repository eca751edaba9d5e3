"""Deckhand's errors: a status and the class that it names on the wire."""

from collections.abc import Sequence
from typing import Any


class DeckhandError(Exception):
    """A request that ends in an error body.

    ``status``: an HTTP status. ``entries``: the message list of the body; by default one entry with the message.
    """

    def __init__(
        self,
        status: int,
        error_type: str,
        message: str = "",
        *,
        reason: str = "Unspecified",
        entries: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error_type = error_type
        self.message = message
        self.reason = reason
        self.entries = [{"message": message or None, "error": True}] if entries is None else list(entries)


def invalid(name: str, findings: Sequence[dict[str, Any]]) -> DeckhandError:
    """Return the error for invalid documents; each finding has message, document and diagnostic."""
    entries = [
        {
            "message": finding["message"],
            "error": True,
            "kind": "ValidationMessage",
            "level": "Error",
            "name": name,
            "documents": [finding["document"]],
            "diagnostic": finding["diagnostic"],
        }
        for finding in findings
    ]
    message = "The provided documents failed schema validation."
    return DeckhandError(400, "InvalidDocumentFormat", message, reason="Validation", entries=entries)


def unknown_revision(revision: object) -> DeckhandError:
    """Return the error for an unknown revision."""
    return DeckhandError(404, "RevisionNotFound", f"The requested revision={revision} was not found.")
