"""Poll stragglers until they end.

A timeout or a stop ends our waiting, not the job (seed 000, Notes; product, section 3).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from shipyard_api.domain.deploy_steps.planning import only, requested_from_json, work_steps
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobState, Operation, Provisioner, Work
from shipyard_api.ports.state.store import Store
from shipyard_api.ports.state.stragglers import Straggler

LOG = logging.getLogger(__name__)

_WITH_STEPS = frozenset({Operation.DEPLOY_NODES, Operation.REBUILD_NODES, Operation.SERVICE_NODES})


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
        work = self._work(straggler)
        try:
            if self.provisioner.capabilities.aborts:
                self.provisioner.abort(straggler.job, work)
            report = self.provisioner.report(straggler.job, work)
        except PeerError as error:
            LOG.warning("peer in trouble", extra={**fields, "trouble": str(error)})
            return False
        if report.state not in (JobState.ENDED, JobState.LOST):
            return False
        with self.store.begin() as tx:
            tx.stragglers.end(straggler, report, now=self.now(), worker=self.worker)
        LOG.warning("late work ended", extra={**fields, "succeeded": sorted(report.succeeded)})
        return True

    def _work(self, straggler: Straggler) -> Work:
        """Return the work with the deploy steps that its action froze: reports hide the secrets among them."""
        work = straggler.work
        if work.operation not in _WITH_STEPS or work.nodes is None:
            return work
        with self.store.begin() as tx:
            stored = tx.actions.inputs(straggler.action).get("deploy_steps", ())
        return replace(work, steps=work_steps(only(requested_from_json(stored), work.nodes)))
