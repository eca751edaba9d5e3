"""The provisioner port over Drydock's API."""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.domain.findings import Finding, of_status
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.observing.request_context import propagated
from shipyard_api.ports.errors import PeerError, Refused
from shipyard_api.ports.provisioner import (
    Capabilities,
    EarlierWork,
    JobAhead,
    JobId,
    JobReport,
    JobState,
    Marker,
    Operation,
    Reports,
    Work,
    each_report,
)

from . import results, translate
from .client import DrydockClient
from .inventory import Inventories

LIST_PAUSE = 60.0  # seconds between two lists of all tasks for one queued task


def _utc_now() -> datetime:
    return datetime.now(UTC)


class _Queued(Struct, frozen=True):
    """A queued task: what it waits for, None if that is unknown, and when all tasks may be listed again."""

    ahead: JobAhead | None = None
    list_at: float = -math.inf


class DrydockProvisioner:
    """Drydock as the provisioner of a site.

    **Exactly once, with two gaps.** Drydock stores no key of ours with a task, so ``find`` matches a task to an intent
    by its action, design and exact set of nodes, that it is no subtask, and that it was created no earlier than the
    intent. The clock that dates tasks may be that of the intent, that of Drydock's ``Date``, or off by 5 minutes. Two
    gaps remain:

    - A request in flight during ``find``: the task appears afterwards. The engine waits before it calls ``find``
      (``settle``), longer than a request takes to arrive or to fail. The rest is a worker that freezes for that long
      just before its request.
    - The same task created by another client less than 5 minutes before the intent: it is taken for ours if there is
      none later. Its outcome is that of the same operation on the same nodes from the same
      design. Tasks of our own earlier actions are ``known`` and skipped, and the engine submits a node at most once
      per phase of an action.

    A duplicate task does no harm: Drydock runs one task at a time, oldest first, so the later one finds nodes that are
    already prepared or deployed, skips them and reports success. ``submit`` posts once; only a 401, which precedes
    the creation of a task, is retried.

    ``design_url``: the address from which Drydock fetches a design, with ``{revision}`` in it; raises ValueError if
    Drydock could not follow or store it. ``threads``: concurrent selections. ``verify_after_prepare``: check with MAAS,
    through Drydock, that prepared nodes really are; without it, failed commissioning counts as success.
    """

    name = translate.SYSTEM
    capabilities = Capabilities(selects=True, limits=translate.LIMITS)

    def __init__(
        self,
        client: DrydockClient,
        *,
        design_url: str,
        threads: int = 4,
        verify_after_prepare: bool = True,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        translate.check_design_template(design_url)
        self.capabilities = replace(self.capabilities, inventory=Inventories(client))
        self._client = client
        # Drydock receives the address with its password, and may quote either.
        client.scrubber.hide_address(design_url)
        self._scrubber = client.scrubber
        self._design_url = design_url
        self._threads = threads
        self._verify_after_prepare = verify_after_prepare
        self._now = now
        self._queued: dict[JobId, _Queued] = {}

    def check_health(self) -> None:
        """Return if Drydock is healthy, which covers its database but not MAAS."""
        self._client.check_health()

    def design_reference(self, revision: int) -> str:
        """Return the address under which Drydock fetches the design of this revision."""
        return translate.design_reference(self._design_url, revision)

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return Drydock's findings; a valid design has about 18 (Info). May take minutes."""
        return of_status(self._scrubber.values(self._client.validate_design(design)), translate.SYSTEM)

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return the nodes of each tuple of selectors, with one request per distinct filter. May take minutes.

        Drydock answers an empty list for a design it cannot read, so the first request is for all nodes, and after an
        empty list Drydock validates the design, which raises Unavailable if it could not fetch it.
        """
        everyone = self._names(design, None)
        if not everyone:
            self._client.validate_design(design)
            raise Refused(self.name, "select_nodes", f"the design {self._scrubber(design)} names no node")
        filters = [translate.node_filter(selectors) for selectors in groups]
        distinct = {repr(criteria): criteria for criteria in filters if criteria is not None}

        def names(criteria: dict[str, Any]) -> frozenset[NodeName]:
            return self._names(design, criteria)

        with ThreadPoolExecutor(max_workers=self._threads, thread_name_prefix="drydock-nodefilter") as pool:
            answers = pool.map(propagated(names), distinct.values())
            selected = dict(zip(distinct, answers, strict=True))
        return tuple(everyone if criteria is None else selected[repr(criteria)] for criteria in filters)

    def conditions(self) -> Sequence[ObservedMachine]:
        """Return the machines of MAAS as Drydock shows them. Slow on large sites."""

        listed = sorted(self._client.nodes().items())
        return [translate.condition(name, node, self._scrubber) for name, node in listed]

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        """Return no step for any node: Drydock's API takes none."""
        return dict.fromkeys(nodes, translate.NO_STEPS)

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Create the task; Drydock logs the marker if it is a UUID of version 4.

        Raises Refused without a request for work that Drydock would misread: no nodes where it needs some, names
        longer than 32 characters, a design address longer than 128.
        """
        return self._client.create_task(marker, translate.task_body(marker, work))

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the oldest task of this work created since the intent; see the class for its certainty."""
        tasks, theirs = self._client.tasks(marker)
        since = translate.Since.intent(intended_at, ours=self._now(), theirs=theirs)
        return translate.find_job(tasks, work, since=since, known=known)

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        """Return the tasks of the same design on these nodes; a client beside Shipyard may have created them."""
        tasks, theirs = self._client.tasks(marker)
        earliest = translate.Since.intent(since, ours=self._now(), theirs=theirs)
        return translate.earlier_work(tasks, work, since=earliest, known=known)

    def report(self, job: JobId, work: Work) -> JobReport:
        """Return the report on the task; a prepare ends only when MAAS, too, is done with the nodes."""
        task = self._client.task(job)
        if task is None:
            return JobReport(job, JobState.LOST, ok=False, message=f"Drydock no longer knows task {job}")
        report = results.read_report(job, work, task)
        if self._verify_after_prepare and work.operation is Operation.PREPARE_NODES and report.succeeded:
            report = self._verified(report)
        # Drydock counts a machine as destroyed although an attempt at erasing it failed: only messages below show it.
        ended = report.state is JobState.ENDED
        if report.failed or (ended and (not report.ok or work.operation is Operation.DESTROY_NODES)):
            report = self._explained(report, work)
        if report.state is JobState.QUEUED:
            report = replace(report, ahead=self._task_ahead(job))
        else:
            self._queued.pop(job, None)
        return self._scrubber.report(report)

    def reports(self, jobs: Mapping[JobId, Work]) -> Reports:
        """Return the reports on the tasks, with one request each."""
        return each_report(jobs, self.report)

    def abort(self, job: JobId, work: Work) -> None:
        """Refuse: Drydock cannot stop a task."""
        raise Refused(self.name, f"abort {job}", "Drydock cannot stop a task; it runs until it ends")

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        """Refuse: Drydock has no such task."""
        raise Refused(self.name, "power_cycle", translate.LIMITS.no_power_cycle)

    def _names(self, design: str, node_filter: dict[str, Any] | None) -> frozenset[NodeName]:
        return frozenset(NodeName(name) for name in self._client.filter_nodes(design, node_filter))

    def _verified(self, report: JobReport) -> JobReport:
        """Return the report corrected by MAAS; if MAAS cannot be read, Drydock's report counts, with a note."""
        try:
            return results.settle(report, self._client.machines())
        except PeerError as error:
            if report.state is not JobState.ENDED:
                return replace(report, succeeded=frozenset())
            return results.with_note(report, f"not confirmed by MAAS: {error}")

    def _task_ahead(self, job: JobId) -> JobAhead | None:
        """Return what a queued task waits for, None if that is unknown.

        All tasks are listed from the second report on, since most tasks leave the queue at once, and again only when
        the task ahead has ended: the list is long (contract: drydock, section 6).
        """
        known = self._queued.get(job)
        if known is None:
            self._queued[job] = _Queued()
            return None
        try:
            if known.ahead is not None:
                task = self._client.task(known.ahead.job)
                if task is not None and not translate.has_ended(task):
                    return known.ahead
            if time.monotonic() < known.list_at:
                return None
            tasks, _ = self._client.tasks(Marker(""))
        except PeerError:
            return known.ahead
        ahead = translate.task_ahead(tasks, job)
        self._queued[job] = _Queued(ahead, time.monotonic() + LIST_PAUSE)
        return ahead

    def _explained(self, report: JobReport, work: Work) -> JobReport:
        """Return the report with the reasons from the subtasks, or with a note if they cannot be fetched."""
        try:
            task = self._client.task(report.job, with_subtask_errors=True)
        except PeerError as error:
            return results.with_note(report, f"the reasons could not be fetched: {error}")
        return results.explain(report, work, task) if task is not None else report
