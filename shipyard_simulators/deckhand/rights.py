"""The caller's rights: all that this Deckhand does not deny."""

from shipyard_simulators.deckhand.errors import DeckhandError

RIGHTS = (
    "create_cleartext_documents",
    "create_encrypted_documents",
    "list_cleartext_documents",
    "list_encrypted_documents",
    "show_revision",
    "list_revisions",
    "delete_revisions",
    "show_revision_diff",
    "show_revision_deepdiff",
    "create_tag",
    "show_tag",
    "list_tags",
    "delete_tag",
    "delete_tags",
    "create_validation",
    "list_validations",
    "show_validation",
)


class Rights:
    """The rights of every caller; names have no service prefix."""

    def __init__(self, denied: frozenset[str] = frozenset()) -> None:
        self._denied = denied

    def has(self, right: str) -> bool:
        """Return whether callers have the right."""
        return right not in self._denied

    def need(self, right: str) -> None:
        """Raise DeckhandError if callers lack the right."""
        if not self.has(right):
            raise DeckhandError(403, "HTTPForbidden", f"deckhand:{right} is disallowed by policy")
