"""The provisioner port over Ironic's API, which has nodes but no jobs."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.deploy_steps.templates import Runbook
from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.markers import same_action
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
    Work,
    each_report,
)

from . import Unhealthy, deploy_steps, health, runbooks, site, translate
from .client import SYSTEM, IronicClient
from .decisions import Decision, Do, Done, Failed, Job, NodePolicy, Waiting, decide
from .deploy_steps import StepTable
from .inventory import Inventories
from .listing import INSTALLS, Listing
from .patches import Payload
from .transitions import Outcome, Transitions
from .translate import Node

DESIGN = "revision:"
MOST_ERRORS = 5  # in the message of one report

_Answer = TypeVar("_Answer")


class _NodeDecision(Struct, frozen=True):
    """A node of a job: as listed (None: not listed), and the decision on it."""

    name: NodeName
    node: Node | None
    decision: Decision


def _utc_now() -> datetime:
    return datetime.now(UTC)


_SERVICES_SINCE = 87


class IronicProvisioner:
    """Ironic as the provisioner of a site.

    **A job** is our marker, written on every node of the work (``extra.shipyard``) before any transition. The next
    verb is decided from the node's state and that mark alone, at ``submit`` and at every ``report``, so both may be
    repeated, also concurrently, and after a crash at any point. The mark of an ended job stays until the next job,
    whose mark remembers it: otherwise a repeated report would find nothing, and a stopped job would take its nodes
    back. A deployment also claims the node by ``instance_uuid``.

    ``inventory`` returns the machines of a revision; an error of ``domain.errors`` or a LookupError means that the
    revision is unreadable. ``instance_info`` (image, checksum …), and per node the steps of the work and
    ``configdrive``, are the payload of a deployment. Traits are not sent: templates live with Shipyard, and Ironic
    would apply its own templates of these traits. ``deploy_steps``: the steps of interfaces, beside those that are
    known. ``threads``: concurrent requests. ``span``: seconds after which one call starts no more nodes and leaves the
    rest to the next report, which bounds a call on a large site. ``shared_seconds``: how long reports use the listing
    of another one, by the clock ``now``; 0: never (module ``listing``).
    """

    name = SYSTEM

    def __init__(
        self,
        client: IronicClient,
        inventory: Callable[[int], Inventory],
        *,
        instance_info: Mapping[str, Any] | None = None,
        configdrive: Callable[[NodeName], Mapping[str, Any] | str | None] = lambda _: None,
        deploy_steps: StepTable | None = None,
        inspect: bool = False,
        undo_failed: bool = True,
        remove: bool = True,
        unhealthy: Unhealthy = Unhealthy.NONE,
        threads: int = 8,
        span: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
        shared_seconds: float = 0.0,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._client = client
        self._listing = Listing(client, now, shared_seconds, health=unhealthy is not Unhealthy.NONE)
        self._inventory = inventory
        self._instance_info = dict(instance_info or {})
        # Ironic 39 answers a rebuild without an image with 500.
        why = "" if "image_source" in self._instance_info else translate.LIMITS.no_rebuild
        limits = replace(translate.LIMITS, no_rebuild=why)
        bios = partial(self._boards, client.bios, "name", "value")
        firmware = partial(self._boards, client.firmware, "component", "current_version")
        able = Capabilities(aborts=True, marks=True, undeploys=undo_failed, limits=limits, bios=bios)
        able = replace(able, runbook=self._runbook, firmware=firmware, inventory=Inventories(client))
        self.capabilities = replace(able, health=health.reader(client, self._listing, unhealthy))
        self._deploy_steps = deploy_steps or {}
        self._configdrive = configdrive
        self._policy = NodePolicy(inspect, undo_failed, remove)
        self._threads, self._span, self._scrubber = threads, span, client.scrubber
        self._transitions = Transitions(client, sleep=sleep)
        # Dropped deploy steps by job and node (): none. They cannot be written on a node in transition.
        self._left_out: dict[str, dict[NodeName, tuple[str, ...]]] = {}
        self._stopped: set[str] = set()

    def check_health(self) -> None:
        """Return if Ironic answers in a supported version and has a conductor alive."""
        site.check_health(self._client)

    def design_reference(self, revision: int) -> str:
        """Return an address that only this adapter resolves: Ironic fetches no designs."""
        return f"{DESIGN}{revision}"

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return a finding on the nodes that are not enrolled."""
        names = self._machines(design, "validate_design").nodes
        known = {NodeName(str(node.get("name"))) for node in self._client.nodes(("name",))}
        return translate.findings(frozenset(names), known)

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return the nodes of each tuple of selectors, as the design describes them; Ironic is not asked."""
        inventory = self._machines(design, "select_nodes")
        if not inventory.nodes:
            raise Refused(SYSTEM, "select_nodes", f"the design {design} names no node")
        return tuple(select(selectors, inventory) for selectors in groups)

    def conditions(self) -> Sequence[ObservedMachine]:
        """Return every node of Ironic with its provision state; one without a name goes by its UUID."""
        listed = self._client.nodes(translate.CONDITION)
        conditions = (replace(node, status=self._scrubber(node.status)) for node in map(translate.condition, listed))
        return sorted(conditions, key=lambda condition: condition.name)

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        """Return the steps of each node by its hardware interfaces: Ironic has no list of a node's deploy steps."""
        version = self._client.version()
        listed = self._client.nodes(("name", *deploy_steps.fields(version)))
        return deploy_steps.supported(listed, nodes, self._deploy_steps, version)

    def _runbook(self, name: str, nodes: Collection[NodeName]) -> Runbook | None:
        version = self._client.version()
        if version < runbooks.SINCE:
            why = f"runbooks need version 1.{runbooks.SINCE} of Ironic's API; this Ironic has 1.{version}"
            raise Refused(SYSTEM, "runbook", why, whole_site=True)
        entry = self._client.runbook(name)
        return None if entry is None else runbooks.read(entry, self._client.nodes(("name", "traits")), nodes, version)

    def _boards(
        self, read: Callable[[str], list[Any]], key: str, value: str, nodes: Collection[NodeName]
    ) -> Mapping[NodeName, Mapping[str, str]]:
        names, boards = sorted(nodes), dict[NodeName, Mapping[str, str]]()
        for name, answer in zip(names, self._each(read, names), strict=True):
            if isinstance(answer, PeerError):
                raise answer
            if answer:
                boards[name] = {str(row.get(key)): str(row[value]) for row in answer if row.get(value) is not None}
        return boards

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Mark the nodes as the job's, and start each node that needs it.

        Raises Busy if no node could be marked because all are in transition; the job could not be found again. Raises
        Unavailable, after trying all nodes, if one of them did not answer; others may have started. Raises Refused if
        our user may not change any of them.
        """
        if work.operation in site.OPERATIONS:
            return site.job_of(marker, work.operation)
        names = _names(work, marker)
        if work.operation is Operation.REBUILD_NODES and (why := self.capabilities.limits.no_rebuild):
            raise Refused(SYSTEM, work.operation.value, f"Ironic cannot rebuild nodes: {why}", marker=marker)
        if work.operation is Operation.SERVICE_NODES and (version := self._client.version()) < _SERVICES_SINCE:
            why = f"servicing nodes needs version 1.{_SERVICES_SINCE} of Ironic's API; this Ironic has 1.{version}"
            raise Refused(SYSTEM, work.operation.value, why, marker=marker, whole_site=True)
        job = self._job(marker, work)
        decisions = _decisions(job, names, self._listing.fresh([work]))
        answers = self._each(lambda entry: self._start_or_mark(entry, job), decisions, span=self._span)
        outcome = [answer for answer in answers if isinstance(answer, Outcome)]
        marked = any(part.marked for part in outcome)
        for error in answers:
            if isinstance(error, Refused) and marked:
                raise Unavailable(SYSTEM, error.operation, error.detail, marker=marker)  # others were started
            if isinstance(error, PeerError):
                raise _about(marker, error)
        if not marked and any(isinstance(part.decision, Do | Waiting) for part in outcome):
            raise Busy(SYSTEM, "submit", "every node is in another transition", marker=marker)
        for part in outcome if not marked else ():
            if part.denied and isinstance(part.decision, Failed):
                why = f"Shipyard's user may change none of the nodes: {part.decision.why}"
                raise Refused(SYSTEM, "submit", why, marker=marker, whole_site=True)
        return JobId(marker)

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job if any node has its mark, or that of a later job of its action.

        A job on the site exists from its intent on.
        """
        if work.operation in site.OPERATIONS:
            return site.find(marker, work.operation, known)
        nodes = translate.by_name(map(Node.read, self._client.nodes(("name", "uuid", "extra"))))
        marked = [node for name in work.nodes or () if (node := nodes.get(name)) and node.mark]
        other = [node.mark for node in marked if node.mark and node.mark.operation != work.operation.value]
        if any(mark.marker == marker for mark in other) or not translate.shown_on(marker, work.operation, marked):
            return None
        if JobId(marker) in known:
            return None
        return JobId(marker)

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        """Return the latest job of each node, if it is one of the marker's action. Exact: Ironic keeps the mark."""
        nodes = translate.by_name(map(Node.read, self._client.nodes(("name", "uuid", "extra"))))
        marks = {name: nodes[name].mark for name in work.nodes or () if name in nodes}
        return [
            EarlierWork(JobId(mark.marker), Operation(mark.operation), (name,))
            for name, mark in marks.items()
            if mark is not None and same_action(mark.marker, marker) and mark.marker not in known
        ]

    def report(self, job: JobId, work: Work) -> JobReport:
        """Return the report on the job, and start the next transition of each node that needs one.

        The next report retries nodes that are locked or did not answer.
        """
        return self._reporting({job: work})(job, work)

    def reports(self, jobs: Mapping[JobId, Work]) -> Reports:
        """Report on each job as ``report`` does, with one listing of the nodes."""
        return each_report(jobs, self._reporting(jobs))

    def _reporting(self, jobs: Mapping[JobId, Work]) -> Callable[[JobId, Work], JobReport]:
        """Return a function that reports on one of these jobs, from one listing for all of them."""
        on_nodes = {job: work for job, work in jobs.items() if work.operation not in site.OPERATIONS}
        nodes = self._reported(on_nodes) if on_nodes else {}

        def report(job: JobId, work: Work) -> JobReport:
            if work.operation in site.OPERATIONS:
                return self._scrubber.report(site.report(self._client, job, work.operation))
            return self._report(job, work, nodes)

        return report

    def _reported(self, jobs: Mapping[JobId, Work]) -> Mapping[NodeName, Node]:
        """Return the nodes of these jobs: from a listing that serves several reports, if it shows all that matters."""
        works = list(jobs.values())
        nodes = None if any(work.fresh for work in works) else self._listing.recent(works)
        if nodes is not None and all(self._is_decided(job, work, nodes) for job, work in jobs.items()):
            return nodes
        return self._listing.fresh(works)

    def _is_decided(self, job: JobId, work: Work, nodes: Mapping[NodeName, Node]) -> bool:
        """Return whether an older listing decides on this work as a report at that time would have.

        It is not older than the submission if every node has the job's mark. Verbs are sent only from a fresh listing,
        and what a stopped job has left shows only there.
        """
        ours = self._job(job, work)
        return not ours.stopped and all(
            entry.node is not None
            and entry.node.mark is not None
            and (entry.node.mark.marker == job or entry.node.is_beyond(job, work.operation))
            and not isinstance(entry.decision, Do)
            for entry in _decisions(ours, _names(work, Marker(job)), nodes)
        )

    def _report(self, job: JobId, work: Work, nodes: Mapping[NodeName, Node]) -> JobReport:
        ours = self._job(job, work)
        decisions = _decisions(ours, _names(work, Marker(job)), nodes)
        undecided = [entry for entry in decisions if isinstance(entry.decision, Do | Waiting)]
        if undecided and not translate.shown_on(job, work.operation, (entry.node for entry in decisions)):
            return JobReport(job, JobState.LOST, ok=False, message=f"no node in Ironic has the mark of job {job}")
        decisions = self._with_errors(decisions, ours)
        errors: list[str] = []
        decided = {entry.name: entry.decision for entry in decisions}
        moving = [entry for entry in decisions if isinstance(entry.decision, Do)]
        answers = self._each(lambda entry: self._start(entry, ours), moving, span=self._span)
        for entry, answer in zip(moving, answers, strict=True):
            if isinstance(answer, Refused):
                raise answer  # our credentials or our API version, not this node
            if isinstance(answer, PeerError):
                errors.append(f"{entry.name}: {answer.detail}")
            elif answer is not None:
                decided[entry.name] = answer.decision
        return self._job_report(ours, decisions, decided, errors)

    def _with_errors(self, decisions: Sequence[_NodeDecision], job: Job) -> list[_NodeDecision]:
        """Return the decisions with the reasons that only the history of their nodes still has."""

        def with_error(entry: _NodeDecision) -> _NodeDecision:
            if entry.node is None:
                return entry
            node = translate.with_error(entry.node, self._client.history(entry.node.uuid))
            return _NodeDecision(entry.name, node, decide(node, entry.name, job))

        lacking = [
            item
            for item in decisions
            if item.node and isinstance(item.decision, Failed) and translate.lacks_error(item.node, item.decision.why)
        ]
        answers = self._each(with_error, lacking, span=self._span) if lacking else []
        known = {answer.name: answer for answer in answers if isinstance(answer, _NodeDecision)}
        return [known.get(entry.name, entry) for entry in decisions]

    def abort(self, job: JobId, work: Work) -> None:
        """Stop the work: nodes in a waiting state are interrupted, others finish their transition and stay."""
        if work.operation in site.OPERATIONS:
            return
        self._stopped.add(job)
        ours = self._job(job, work)
        decisions = _decisions(ours, _names(work, Marker(job)), self._listing.fresh([work]))
        nodes = [entry.node for entry in decisions if entry.node]
        for answer in self._each(lambda node: self._transitions.stop(node, ours), nodes):
            if isinstance(answer, PeerError):
                raise _about(Marker(job), answer)

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        """Reboot the nodes; Ironic refuses those that it cleans, and those that are locked by work of its own."""
        ours, names = self._job(job, work), sorted(work.nodes or ())
        answers = self._each(lambda name: self._transitions.reboot(name, ours), names)
        return {name: self._scrubber(str(why)) for name, why in zip(names, answers, strict=True) if why}

    def _job(self, marker: str, work: Work) -> Job:
        left_out, stopped = self._left_out.get(marker, {}), marker in self._stopped
        policy = replace(self._policy, remove=self._policy.remove and work.leaves)
        return Job(marker, work.operation, work.wipe, policy, stopped, left_out, work.steps, work.again)

    def _start_or_mark(self, entry: _NodeDecision, job: Job) -> Outcome:
        """Start a node that needs a verb; mark one that needs none, unless it has failed."""
        if isinstance(entry.decision, Do):
            return self._start(entry, job)
        if entry.node is None or isinstance(entry.decision, Failed):
            return Outcome(entry.decision)
        if entry.node.is_beyond(job.marker, job.operation):
            return Outcome(entry.decision, marked=True)  # it shows a later job of the action
        return Outcome(entry.decision, self._transitions.mark(entry.node, job))

    def _start(self, entry: _NodeDecision, job: Job) -> Outcome:
        if entry.node is None or not isinstance(entry.decision, Do):
            return Outcome(entry.decision)
        payload = self._payload(job, entry.name)
        outcome = self._transitions.start(entry.node, job, payload)
        sent = payload.steps and job.operation in INSTALLS
        if sent and outcome.marked and isinstance(outcome.decision, Waiting):
            self._remember(job, entry.name, self._transitions.steps_left_out(entry.node))
        return outcome

    def _remember(self, job: Job, name: NodeName, left_out: tuple[str, ...] | None) -> None:
        """Remember the dropped steps of a deployment (None: unknown): Ironic forgets them when it ends."""
        if left_out is not None:
            self._left_out.setdefault(job.marker, {})[name] = left_out

    def _payload(self, job: Job, name: NodeName) -> Payload:
        steps = tuple(deploy_steps.sent(step) for step in job.steps.get(name, ()))
        if job.operation not in INSTALLS:
            return Payload(steps=steps)
        return Payload(self._instance_info, steps, self._configdrive(name))

    def _job_report(
        self, job: Job, decisions: Sequence[_NodeDecision], decided: Mapping[NodeName, Decision], errors: Sequence[str]
    ) -> JobReport:
        for entry in decisions:
            self._remember(job, entry.name, entry.node.left_out if entry.node else None)
        failed = {name: what.why for name, what in decided.items() if isinstance(what, Failed)}
        failed = {name: self._payload(job, name).shown(name, self._scrubber(why)) for name, why in failed.items()}
        succeeded = frozenset(name for name, what in decided.items() if isinstance(what, Done))
        ended = len(failed) + len(succeeded) == len(decided)
        notes = list(errors[:MOST_ERRORS])
        if ended and job.operation is Operation.DESTROY_NODES:
            erased = [entry.node for entry in decisions if entry.node and entry.name in succeeded]
            notes.append(translate.erased(job.wipe, erased))
        if ended and job.operation in INSTALLS:
            looked_at = self._left_out.get(job.marker, {})
            unsure = sorted(name for name in succeeded if name not in looked_at and self._payload(job, name).steps)
            notes.extend([f"unknown whether Ironic ran all deploy steps on {', '.join(unsure)}"] if unsure else [])
        state = JobState.ENDED if ended else JobState.RUNNING
        message = "; ".join(filter(None, notes))
        return JobReport(JobId(job.marker), state, ended and not failed, succeeded, frozenset(failed), failed, message)

    def _machines(self, design: str, operation: str) -> Inventory:
        number = design.removeprefix(DESIGN)
        if not design.startswith(DESIGN) or not (number.isascii() and number.isdigit()):
            raise Refused(SYSTEM, operation, f"{design!r} is not a design address; write {DESIGN}NUMBER")
        try:
            return self._inventory(int(number))
        except (UnreadableDesign, LookupError) as error:
            raise Refused(SYSTEM, operation, f"the design {design} cannot be read: {error}") from error

    def _each(
        self, act: Callable[[Any], _Answer], things: Iterable[Any], *, span: float = math.inf
    ) -> list[_Answer | PeerError | None]:
        """Return the outcome for each, in order, a few at a time; an error of one does not affect the others.

        None for those that were not started within the span (seconds).
        """
        latest = time.monotonic() + span

        def attempt(thing: Any) -> _Answer | PeerError | None:
            if time.monotonic() > latest:
                return None
            try:
                return act(thing)
            except PeerError as error:
                return error

        with ThreadPoolExecutor(max_workers=self._threads, thread_name_prefix="ironic") as pool:
            return list(pool.map(propagated(attempt), things))


def _decisions(job: Job, names: Sequence[NodeName], nodes: Mapping[NodeName, Node]) -> list[_NodeDecision]:
    """Return every node of the work with the decision on it."""
    marks = [nodes[name].marked(job.marker, job.operation) for name in names if name in nodes]
    # A stop reaches only unlocked nodes; one of them is enough to stop the others.
    job = replace(job, stopped=job.stopped or any(mark and mark.stopped for mark in marks))
    return [_NodeDecision(name, nodes.get(name), decide(nodes.get(name), name, job)) for name in names]


def _names(work: Work, marker: Marker) -> tuple[NodeName, ...]:
    if work.operation is Operation.RELABEL_NODES:
        raise Refused(SYSTEM, work.operation.value, "Ironic knows no labels of Kubernetes nodes", marker=marker)
    if not work.nodes:
        raise Refused(SYSTEM, work.operation.value, "no node is named", marker=marker)
    return tuple(dict.fromkeys(work.nodes))


def _about(marker: Marker, error: PeerError) -> PeerError:
    error.marker = marker
    return error
