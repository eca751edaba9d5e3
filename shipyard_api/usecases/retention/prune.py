"""Delete actions that are older than the site wants to keep."""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shipyard_api.domain.actions import ActionName
from shipyard_api.ports.state.store import Store

LOG = logging.getLogger(__name__)

BATCH = 5
"""Actions that one transaction deletes: some of them have 100,000 rows."""
_ALL = 1_000_000
_PAUSE = 600.0


@dataclass(slots=True)
class PruneActions:
    """The use case. Actions are kept for ``days`` (0: for ever), and the ``newest`` ones for longer.

    ``site``: the names of actions whose last success, and all that came after it, is kept."""

    store: Store
    now: Callable[[], datetime]
    days: int
    newest: int
    site: Collection[ActionName]
    _next: float = field(default=0.0, init=False)

    def expired(self) -> int:
        """Return how many actions would be deleted."""
        before = self._before()
        return len(
            self.store.read(
                lambda tx: tx.retention.expired(before=before, newest=self.newest, limit=_ALL, site=self.site)
            )
        )

    def batch(self) -> int:
        """Delete the oldest actions in one transaction; return how many; 0 while another process does."""
        with self.store.begin() as tx:
            if not tx.retention.begin():
                return 0
            found = tx.retention.expired(before=self._before(), newest=self.newest, limit=BATCH, site=self.site)
            if found:
                tx.retention.delete(found)
        if found:
            LOG.info("old actions deleted", extra={"actions": len(found), "oldest": found[0], "newest": found[-1]})
        return len(found)

    def chore(self) -> int:
        """Delete a batch if it is time to, and return how many; the next one is due at once if there may be more."""
        if not self.days or time.monotonic() < self._next:
            return 0
        deleted = self.batch()
        self._next = 0.0 if deleted == BATCH else time.monotonic() + _PAUSE
        return deleted

    def _before(self) -> datetime:
        return self.now() - timedelta(days=self.days)
