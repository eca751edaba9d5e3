"""Work that goes on although nobody waits for it: watched to its end, and in the way of the next action.

A timeout or a stop ends our waiting, not the work (seed 000, Notes; product, section 3).
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.errors import Conflict
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobState, Provisioner
from shipyard_api.ports.store import SiteBusy, Store, Straggler

LOG = logging.getLogger(__name__)

_SHOWN = 5


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


def refuse_stragglers(
    stragglers: Sequence[Straggler],
    nodes: Collection[NodeName] | None,
    *,
    apart_from: Collection[NodeName] = frozenset(),
) -> None:
    """Raise Conflict if work goes on on one of these nodes (None: on any), or on the site as a whole."""
    for straggler in stragglers:
        held = straggler.work.nodes
        wanted = None if held is None else [one for one in held if (nodes is None or one in nodes)]
        wanted = None if wanted is None else [one for one in wanted if one not in apart_from]
        if wanted == []:
            continue
        what = "the site" if wanted is None else f"node {', '.join(wanted[:_SHOWN])}"
        if wanted is not None and len(wanted) > _SHOWN:
            what += f" and {len(wanted) - _SHOWN} more"
        raise Conflict(
            "Work of an earlier action goes on",
            f"{straggler.work.operation.value} of {what} is still under way: job {straggler.job} of action "
            f"{straggler.action} ({straggler.why}). Wait until it has ended, or use the parameter force=true.",
        )


@contextmanager
def site_is_busy() -> Iterator[None]:
    """Turn the store's word that a site action runs into the caller's."""
    try:
        yield
    except SiteBusy as busy:
        raise Conflict(
            "Another site action is running",
            f"{busy.name.value} {busy.running} is running; only one site action can run at a time. Wait until it has "
            "ended, then ask again.",
        ) from busy
