"""Actions and revisions that are old enough to be deleted, with all that belongs to them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.documents import Revision


class Retention(Protocol):
    """What may be deleted, and its deletion."""

    def begin(self) -> bool:
        """Return whether no other transaction deletes now; none does until this one has ended."""

    def expired(self, *, before: datetime, newest: int, limit: int, site: Collection[ActionName]) -> Sequence[ActionId]:
        """Return the oldest actions that ended before a moment and that nothing needs, at most ``limit``.

        Needed are the ``newest`` actions, those since the last successful site action, that one itself, the newest one
        that worked on any node, the last teardown of any node, and those with stragglers that have not ended.
        """

    def delete(self, actions: Collection[ActionId]) -> None:
        """Delete these actions with their journals, audits, nodes, groups, tasks and items."""

    def expired_revisions(
        self, *, before: datetime, newest: int, limit: int, without: Collection[ActionId] = ()
    ) -> Sequence[Revision]:
        """Return the oldest revisions of the embedded store, made before a moment, that nothing needs.

        Needed are the ``newest`` revisions, those since the last one that a site action succeeded with, that one
        itself, the newest one with each tag, and those of actions, ``without`` these.
        """

    def delete_revisions(self, revisions: Collection[Revision]) -> None:
        """Delete these revisions with their tags, and the documents that no other revision has."""
