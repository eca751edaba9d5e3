"""Delete actions, plans, holds and revisions of the embedded store that a site no longer keeps."""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from shipyard_api.domain.actions import ActionName
from shipyard_api.storage.unit_of_work import Store, Transaction

LOG = logging.getLogger(__name__)

BATCH = 5
"""Actions, revisions, and plans, that one transaction deletes: some of them have 100,000 rows."""
HOLDS = 10_000
"""Holds that one transaction deletes: a maintenance window places one on each node."""
_ALL = 1_000_000
_PAUSE = 600.0


class Pruned(NamedTuple):
    """How many were, or would be, deleted."""

    actions: int
    revisions: int
    plans: int
    holds: int

    @property
    def may_leave_more(self) -> bool:
        """Whether a batch was full."""
        return BATCH in self[:3] or self.holds == HOLDS


NOTHING = Pruned(0, 0, 0, 0)


@dataclass(slots=True)
class PruneHistory:
    """The use case. Actions and revisions are kept for ``days`` (0: for ever), and the ``newest`` ones for longer.

    A stored plan is kept for ``days`` or, once it has started an action, as long as that; a hold, ``days`` after its
    end.

    ``site``: the names of actions whose last success, and all that came after it, is kept.
    """

    store: Store
    now: Callable[[], datetime]
    days: int
    newest: int
    site: Collection[ActionName]
    _next: float = field(default=0.0, init=False)

    def expired(self) -> Pruned:
        """Return how many would be deleted."""
        before, newest = self._before(), self.newest

        def count(tx: Transaction) -> Pruned:
            actions = tx.retention.expired(before=before, newest=newest, limit=_ALL, site=self.site)
            revisions = tx.retention.expired_revisions(before=before, newest=newest, limit=_ALL, without=actions)
            plans = tx.retention.expired_plans(before=before, limit=_ALL)
            holds = tx.retention.expired_holds(before=before, limit=_ALL)
            return Pruned(len(actions), len(revisions), len(plans), len(holds))

        return self.store.read(count)

    def batch(self) -> Pruned:
        """Delete the oldest in one transaction; return how many: none while another process does."""
        before, newest = self._before(), self.newest
        with self.store.begin() as tx:
            if not tx.retention.begin():
                return NOTHING
            if actions := tx.retention.expired(before=before, newest=newest, limit=BATCH, site=self.site):
                tx.retention.delete(actions)
            if revisions := tx.retention.expired_revisions(before=before, newest=newest, limit=BATCH):
                tx.retention.delete_revisions(revisions)
            if plans := tx.retention.expired_plans(before=before, limit=BATCH):
                tx.retention.delete_plans(plans)
            if holds := tx.retention.expired_holds(before=before, limit=HOLDS):
                tx.retention.delete_holds(holds)
        if actions:
            ids = {"oldest": actions[0], "newest": actions[-1]}
            LOG.info("old actions deleted", extra={"actions": len(actions), **ids})
        if revisions:
            numbers = {"oldest": revisions[0], "newest": revisions[-1]}
            LOG.info("old revisions deleted", extra={"revisions": len(revisions), **numbers})
        if plans:
            LOG.info("old plans deleted", extra={"plans": len(plans), "oldest": plans[0], "newest": plans[-1]})
        if holds:
            LOG.info("old holds deleted", extra={"holds": len(holds), "oldest": holds[0], "newest": holds[-1]})
        return Pruned(len(actions), len(revisions), len(plans), len(holds))

    def chore(self) -> Pruned:
        """Delete a batch if it is time to, and return how many; the next one is due at once if there may be more."""
        if not self.days or time.monotonic() < self._next:
            return NOTHING
        deleted = self.batch()
        self._next = 0.0 if deleted.may_leave_more else time.monotonic() + _PAUSE
        return deleted

    def _before(self) -> datetime:
        return self.now() - timedelta(days=self.days)
