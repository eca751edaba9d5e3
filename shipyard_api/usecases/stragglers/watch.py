"""Poll stragglers until they end.

A timeout or a stop ends our waiting, not the job (seed 000, Notes; product, section 3).
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
    """The use case. ``pause``: seconds between two polls of a job."""

    store: Store
    provisioner: Provisioner
    now: Callable[[], datetime]
    pause: float
    worker: str

    def __call__(self) -> int:
        """Poll all stragglers that are due, after aborting those that can be; return how many ended."""
        now = self.now()
        with self.store.begin() as tx:
            due = tx.stragglers.due(now=now, pause=self.pause)
        return sum(self._poll(straggler) for straggler in due)

    def _poll(self, straggler: Straggler) -> bool:
        fields = {"action": straggler.action, "job": straggler.job}
        try:
            if self.provisioner.capabilities.aborts:
                self.provisioner.abort(straggler.job, straggler.work)
            report = self.provisioner.report(straggler.job, straggler.work)
        except PeerError as error:
            LOG.warning("peer in trouble", extra={**fields, "trouble": str(error)})
            return False
        if report.state not in (JobState.ENDED, JobState.LOST):
            return False
        with self.store.begin() as tx:
            tx.stragglers.end(straggler, report, now=self.now(), worker=self.worker)
        LOG.warning("late work ended", extra={**fields, "succeeded": sorted(report.succeeded)})
        return True
