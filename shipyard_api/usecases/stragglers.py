"""Poll stragglers, work that goes on after its action stopped waiting, until they end."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from msgspec import Struct

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.deploy_steps.planning import only, work_steps
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobReport, JobState, Operation, Provisioner, Work
from shipyard_api.ports.state.nodes import Straggler
from shipyard_api.storage.unit_of_work import Store

LOG = logging.getLogger(__name__)

_WITH_STEPS = frozenset({Operation.DEPLOY_NODES, Operation.REBUILD_NODES, Operation.SERVICE_NODES})


class WatchStragglers(Struct, frozen=True):
    """The use case. ``pause``: seconds between two polls of a job."""

    store: Store
    provisioner: Provisioner
    now: Callable[[], datetime]
    pause: float
    worker: str

    def __call__(self) -> int:
        """Poll the stragglers whose pause is over, with one reading of the peer, after aborting those that can be.

        Return how many ended.
        """
        now = self.now()
        with self.store.begin() as tx:
            stragglers = tx.stragglers.to_poll(now=now, pause=self.pause)
        works = {straggler: self._work(straggler) for straggler in stragglers}
        aborted = {
            straggler.job: works[straggler] for straggler in stragglers if self._abort(straggler, works[straggler])
        }
        try:
            reports = self.provisioner.reports(aborted) if aborted else {}
        except PeerError as error:
            reports = dict.fromkeys(aborted, error)
        return sum(self._end(straggler, reports[straggler.job]) for straggler in stragglers if straggler.job in reports)

    def _abort(self, straggler: Straggler, work: Work) -> bool:
        """Return whether a report of the straggler is worth asking for."""
        try:
            if self.provisioner.capabilities.aborts:
                self.provisioner.abort(straggler.job, work)
        except PeerError as error:
            _warn(straggler, error)
            return False
        return True

    def _end(self, straggler: Straggler, report: JobReport | PeerError) -> bool:
        if isinstance(report, PeerError):
            _warn(straggler, report)
            return False
        if report.state not in (JobState.ENDED, JobState.LOST):
            return False
        with self.store.begin() as tx:
            tx.stragglers.end(straggler, report, now=self.now(), worker=self.worker)
        ended = {"action": straggler.action, "job": straggler.job, "succeeded": sorted(report.succeeded)}
        LOG.warning("late work ended", extra=ended)
        return True

    def _work(self, straggler: Straggler) -> Work:
        """Return the work with the steps that its action froze: reports hide the secrets among them."""
        work = straggler.work
        if work.operation not in {Operation.PREPARE_NODES, *_WITH_STEPS} or work.nodes is None:
            return work
        with self.store.begin() as tx:
            inputs = ActionInputs.from_json(tx.actions.inputs(straggler.action))
        if work.operation is Operation.PREPARE_NODES:
            return replace(work, steps=work_steps(inputs.of_site.preparing(work.nodes)))
        requested = inputs.site.deploy_steps if inputs.site else {}
        return replace(work, steps=work_steps(only(requested, work.nodes)))


def _warn(straggler: Straggler, error: PeerError) -> None:
    fields = {"action": straggler.action, "job": straggler.job}
    LOG.warning("peer in trouble", extra={**fields, "trouble": str(error)})
