"""Follow the journal: what is new in it, of one action or of all, each entry once."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import ActionNotFound
from shipyard_api.ports.state.journal import ActionEntry, Ends
from shipyard_api.ports.state.store import Store

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in order. ``until``: the cursor behind them; no later page has an entry with this id or a lower one."""

    entries: Sequence[ActionEntry]
    until: int


@dataclass(frozen=True, slots=True)
class FollowJournal:
    """The use case; changes nothing. A cursor is the id of an entry."""

    store: Store

    def check(self, action: ActionId) -> None:
        """Raise ActionNotFound if there is no such action."""
        if self.store.read(lambda tx: tx.actions.get(action)) is None:
            raise ActionNotFound(action)

    def ends(self) -> Ends:
        """Return how far the journal is written and settled."""
        return self.store.read(lambda tx: tx.journal.ends())

    def page(self, after: int, until: int, action: ActionId | None = None) -> Page:
        """Return the entries behind a cursor; ``until`` is settled."""
        read = self.store.read(lambda tx: tx.journal.following(after, until, action=action, limit=_PAGE))
        return Page(read, read[-1].entry.id if read else until)
