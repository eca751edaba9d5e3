"""The provisioner port over Ironic's API, which knows nodes and no jobs."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

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

from . import site, translate
from .changes import Load
from .client import SYSTEM, IronicClient, JsonObject
from .decisions import Decision, Do, Done, Failed, Habits, Job, Waiting, decide, interruption
from .moves import Moved, Mover
from .translate import Node

DESIGN = "revision:"
MOST_TROUBLES = 5  # in the message of one report

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class _Standing:
    """One node of a job: as it was listed (None: not at all), and what is decided about it."""

    name: NodeName
    node: Node | None
    decision: Decision


class IronicProvisioner:
    """Ironic as the provisioner of a site.

    **A job** is our marker, written on every node of the work (``extra.shipyard``) before the node is moved; what the
    node still needs is decided from its state and that mark alone, at ``submit`` and at every ``report``, so both may
    be repeated, also at once, and after a crash at any point. The mark of an ended job stays until the next one, which
    remembers it: otherwise a report that is asked for twice would find nothing, and a job that was given up would
    take its nodes back. A deployment also claims the node by ``instance_uuid``.

    ``inventory`` returns the machines of a revision; what it raises of ``domain.errors``, or LookupError, means that
    the revision cannot be read. ``instance_info`` (image, checksum …), and per node ``traits``, ``steps`` and
    ``configdrive``, are what a deployment takes along; Ironic refuses a node that lacks a trait which is asked for.
    ``threads``: requests at once. ``span``: seconds after which one call begins no more nodes and leaves the rest to
    the next report, so that no call lasts as long as a large site takes.
    """

    name = SYSTEM
    capabilities = Capabilities(aborts=True, marks=True, preserves_storage=True, deploy_steps=True, selects=False)

    def __init__(
        self,
        client: IronicClient,
        inventory: Callable[[int], Inventory],
        *,
        instance_info: Mapping[str, Any] | None = None,
        traits: Callable[[NodeName], Sequence[str]] = lambda _: (),
        steps: Callable[[NodeName], Sequence[JsonObject]] = lambda _: (),
        configdrive: Callable[[NodeName], Mapping[str, Any] | str | None] = lambda _: None,
        inspect: bool = False,
        undo_failed: bool = True,
        remove: bool = False,
        threads: int = 8,
        span: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._inventory = inventory
        self._instance_info = dict(instance_info or {})
        self._traits = traits
        self._steps = steps
        self._configdrive = configdrive
        self._habits = Habits(inspect, undo_failed, remove)
        self._threads = threads
        self._span = span
        self._scrubber = client.scrubber
        self._mover = Mover(client, sleep=sleep)
        # What cannot be written on a node while it is moving, by job; () for a node that was looked at.
        self._left_out: dict[str, dict[NodeName, tuple[str, ...]]] = {}
        self._stopped: set[str] = set()

    def check_health(self) -> None:
        """Return if Ironic answers in a version that we speak and has a conductor that is alive."""
        site.check_health(self._client)

    def design_reference(self, revision: int) -> str:
        """Return the revision in words: Ironic fetches no designs."""
        return f"{DESIGN}{revision}"

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        """Return which nodes of the design Ironic cannot hold, or does not know."""
        names = self._machines(design, "validate_design").nodes
        known = {NodeName(str(one.get("name"))) for one in self._client.nodes(("name",))}
        return translate.findings(frozenset(names), known)

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        """Return the nodes of each tuple of selectors, as the design describes them; Ironic is not asked."""
        inventory = self._machines(design, "select_nodes")
        if not inventory.nodes:
            raise Refused(SYSTEM, "select_nodes", f"the design {design} names no node")
        return tuple(select(selectors, inventory) for selectors in groups)

    def conditions(self) -> Sequence[NodeCondition]:
        """Return every node of Ironic with its provision state; one without a name goes by its UUID."""
        listed = self._client.nodes(("uuid", "name", "provision_state", "power_state"))
        told = (replace(one, status=self._scrubber(one.status)) for one in map(translate.condition, listed))
        return sorted(told, key=lambda condition: condition.name)

    def submit(self, marker: Marker, work: Work) -> JobId:
        """Mark the nodes as those of this job, and start each that needs it.

        Raises Busy if not one node could be marked, as all are in the middle of something: the job could not be found
        again. Raises Unavailable after all nodes if one of them did not answer; the others may have been started.
        Raises Refused if our user may not change any of them.
        """
        if work.operation in site.OPERATIONS:
            return site.job_of(marker, work.operation)
        names = _names(work, marker)
        job = self._job(marker, work)
        standings = _standings(job, names, self._listed([work.operation]))
        answers = self._each(lambda standing: self._started(standing, job), standings, span=self._span)
        moved = [answer for answer in answers if isinstance(answer, Moved)]
        marked = any(one.marked for one in moved)
        for trouble in answers:
            if isinstance(trouble, Refused) and marked:
                raise Unavailable(SYSTEM, trouble.operation, trouble.detail, marker=marker)  # others were started
            if isinstance(trouble, PeerError):
                raise _about(marker, trouble)
        if not marked and any(isinstance(one.decision, Do | Waiting) for one in moved):
            raise Busy(SYSTEM, "submit", "every node is in the middle of something else", marker=marker)
        for one in moved if not marked else ():
            if one.denied and isinstance(one.decision, Failed):
                raise Refused(
                    SYSTEM, "submit", f"our user may change none of the nodes: {one.decision.why}", marker=marker
                )
        return JobId(marker)

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        """Return the job if any node carries its mark. A job on the site exists as soon as it is intended."""
        if work.operation in site.OPERATIONS:
            return site.find(marker, work.operation, known)
        nodes = translate.by_name(self._client.nodes(("name", "uuid", "extra")))
        mine = [nodes[name].marked(marker) for name in work.nodes or () if name in nodes]
        if JobId(marker) in known or not any(mark and mark.operation == work.operation.value for mark in mine):
            return None
        return JobId(marker)

    def report(self, job: JobId, work: Work) -> JobReport:
        """Return how the nodes stand, and move on each that is not where the work wants it.

        A node that Ironic does not want to move now, or that did not answer, is met again by the next report.
        """
        return self._reporting([work])(job, work)

    def reports(self, jobs: Mapping[JobId, Work]) -> Reports:
        """Do as ``report`` does for each job, from one listing of the nodes."""
        return each_report(jobs, self._reporting(jobs.values()))

    def _reporting(self, works: Iterable[Work]) -> Callable[[JobId, Work], JobReport]:
        """Return what reports on a job of such work, from one listing for all of them."""
        operations = [work.operation for work in works if work.operation not in site.OPERATIONS]
        nodes = self._listed(operations) if operations else {}

        def report(job: JobId, work: Work) -> JobReport:
            if work.operation in site.OPERATIONS:
                return self._scrubber.report(site.report(self._client, job, work.operation))
            return self._report(job, work, nodes)

        return report

    def _report(self, job: JobId, work: Work, nodes: Mapping[NodeName, Node]) -> JobReport:
        ours = self._job(job, work)
        standings = _standings(ours, _names(work, Marker(job)), nodes)
        undecided = [one for one in standings if isinstance(one.decision, Do | Waiting)]
        if undecided and not any(one.node and one.node.marked(job) for one in standings):
            return JobReport(job, JobState.LOST, ok=False, message=f"no node in Ironic carries the mark of job {job}")
        troubles: list[str] = []
        decided = {one.name: one.decision for one in standings}
        moving = [one for one in standings if isinstance(one.decision, Do)]
        answers = self._each(lambda one: self._moved(one, ours), moving, span=self._span)
        for standing, answer in zip(moving, answers, strict=True):
            if isinstance(answer, Refused):
                raise answer  # our credentials or our version: nothing about this node
            if isinstance(answer, PeerError):
                troubles.append(f"{standing.name}: {answer.detail}")
            elif answer is not None:
                decided[standing.name] = answer.decision
        return self._told(ours, standings, decided, troubles)

    def abort(self, job: JobId, work: Work) -> None:
        """Stop the work: waiting nodes are interrupted, the others come to rest by themselves and stay there."""
        if work.operation in site.OPERATIONS:
            return
        self._stopped.add(job)
        ours, version = self._job(job, work), self._client.version()
        standings = _standings(ours, _names(work, Marker(job)), self._listed([work.operation]))
        nodes = [one.node for one in standings if one.node]
        for answer in self._each(lambda node: self._mover.stop(node, ours, interruption(node, ours, version)), nodes):
            if isinstance(answer, PeerError):
                raise _about(Marker(job), answer)

    def _job(self, marker: str, work: Work) -> Job:
        left_out = self._left_out.get(marker, {})
        return Job(marker, work.operation, work.wipe, self._habits, marker in self._stopped, left_out)

    def _listed(self, operations: Iterable[Operation]) -> dict[NodeName, Node]:
        internal = (translate.INTERNAL,) if Operation.DEPLOY_NODES in operations else ()
        return translate.by_name(self._client.nodes((*translate.FIELDS, *internal)))

    def _started(self, standing: _Standing, job: Job) -> Moved:
        """Move a node that needs it; one that does not is marked all the same, unless it is none of our business."""
        if isinstance(standing.decision, Do):
            return self._moved(standing, job)
        if standing.node is None or isinstance(standing.decision, Failed):
            return Moved(standing.decision)
        return Moved(standing.decision, self._mover.mark(standing.node, job))

    def _moved(self, standing: _Standing, job: Job) -> Moved:
        if standing.node is None or not isinstance(standing.decision, Do):
            return Moved(standing.decision)
        load = self._load(job, standing.name)
        moved = self._mover.move(standing.node, job, standing.decision.verb, load)
        if load.steps and moved.marked and isinstance(moved.decision, Waiting):
            self._remember(job, standing.name, self._mover.steps_left_out(standing.node))
        return moved

    def _remember(self, job: Job, name: NodeName, left_out: tuple[str, ...] | None) -> None:
        """Keep what was left out of a deployment (None: not told): when it has ended, Ironic no longer tells."""
        if left_out is not None:
            self._left_out.setdefault(job.marker, {})[name] = left_out

    def _load(self, job: Job, name: NodeName) -> Load:
        if job.operation is not Operation.DEPLOY_NODES:
            return Load()
        traits = {"traits": list(traits)} if (traits := self._traits(name)) else {}
        return Load({**self._instance_info, **traits}, tuple(self._steps(name)), self._configdrive(name))

    def _told(
        self, job: Job, standings: Sequence[_Standing], decided: Mapping[NodeName, Decision], troubles: Sequence[str]
    ) -> JobReport:
        for one in standings:
            self._remember(job, one.name, one.node.left_out if one.node else None)
        failed = {name: what.why for name, what in decided.items() if isinstance(what, Failed)}
        failed = {name: self._load(job, name).shown(name, self._scrubber(why)) for name, why in failed.items()}
        succeeded = frozenset(name for name, what in decided.items() if isinstance(what, Done))
        ended = len(failed) + len(succeeded) == len(decided)
        notes = list(troubles[:MOST_TROUBLES])
        if ended and job.operation is Operation.DESTROY_NODES:
            notes.append(_erased(job, [one.node for one in standings if one.node and one.name in succeeded]))
        if ended and job.operation is Operation.DEPLOY_NODES:
            looked_at = self._left_out.get(job.marker, {})
            unsure = sorted(name for name in succeeded if name not in looked_at and self._load(job, name).steps)
            notes.extend([f"not seen whether Ironic ran all deploy steps on {', '.join(unsure)}"] if unsure else [])
        state = JobState.ENDED if ended else JobState.RUNNING
        message = "; ".join(filter(None, notes))
        return JobReport(JobId(job.marker), state, ended and not failed, succeeded, frozenset(failed), failed, message)

    def _machines(self, design: str, operation: str) -> Inventory:
        number = design.removeprefix(DESIGN)
        if not design.startswith(DESIGN) or not (number.isascii() and number.isdigit()):
            raise Refused(SYSTEM, operation, f"{design!r} is no revision of a design")
        try:
            return self._inventory(int(number))
        except (UnreadableDesign, LookupError) as error:
            raise Refused(SYSTEM, operation, f"the design {design} cannot be read: {error}") from error

    def _each(
        self, act: Callable[[Any], _Answer], things: Iterable[Any], *, span: float = math.inf
    ) -> list[_Answer | PeerError | None]:
        """Return what came of each, in order, a few at a time; trouble with one does not keep the others waiting.

        None for those that were not begun within the span (seconds).
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


