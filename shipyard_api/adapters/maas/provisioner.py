"""The provisioner port over MAAS's region API."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.selectors import Selector, select
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import (
    Capabilities,
    JobId,
    JobReport,
    JobState,
    Marker,
    NodeCondition,
    Operation,
    Reports,
    Wipe,
    Work,
    each_report,
)
from shipyard_api.request_context import propagated

from . import marks, translate
from .client import SYSTEM, JsonObject, MaasClient
from .decisions import Kind, Owner, holds_nothing_to_release
from .marks import Record
from .rounds import ERASES_ALWAYS, Look, Round, erases_always
from .translate import MachineOptions

MOST_EVENTS = 20  # failed nodes whose events are asked for at the end of a job
MOST_TROUBLES = 3  # troubles told in the message of a running job
MOST_SWEPT = 20  # old marks removed by one submission


def _utc_now() -> datetime:
    return datetime.now(UTC)


class MaasProvisioner:
    """MAAS as the provisioner of a site.

    **Jobs, which MAAS does not have.** A job is a tag of ours, ``shipyard-MARKER``, made before anything else happens:
    that it exists is what ``find`` asks, and its comment says of which work it is. A machine that carries the tag has
    been taken on by the job, so that a failure it shows is the job's own, not one of before. A second tag,
    ``…-stopped``, says that the job was aborted. Tags and not annotations or the agent's name: those need an owner
    and vanish with a release, and a machine that is commissioned or destroyed has none.

    **Marks stay when a job has ended,** since its end may be asked for again, by a worker that crashed before it wrote
    the answer down. The next submissions remove those that are older than ``keep_marks`` days.

    **Everything is decided from what was just read.** ``submit`` and ``report`` may be repeated and overlap; an
    operation begun twice is refused by MAAS, and then the machine is read again. A job should no longer be reported on
    once later work was given to its machines, except after ``abort``: it might take them for its own.
    """

    name = SYSTEM
    capabilities = Capabilities(aborts=True, marks=True, preserves_storage=True)

    def __init__(
        self,
        client: MaasClient,
        inventory: Callable[[int], Inventory],
        *,
        options: MachineOptions | None = None,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        """``inventory`` returns the machines of a revision of the design. It may raise UnreadableDesign or
        PeerError."""
        self._client = client
        self._inventory = inventory
        self._options = options or MachineOptions()
        self._now = now
        self._known_user = ""

    def check_health(self) -> None:
        """Return if MAAS answers, and answers us: that our key is good is part of it."""
        try:
            self._client.version()
            self._client.whoami()
        except Busy as error:
            raise Unavailable(SYSTEM, error.operation, error.detail) from error

    def design_reference(self, revision: int) -> str:
        """Return an address that only we follow: MAAS is told of machines, never of designs."""
        return translate.design_reference(revision)

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return which nodes MAAS does not know, or could never know by their names."""
        inventory = self._read(design, "validate_design")
        found = self._client.machines({translate.hostname(node) for node in inventory.nodes})
        return translate.findings(inventory, translate.by_hostname(found))

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return the nodes of each tuple of selectors, from the design alone: MAAS has neither racks nor labels."""
        inventory = self._read(design, "select_nodes")
        if not inventory.nodes:
            raise Refused(SYSTEM, "select_nodes", f"the design {design} names no node")
        return tuple(select(selectors, inventory) for selectors in groups)

    def conditions(self) -> Sequence[NodeCondition]:
        """Return every machine that our user may see; takes tens of seconds where there are hundreds."""
        machines = map(translate.read_machine, self._client.machines())
        scrubber = self._client.scrubber
        told = (replace(one, status=scrubber(one.status)) for one in map(translate.condition, machines))
        return sorted(told, key=lambda one: one.name)

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Record the job, then begin with it; what could not be begun yet, ``report`` begins.

        Raises Refused without a trace for work that names no nodes, and for a destroy that is to keep disks where MAAS
        erases at every release.
        """
        translate.check_work(work, marker)
        job = JobId(marker)
        if work.wipe is not Wipe.ALL and work.operation is Operation.DESTROY_NODES and erases_always(self._client):
            why = f"MAAS erases all disks at every release ({ERASES_ALWAYS}); to keep any, switch that off first"
            raise Refused(SYSTEM, work.operation.value, why, marker=marker)
        tags = self._client.tags()
        recorded = marks.mark(job) in tags
        one_round = self._round(job, work, stopped=marks.stop_mark(job) in tags) if work.nodes else None
        look = one_round.look(self._list(work)) if one_round else {}
        if not recorded:
            comment = marks.record_text(work, self._now(), self._unerased(work, look))
            self._client.create_tag(marks.mark(job), comment, marker=marker)
            self._sweep(tags, job)
        if one_round:
            with suppress(PeerError):  # the job is accepted, and its first report goes on from here
                one_round.advance(look)
        return job

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job that is recorded under this marker, if it is of this work; neither time nor guess enters."""
        job = JobId(marker)
        record = self._record(self._client.tags(), job)
        if record is None or record.work != marks.fingerprint(work) or job in known:
            return None
        return job

    def report(self, job: JobId, work: Work) -> JobReport:
        """Read the machines of the job, bring each on to its next state, and return how the job stands."""
        return self._reporting({job: work})(job, work)

    def reports(self, jobs: Mapping[JobId, Work]) -> Reports:
        """Do as ``report`` does for each job, from one reading of the tags and one of all their machines."""
        return each_report(jobs, self._reporting(jobs))

    def _reporting(self, jobs: Mapping[JobId, Work]) -> Callable[[JobId, Work], JobReport]:
        """Return what reports on one of these jobs, from what is read here for all of them."""
        tags = self._client.tags()
        records = {job: self._record(tags, job) for job in jobs}
        rounds = {
            job: self._round(job, work, stopped=marks.stop_mark(job) in tags)
            for job, work in jobs.items()
            if work.nodes is not None and records[job] is not None
        }
        machines = self._list(*(jobs[job] for job in rounds)) if rounds else []

        def report(job: JobId, work: Work) -> JobReport:
            record = records[job]
            if record is None:
                return JobReport(job, JobState.LOST, ok=False, message=f"MAAS has no tag {marks.mark(job)}")
            if job in rounds:
                told = self._told(job, record, rounds[job].advance(rounds[job].look(machines)))
            else:
                told = self._site_report(job, work)
            return self._client.scrubber.report(told)

        return report

    def abort(self, job: JobId, work: Work) -> None:
        """Begin nothing more for the job, and abort what MAAS can: commissioning, testing, deploying, erasing.

        Raises Busy or Unavailable if that is not certain for some machine, after all were tried.
        """
        if self._record(self._client.tags(), job) is None:
            return
        self._client.create_tag(marks.stop_mark(job), marks.record_text(work, self._now()), marker=job)
        if work.nodes is None:
            return
        one_round = self._round(job, work, stopped=False)
        if failures := one_round.stop(one_round.look(self._list(work))):
            raise failures[0]

    def _round(self, job: JobId, work: Work, *, stopped: bool) -> Round:
        return Round(self._client, self._options, self._user(), job, work, stopped)

    def _user(self) -> str:
        """Return whose machines are ours. Asked once: a key stands for one user as long as it lives."""
        if not self._known_user:
            self._known_user = str(self._client.whoami().get("username") or "")
        if not self._known_user:
            raise Unavailable(SYSTEM, "whoami", "MAAS does not say which user the API key is of")
        return self._known_user

    def _list(self, *works: Work) -> list[JsonObject]:
        return self._client.machines({translate.hostname(node) for work in works for node in work.nodes or ()})

    def _record(self, tags: dict[str, str], job: JobId) -> Record | None:
        return marks.read_record(tags.get(marks.mark(job), ""))

    def _read(self, design: str, operation: str) -> Inventory:
        try:
            return self._inventory(translate.revision(design))
        except UnreadableDesign as error:
            raise Refused(SYSTEM, operation, f"the design {design} cannot be read: {error}") from error

    def _unerased(self, work: Work, look: Look) -> list[str]:
        """Return the nodes of a destroy that MAAS cannot erase; once they are removed, nobody could tell."""
        if work.operation is not Operation.DESTROY_NODES or work.wipe is not Wipe.ALL:
            return []
        owner = {True: Owner.US, False: Owner.NOBODY}
        return [
            node
            for node, seen in look.items()
            if seen.machine
            and seen.decision.kind is not Kind.FAIL
            and holds_nothing_to_release(seen.machine, owner[bool(seen.machine.owner)])
        ]

    def _sweep(self, tags: dict[str, str], job: JobId) -> None:
        """Remove some of the marks that nobody will ask for any more."""
        before = self._now() - timedelta(days=self._options.keep_marks)
        for tag in marks.stale_marks(tags, before=before, spared=job)[:MOST_SWEPT]:
            try:
                self._client.delete_tag(tag)
            except PeerError:
                return  # the next submission sweeps again

    def _site_report(self, job: JobId, work: Work) -> JobReport:
        faults = self._site_faults() if work.operation is Operation.VERIFY_SITE else []
        message = "; ".join(faults) or "nothing to do" * (work.operation is Operation.PREPARE_SITE)
        return JobReport(job, JobState.ENDED, ok=not faults, message=message)

    def _site_faults(self) -> list[str]:
        try:
            self._client.version()
            user, images, racks = self._client.whoami(), self._client.boot_resources(), self._client.rack_controllers()
        except Refused as refusal:
            return [str(refusal)]
        return translate.site_faults(user, images, racks, self._options.distro_series)

    def _told(self, job: JobId, record: Record, look: Look) -> JobReport:
        running = any(seen.decision.kind is Kind.WAIT for seen in look.values())
        succeeded = frozenset(node for node, seen in look.items() if seen.decision.kind is Kind.DONE)
        failed = frozenset(node for node, seen in look.items() if seen.decision.kind is Kind.FAIL)
        events = {} if running else self._events(look, sorted(failed)[:MOST_EVENTS])
        reasons = {}
        for node in failed:
            machine, why = look[node].machine, look[node].decision.why
            reasons[node] = translate.reason(machine, why, events.get(node)) if machine else f"{node}: {why}"
        if running:
            troubles = list(
                dict.fromkeys(translate.without_secrets(seen.trouble) for seen in look.values() if seen.trouble)
            )
            return JobReport(
                job, JobState.RUNNING, False, succeeded, failed, reasons, "; ".join(troubles[:MOST_TROUBLES])
            )
        message = f"nothing could be erased on: {record.unerased}" if record.unerased else ""
        return JobReport(job, JobState.ENDED, not failed, succeeded, failed, reasons, message)

    def _events(self, look: Look, nodes: Iterable[NodeName]) -> dict[NodeName, JsonObject]:
        """Return the newest warning about each node; the job counts without them."""

        def newest(node: NodeName) -> JsonObject | None:
            try:
                return next(iter(self._client.events(translate.hostname(node), limit=1)), None)
            except PeerError:
                return None

        asked = [node for node in nodes if look[node].machine is not None]
        if not asked:
            return {}
        with ThreadPoolExecutor(max_workers=self._options.threads, thread_name_prefix="maas-events") as pool:
            told = zip(asked, pool.map(propagated(newest), asked), strict=True)
            return {node: event for node, event in told if event is not None}
