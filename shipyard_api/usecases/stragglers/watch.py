"""Watch work that goes on although nobody waits for it, until it ends.

A timeout or a stop ends our waiting, not the work (seed 000, Notes; product, section 3).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobState, Provisioner
from shipyard_api.ports.state.store import Store
from shipyard_api.ports.state.stragglers import Straggler

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchStragglers:
    """The use case. ``pause``: seconds between two looks at the same work."""

    store: Store
    provisioner: Provisioner
    now: Callable[[], datetime]
    pause: float
    worker: str

    def __call__(self) -> int:
        """Look at all that is due, and return how many ended. What can be stopped is asked to stop first."""
        now = self.now()
        with self.store.begin() as tx:
            due = tx.stragglers.due(now=now, pause=self.pause)
        return sum(self._look(straggler) for straggler in due)

    def _look(self, straggler: Straggler) -> bool:
        told = {"action": straggler.action, "job": straggler.job}
        try:
            if self.provisioner.capabilities.aborts:
                self.provisioner.abort(straggler.job, straggler.work)
            report = self.provisioner.report(straggler.job, straggler.work)
        except PeerError as error:
            LOG.warning("peer in trouble", extra={**told, "trouble": str(error)})
            return False
        if report.state not in (JobState.ENDED, JobState.LOST):
            return False
        with self.store.begin() as tx:
            tx.stragglers.end(straggler, report, now=self.now(), worker=self.worker)
        LOG.warning("late work ended", extra={**told, "succeeded": sorted(report.succeeded)})
        return True
