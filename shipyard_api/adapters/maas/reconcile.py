"""One reconcile pass over the machines of a job.

MAAS has no jobs. Each pass reads the machines, decides for each one (``decisions``), starts operations, and tags the
machines that the job has claimed. That tag follows the operation: the other order would blame the job for a machine's
earlier failure. Another tag comes before the operation. If a machine has that one only, its events show whether the
operation arrived and ended while no worker was there; so a crash between the two never repeats an operation.
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.templates import DeployStep
from shipyard_api.domain.nodes import NodeName
from shipyard_api.observing.request_context import propagated
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, Operation, Wipe, Work, goes_beyond

from . import deploy_steps
from .client import MaasClient
from .decisions import (
    ABORTABLE,
    DONE,
    RUNS_SCRIPTS,
    TRACES,
    WAIT,
    Decision,
    History,
    Kind,
    Machine,
    Owner,
    Verb,
    arrived,
    decide,
    decide_missing,
    fail,
)
from .job_tags import Record, begun_tag, job_tag, on_tag, scripts_tag
from .translate import MachineOptions, hostname, read_machine, request

ERASES_ALWAYS = "enable_disk_erasing_on_release"


class Observation(Struct, frozen=True):
    """A node in this pass. ``machine`` is None if MAAS has none, or several, of its name.

    ``claimed``, ``ran_scripts``: to tag.
    """

    decision: Decision
    machine: Machine | None = None
    claimed: bool = False
    error: str = ""
    ran_scripts: bool = False


Observations = Mapping[NodeName, Observation]


class Listing(Struct, frozen=True):
    """Machines by lower-case host name. ``unread``: names that were not looked up: a later pass decides about them."""

    machines: Mapping[str, list[Machine]]
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReconcilePass:
    """A pass over the machines of one job, as the MAAS user ``user``. ``stopped``: it starts no operation.

    ``newest``: MAAS's newest event before the job began anything (None: a job of an earlier version, which marks no
    machine beforehand). ``relatives``: the other jobs of the job's action. Their records may be lost, so a machine with
    the tag of one that has the same operation is also this job's, and one with the tag of a later operation has
    succeeded. ``comment``: of a tag for machines on which an operation is about to begin; ``tags``: those that MAAS
    has.

    Each machine is read once more just before an operation on it. One that is no longer as it was listed is left to the
    next pass: it may have been deployed again since.
    """

    client: MaasClient
    options: MachineOptions
    user: str
    job: JobId
    work: Work
    stopped: bool = False
    newest: int | None = None
    comment: str = ""
    tags: Collection[str] = ()
    relatives: Mapping[JobId, Record] = field(default_factory=dict)
    hostnames: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        """Note the host names of the work's machines."""
        object.__setattr__(self, "hostnames", frozenset(map(hostname, self.work.nodes or ())))

    def observe(self, listing: Listing) -> dict[NodeName, Observation]:
        """Return a decision for each node of the work. ``listing``: has at least the work's machines."""
        return {node: self._observe_name(hostname(node), listing) for node in sorted(set(self.work.nodes or ()))}

    def count_starts(self, listing: Listing) -> int:
        """Return how many machines of a listing this pass would start."""
        observed = (self._observe_name(name, listing) for name in self.hostnames & listing.machines.keys())
        return sum(observation.decision.kind is Kind.START for observation in observed)

    def waits_for(self, machine: Machine) -> bool:
        """Return whether the job only waits for a machine in this state."""
        return self._observe_machine(machine).decision.kind is Kind.WAIT

    def advance(self, observed: Observations) -> dict[NodeName, Observation]:
        """Start the operations decided on, tag the claimed machines, and return the nodes afterwards."""
        after = {**observed, **self._ended_unseen(observed)}
        starts = [(node, observation) for node, observation in after.items() if observation.decision.kind is Kind.START]
        random.shuffle(starts)  # machines that fail repeatedly must not starve the others
        may_release = self._may_release(starts)
        for node, observation in starts[self.options.starts :]:
            after[node] = replace(observation, decision=WAIT)
        sent = [observation for _, observation in starts[: self.options.starts]]
        self._mark(begun_tag(self.job), [entry.machine for entry in sent if entry.decision.verb in TRACES])
        self._mark(on_tag(self.job), [entry.machine for entry in sent if entry.decision.verb is Verb.SWITCH_ON])
        after |= self._each(starts[: self.options.starts], may_release)
        self._tag(after)
        return after

    def stop(self, observed: Observations) -> list[PeerError]:
        """Abort every running operation that MAAS can abort; return the errors that leave an abort uncertain."""

        def abort(machine: Machine) -> PeerError | None:
            try:
                shown = self.client.machine(machine.system_id)
                if shown is not None and self._is_abortable(self._observe_machine(read_machine(shown))):
                    self._start(machine, Verb.ABORT)
            except Refused:
                return None  # it has ended, or cannot be aborted: the next report shows which
            except PeerError as error:
                return error
            return None

        running = [
            observation.machine
            for observation in observed.values()
            if observation.machine is not None and self._is_abortable(observation)
        ]
        with self._pool() as pool:
            return [error for error in pool.map(propagated(abort), running) if error is not None]

    def _is_abortable(self, observation: Observation) -> bool:
        machine, decision = observation.machine, observation.decision
        return (
            machine is not None
            and machine.status in ABORTABLE
            and (decision.kind is Kind.WAIT or decision.verb is Verb.ABORT)
            and self._owner(machine) is not Owner.OTHER
            and not machine.locked
        )

    def _ended_unseen(self, observed: Observations) -> dict[NodeName, Observation]:
        """Return the machines whose operation was begun and is due again, but must not be sent again."""
        tags = {begun_tag(job) for job in self._same_operation()}
        begun = [
            (node, observation)
            for node, observation in observed.items()
            if observation.decision.kind is Kind.START
            and observation.decision.verb in TRACES
            and observation.machine
            and tags & observation.machine.tags
        ]
        if not begun or self.newest is None:
            return {}
        with self._pool() as pool:
            return dict(pool.map(propagated(self._after_begin), begun))

    def _after_begin(self, item: tuple[NodeName, Observation]) -> tuple[NodeName, Observation]:
        node, observation = item
        machine, verb = observation.machine, observation.decision.verb
        if machine is None or verb is None or self.newest is None:
            raise ValueError("only a begun operation leaves events")
        try:
            events = self.client.events_after(machine.hostname, self._newest(machine))
        except PeerError as error:
            return node, replace(observation, decision=WAIT, error=str(error))
        if not arrived(verb, (str(event.get("type")) for event in events)):
            return node, observation
        if verb is Verb.RUN_SCRIPTS:
            return node, replace(observation, decision=WAIT, ran_scripts=True)
        if verb is Verb.SWITCH_ON:
            return node, replace(observation, decision=WAIT, claimed=True)
        again = self._decide(machine, claimed=True)
        if again.verb is verb:
            again = fail(f"it was {verb.value} by this job and is {machine.label} again")
        return node, replace(observation, decision=again, claimed=again.kind is not Kind.START)

    def _each(self, starts: list[tuple[NodeName, Observation]], may_release: bool) -> dict[NodeName, Observation]:
        def start(item: tuple[NodeName, Observation]) -> tuple[NodeName, Observation]:
            node, observation = item
            if observation.decision.verb is Verb.RELEASE and not may_release:
                return node, replace(observation, decision=fail(f"MAAS erases at every release ({ERASES_ALWAYS})"))
            return node, self._attempt(observation)

        if not starts:
            return {}
        with self._pool() as pool:
            return dict(pool.map(propagated(start), starts))

    def _attempt(self, observation: Observation) -> Observation:
        """Start the operation. A refusal fails the node only if the machine's state confirms it."""
        machine, verb = observation.machine, observation.decision.verb
        if machine is None or verb is None:
            raise ValueError("an attempt needs a machine and an operation")
        try:
            if self._read_again(machine) != _as_listed(machine):
                return replace(observation, decision=WAIT)
            shown = self._start(machine, verb)
        except Refused as refusal:
            return self._after_refusal(machine, verb, refusal)
        except PeerError as error:
            # Busy: not started. Unavailable: unknown. The next pass reads the machine and decides again.
            return replace(observation, decision=WAIT, error=str(error))
        if verb is Verb.DELETE:
            return Observation(decide_missing(self.work.operation))
        scripts = verb is Verb.RUN_SCRIPTS
        return replace(observation, machine=shown or machine, decision=WAIT, claimed=not scripts, ran_scripts=scripts)

    def _after_refusal(self, machine: Machine, verb: Verb, refusal: Refused) -> Observation:
        try:
            machine_now = self.client.machine(machine.system_id)
        except (Busy, Unavailable) as error:
            return Observation(WAIT, machine, error=f"{refusal}; then {error}")
        if machine_now is None:
            return Observation(decide_missing(self.work.operation))
        again = self._observe_machine(read_machine(machine_now))
        if again.decision.kind is not Kind.START:
            return again
        if again.decision.verb is verb:
            return replace(again, decision=fail(f"it is {again.machine.label if again.machine else ''}; {refusal}"))
        return replace(again, decision=WAIT)

    def _read_again(self, machine: Machine) -> tuple[object, ...] | None:
        """Return what decides about a machine as MAAS has it now, None if it is gone."""
        shown = self.client.machine(machine.system_id)
        return None if shown is None else _as_listed(read_machine(shown))

    def _start(self, machine: Machine, verb: Verb) -> Machine | None:
        """Start an operation, and return the machine as MAAS then shows it."""
        if verb is Verb.DELETE:
            self.client.delete_machine(machine.system_id, marker=self.job)
            return None
        steps = self._steps(machine)
        if verb is Verb.DEPLOY and (layout := deploy_steps.form_of(steps, deploy_steps.LAYOUT)):
            # Before every attempt: to set it twice is the same as once.
            self.client.operate(machine.system_id, "set_storage_layout", layout, marker=self.job)
        operation, fields = request(verb, self.job, self.options)
        if verb is Verb.RUN_SCRIPTS:
            fields = [*fields, *(deploy_steps.form_of(steps, deploy_steps.SCRIPTS) or ())]
        shown = self.client.operate(machine.system_id, operation, fields, marker=self.job)
        return read_machine(shown) if shown and shown.get("system_id") == machine.system_id else None

    def _observe_name(self, name: str, listing: Listing) -> Observation:
        known = listing.machines.get(name, [])
        if name in listing.unread:
            return Observation(WAIT)
        if not known:
            return Observation(decide_missing(self.work.operation))
        if len(known) > 1:
            ids = ", ".join(sorted(machine.system_id for machine in known))
            return Observation(fail(f"MAAS has several machines of this name: {ids}"))
        return self._observe_machine(known[0])

    def _observe_machine(self, machine: Machine) -> Observation:
        if self._is_beyond(machine):
            return Observation(DONE, machine)
        decision = self._decide(machine, claimed=any(job_tag(job) in machine.tags for job in self._same_operation()))
        untouchable = self._owner(machine) is Owner.OTHER or machine.locked
        # Until its scripts have run, a machine is not claimed: Ready is then no deployment that was undone.
        before = self.work.operation is Operation.DEPLOY_NODES and machine.status in RUNS_SCRIPTS
        claimed = decision.kind in (Kind.DONE, Kind.WAIT) and not untouchable and not before
        return Observation(decision, machine, claimed)

    def _same_operation(self) -> list[JobId]:
        """Return the job, and those of its action with the same operation."""
        operation = self.work.operation.value
        return [self.job, *(job for job, record in self.relatives.items() if record.operation == operation)]

    def _is_beyond(self, machine: Machine) -> bool:
        """Return whether the action has gone on with the machine, to a later operation."""
        return any(
            goes_beyond(record.operation, self.work.operation) and {job_tag(job), begun_tag(job)} & machine.tags
            for job, record in self.relatives.items()
        )

    def _newest(self, machine: Machine) -> int:
        """Return MAAS's newest event before the action began this operation on the machine."""
        begun = [
            self.newest,
            *(record.newest for job, record in self.relatives.items() if begun_tag(job) in machine.tags),
        ]
        return min(newest for newest in begun if newest is not None)

    def _decide(self, machine: Machine, *, claimed: bool) -> Decision:
        history = History(
            claimed=claimed,
            stopped=self.stopped,
            wants_scripts=deploy_steps.form_of(self._steps(machine), deploy_steps.SCRIPTS) is not None,
            started_scripts=scripts_tag(self.job) in machine.tags,
            begun=any(begun_tag(job) in machine.tags for job in self._same_operation()),
            switches_on=any(on_tag(job) in machine.tags for job in self._same_operation()),
        )
        owner = self._owner(machine)
        rules = self.options.rules
        rules = replace(rules, keep_enlisted=rules.keep_enlisted or not self.work.leaves)
        return decide(machine, owner, history, self.work.operation, rules, self.work.wipe)

    def _steps(self, machine: Machine) -> Sequence[DeployStep]:
        """Return what the templates of a machine ask for."""
        named = {hostname(node): steps for node, steps in self.work.steps.items()} if self.work.steps else {}
        return named.get(machine.hostname, ())

    def _owner(self, machine: Machine) -> Owner:
        if not machine.owner:
            return Owner.NOBODY
        return Owner.US if machine.owner == self.user else Owner.OTHER

    def _may_release(self, starts: list[tuple[NodeName, Observation]]) -> bool:
        """Return whether a release keeps the disks: the site-wide setting may have changed since the submission."""
        kept = self.work.wipe is not Wipe.ALL
        if not kept or all(observation.decision.verb is not Verb.RELEASE for _, observation in starts):
            return True
        return not erases_always(self.client)

    def _tag(self, after: dict[NodeName, Observation]) -> None:
        """Tag the machines that are to have tags of the job, in MAAS and in these observations."""
        for tag, to_have in ((job_tag(self.job), _is_claimed), (scripts_tag(self.job), _ran_scripts)):
            new = {
                node: observation.machine
                for node, observation in after.items()
                if to_have(observation) and observation.machine
            }
            self._tag_machines(tag, new.values())
            for node, machine in new.items() if not self.stopped else ():
                if tag not in machine.tags:
                    after[node] = replace(after[node], machine=replace(machine, tags=machine.tags | {tag}))

    def _tag_machines(self, tag: str, machines: Iterable[Machine | None]) -> None:
        new = [machine.system_id for machine in machines if machine and tag not in machine.tags]
        if new and not self.stopped:
            self.client.tag_machines(tag, new, marker=self.job)

    def _mark(self, tag: str, machines: Sequence[Machine | None]) -> None:
        """Tag machines before an operation on them."""
        new = [machine.system_id for machine in machines if machine and tag not in machine.tags]
        if self.newest is None or not new:
            return
        if tag not in self.tags:
            self.client.create_tag(tag, self.comment, marker=self.job)
        self.client.tag_machines(tag, new, marker=self.job)

    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=self.options.threads, thread_name_prefix="maas")


def _as_listed(machine: Machine) -> tuple[object, ...]:
    return machine.hostname, machine.status, machine.owner, machine.locked, machine.power, machine.installation


def _is_claimed(observation: Observation) -> bool:
    return observation.claimed


def _ran_scripts(observation: Observation) -> bool:
    return observation.ran_scripts


def erases_always(client: MaasClient) -> bool:
    """Return whether MAAS erases disks at every release, whatever the request says."""
    return client.setting(ERASES_ALWAYS) not in (False, "false", "False", None, "")
