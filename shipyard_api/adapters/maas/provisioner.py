"""The provisioner port over MAAS's region API."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.strategy.selectors import Selector, select
from shipyard_api.observing.request_context import propagated
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import (
    Capabilities,
    EarlierWork,
    JobId,
    JobReport,
    JobState,
    Marker,
    Operation,
    Reports,
    Wipe,
    Work,
    each_report,
)

from . import deploy_steps, job_tags, translate
from .client import SYSTEM, MaasClient
from .decisions import Kind, Owner, holds_nothing_to_release
from .inventory import Inventories
from .job_tags import Record
from .listing import MachineLister
from .reconcile import ERASES_ALWAYS, Listing, Observations, ReconcilePass, erases_always
from .translate import MachineOptions

MOST_EVENTS = 20  # failed nodes whose events are fetched for one report
MOST_ERRORS = 3  # errors in the message of a running job
MOST_DELETED = 20  # stale tags removed by one submission


def _utc_now() -> datetime:
    return datetime.now(UTC)


class MaasProvisioner:
    """MAAS as the provisioner of a site.

    **A job is a tag,** because MAAS has no jobs: ``shipyard-MARKER``, created before anything else. ``find`` looks for
    it, and its comment identifies the work. A machine with the tag is claimed by the job, so its failure is the job's
    own, not an earlier one. ``…-begun`` is set before an operation that must not be repeated, and MAAS's events since
    the submission show whether the operation arrived. ``…-stopped`` marks an aborted job; ``…-scripts`` is on machines
    whose commissioning scripts the job has started. Tags, not annotations or the agent
    name: those need an owner and vanish with a release, and a machine in commissioning or destroy has no owner.

    **Tags stay when a job has ended,** because a worker that crashed before it stored the outcome reports it again.
    Later submissions delete those that are older than ``keep_tags_days`` days.

    **Every decision but to wait follows from a machine that was just read** (``listing``). ``submit`` and ``report``
    may be repeated and may overlap: MAAS refuses an operation that is started twice, and the machine is read again. Do
    not report on a job once later work has its machines, except after ``abort``: it may claim the machines.
    """

    name = SYSTEM

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
        undeploys = self._options.rules.release_failed
        self.capabilities = Capabilities(aborts=True, marks=True, undeploys=undeploys, limits=translate.LIMITS)
        self._lister = MachineLister(client, self._options.shown)
        self.capabilities = replace(self.capabilities, inventory=Inventories(client))
        self._now = now
        self._known_user = ""

    def check_health(self) -> None:
        """Return if MAAS answers and accepts the API key."""
        try:
            self._client.version()
            self._client.whoami()
        except Busy as error:
            raise Unavailable(SYSTEM, error.operation, error.detail) from error

    def design_reference(self, revision: int) -> str:
        """Return an address that only this adapter resolves: MAAS receives machines, not designs."""
        return translate.design_reference(revision)

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return a finding on the nodes that MAAS does not have."""
        inventory = self._read(design, "validate_design")
        machines = self._client.machines({translate.hostname(node) for node in inventory.nodes})
        return translate.findings(inventory, translate.by_hostname(machines))

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return the nodes of each tuple of selectors, from the design alone: MAAS has neither racks nor labels."""
        inventory = self._read(design, "select_nodes")
        if not inventory.nodes:
            raise Refused(SYSTEM, "select_nodes", f"the design {design} names no node")
        return tuple(select(selectors, inventory) for selectors in groups)

    def conditions(self) -> Sequence[ObservedMachine]:
        """Return every machine that our user may see; takes tens of seconds for hundreds of machines."""
        machines = self._client.every_machine(translate.read_machine)
        scrubber = self._client.scrubber
        conditions = (
            replace(machine, status=scrubber(machine.status)) for machine in map(translate.condition, machines)
        )
        return sorted(conditions, key=lambda machine: machine.name)

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        """Return the same steps for each node: MAAS's API has the same steps for all hardware."""
        return dict.fromkeys(nodes, deploy_steps.SUPPORTED)

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Record the job and start it; ``report`` starts the rest.

        Raises Refused, and changes nothing, for work without nodes, and for a destroy that keeps disks if MAAS erases
        disks at every release.
        """
        translate.check_work(work, marker)
        job = JobId(marker)
        if work.wipe is not Wipe.ALL and work.operation is Operation.DESTROY_NODES and erases_always(self._client):
            why = f"MAAS erases all disks at every release ({ERASES_ALWAYS}); switch that off to keep any"
            raise Refused(SYSTEM, work.operation.value, why, marker=marker)
        tags = self._client.tags()
        recorded = job_tags.job_tag(job) in tags
        record = self._record(tags, job)
        newest = record.newest if record else None
        if work.nodes and not recorded:
            newest = self._client.newest_event()
        one_pass = self._pass(job, work, tags, newest) if work.nodes else None
        observed = one_pass.observe(self._first_listing(one_pass)) if one_pass else {}
        if not recorded:
            comment = job_tags.record_text(work, self._now(), self._unerased(work, observed), newest=newest)
            if any(deploy_steps.form_of(steps, deploy_steps.SCRIPTS) for steps in work.steps.values()):
                self._client.create_tag(job_tags.scripts_tag(job), comment, marker=marker)
            self._client.create_tag(job_tags.job_tag(job), comment, marker=marker)
            self._delete_stale_tags(tags, job)
        if one_pass:
            with suppress(PeerError):  # the job is recorded, and its first report continues from here
                self._lister.remember(one_pass, one_pass.advance(observed))
        return job

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job recorded under this marker, if it has this work. Exact: MAAS keeps the marker."""
        job = JobId(marker)
        record = self._record(self._client.tags(), job)
        if record is None or record.work != job_tags.fingerprint(work) or job in known:
            return None
        return job

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        """Return the jobs of the marker's action whose tags these machines have. Exact: MAAS keeps the markers."""
        machines = self._whole_listing(work).machines
        earlier = []
        for job, record in sorted(
            job_tags.of_the_action(marker, self._client.tags()).items(), key=lambda item: item[1].at
        ):
            tags = {job_tags.job_tag(job), job_tags.begun_tag(job)}
            tagged = [
                node
                for node in work.nodes or ()
                if any(tags & machine.tags for machine in machines.get(translate.hostname(node), ()))
            ]
            if tagged and job not in known:
                earlier.append(EarlierWork(job, Operation(record.operation), tuple(tagged)))
        return earlier

    def report(self, job: JobId, work: Work) -> JobReport:
        """Read the machines of the job, start what comes next on each, and return the job's report."""
        return self._reporting({job: work})(job, work)

    def reports(self, jobs: Mapping[JobId, Work]) -> Reports:
        """Report on each job as ``report`` does, with one listing of the tags and one of machines for all of them."""
        return each_report(jobs, self._reporting(jobs))

    def _reporting(self, jobs: Mapping[JobId, Work]) -> Callable[[JobId, Work], JobReport]:
        """Return a function that reports on one of these jobs, from one listing for all of them."""
        tags = self._client.tags()
        records = {job: self._record(tags, job) for job in jobs}
        passes = {
            job: self._pass(job, work, tags, record.newest)
            for job, work in jobs.items()
            if work.nodes is not None and (record := records[job]) is not None
        }
        listing = self._lister.poll(list(passes.values()))

        def report(job: JobId, work: Work) -> JobReport:
            record = records[job]
            if record is None:
                return JobReport(job, JobState.LOST, ok=False, message=f"MAAS has no tag {job_tags.job_tag(job)}")
            if job in passes:
                observed = passes[job].advance(passes[job].observe(listing))
                self._lister.remember(passes[job], observed)
                job_report = self._node_report(job, record, observed)
            else:
                job_report = self._site_report(job, work)
            return self._client.scrubber.report(job_report)

        return report

    def abort(self, job: JobId, work: Work) -> None:
        """Start nothing more for the job, and abort what MAAS can: commissioning, testing, deploying, erasing.

        Tries all machines. Raises Busy or Unavailable if the outcome is uncertain for any of them.
        """
        if self._record(self._client.tags(), job) is None:
            return
        self._client.create_tag(job_tags.stop_tag(job), job_tags.record_text(work, self._now()), marker=job)
        if work.nodes is None:
            return
        one_pass = self._pass(job, work, {}, None)
        if failures := one_pass.stop(one_pass.observe(self._whole_listing(work))):
            raise failures[0]

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        """Refuse: MAAS has no power cycle, only off and, after that, on."""
        raise Refused(self.name, "power_cycle", translate.LIMITS.no_power_cycle)

    def _pass(self, job: JobId, work: Work, tags: Mapping[str, str], newest: int | None) -> ReconcilePass:
        return ReconcilePass(
            self._client,
            self._options,
            self._user(),
            job,
            work,
            stopped=job_tags.stop_tag(job) in tags,
            newest=newest,
            comment=job_tags.record_text(work, self._now(), newest=newest),
            tags=tags,
            relatives=job_tags.of_the_action(job, tags),
        )

    def _user(self) -> str:
        """Return the user of the API key. Asked once: a key belongs to one user for life."""
        if not self._known_user:
            self._known_user = str(self._client.whoami().get("username") or "")
        if not self._known_user:
            raise Unavailable(SYSTEM, "whoami", "MAAS does not say which user the API key belongs to")
        return self._known_user

    def _first_listing(self, one_pass: ReconcilePass) -> Listing:
        """Return the machines of a new job; all of a destroy's, because its record names those without data."""
        destroys = one_pass.work.operation is Operation.DESTROY_NODES
        return self._whole_listing(one_pass.work) if destroys else self._lister.first(one_pass)

    def _whole_listing(self, work: Work) -> Listing:
        return self._lister.whole({translate.hostname(node) for node in work.nodes or ()})

    def _record(self, tags: dict[str, str], job: JobId) -> Record | None:
        return job_tags.read_record(tags.get(job_tags.job_tag(job), ""))

    def _read(self, design: str, operation: str) -> Inventory:
        try:
            return self._inventory(translate.revision(design))
        except UnreadableDesign as error:
            raise Refused(SYSTEM, operation, f"the design {design} cannot be read: {error}") from error

    def _unerased(self, work: Work, observed: Observations) -> list[str]:
        """Return the nodes of a destroy that MAAS cannot erase; once they are removed, MAAS no longer shows that."""
        if work.operation is not Operation.DESTROY_NODES or work.wipe is not Wipe.ALL:
            return []
        owner = {True: Owner.US, False: Owner.NOBODY}
        return [
            node
            for node, observation in observed.items()
            if observation.machine
            and observation.decision.kind is not Kind.FAIL
            and holds_nothing_to_release(observation.machine, owner[bool(observation.machine.owner)])
        ]

    def _delete_stale_tags(self, tags: dict[str, str], job: JobId) -> None:
        """Delete some of the tags of jobs that ended long ago."""
        before = self._now() - timedelta(days=self._options.keep_tags_days)
        for tag in job_tags.stale_tags(tags, before=before, spared=job)[:MOST_DELETED]:
            try:
                self._client.delete_tag(tag)
            except PeerError:
                return  # the next submission tries again

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

    def _node_report(self, job: JobId, record: Record, observed: Observations) -> JobReport:
        running = any(observation.decision.kind is Kind.WAIT for observation in observed.values())
        succeeded = frozenset(node for node, observation in observed.items() if observation.decision.kind is Kind.DONE)
        failed = frozenset(node for node, observation in observed.items() if observation.decision.kind is Kind.FAIL)
        events = self._events(observed, sorted(failed)[:MOST_EVENTS])
        reasons = {}
        for node in failed:
            machine, why = observed[node].machine, observed[node].decision.why
            reasons[node] = translate.reason(machine, why, events.get(node)) if machine else f"{node}: {why}"
        if running:
            errors = list(
                dict.fromkeys(
                    translate.without_secrets(observation.error)
                    for observation in observed.values()
                    if observation.error
                )
            )
            return JobReport(job, JobState.RUNNING, False, succeeded, failed, reasons, "; ".join(errors[:MOST_ERRORS]))
        message = f"nothing could be erased on: {record.unerased}" if record.unerased else ""
        return JobReport(job, JobState.ENDED, not failed, succeeded, failed, reasons, message)

    def _events(self, observed: Observations, nodes: Iterable[NodeName]) -> dict[NodeName, JsonObject]:
        """Return the newest warning about each node, where MAAS answers; a report works without them."""

        def newest(node: NodeName) -> JsonObject | None:
            try:
                return next(iter(self._client.events(translate.hostname(node), limit=1)), None)
            except PeerError:
                return None

        asked = [node for node in nodes if observed[node].machine is not None]
        if not asked:
            return {}
        with ThreadPoolExecutor(max_workers=self._options.threads, thread_name_prefix="maas-events") as pool:
            events = zip(asked, pool.map(propagated(newest), asked), strict=True)
            return {node: event for node, event in events if event is not None}