def _standings(job: Job, names: Sequence[NodeName], nodes: Mapping[NodeName, Node]) -> list[_Standing]:
    """Return every node of the work as a listing has it, and what is to become of it."""
    marks = [nodes[name].marked(job.marker) for name in names if name in nodes]
    # One node that stands still is enough to tell the others, which may not have been free when it was asked.
    job = replace(job, stopped=job.stopped or any(mark and mark.stopped for mark in marks))
    return [_Standing(name, nodes.get(name), decide(nodes.get(name), name, job)) for name in names]


def _names(work: Work, marker: Marker) -> tuple[NodeName, ...]:
    if not work.nodes:
        raise Refused(SYSTEM, work.operation.value, "no node is named", marker=marker)
    return tuple(dict.fromkeys(work.nodes))


def _about(marker: Marker, error: PeerError) -> PeerError:
    error.marker = marker
    return error


def _erased(job: Job, nodes: Sequence[Node]) -> str:
    if job.wipe is Wipe.OS_DISK_ONLY:
        return "automated cleaning was left out: nothing was erased" if nodes else ""
    skipped = sorted(node.name for node in nodes if node.automated_clean is False)
    note = "what was erased is what Ironic's automated cleaning erases"
    return f"{note}; not on {', '.join(skipped)}, whose automated_clean is off" if skipped else note
