"""Actions that are old enough to be deleted, with all that belongs to them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from shipyard_api.domain.actions import ActionId, ActionName


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
