"""One look at the machines of a job, and what is begun on them in it.

MAAS knows no jobs: every look reads the machines, decides for each (``decisions``), begins what is to be begun and
marks the machines that the job has taken on. The mark follows the operation: a crash between the two costs one more
attempt, while the other order would call a failure of long ago our own.
"""

import random
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.ports.provisioner import JobId, Operation, Wipe, Work
from shipyard_api.request_context import propagated

from .client import JsonObject, MaasClient
from .decisions import (
    ABORTABLE,
    WAIT,
    Decision,
    History,
    Kind,
    Machine,
    Owner,
    Verb,
    decide,
    decide_missing,
    fail,
)
from .marks import mark
from .translate import MachineOptions, by_hostname, hostname, read_machine, request

# Seconds for which a listing is good enough to begin something on: longer than the slowest listing takes to arrive,
# shorter than a machine takes to be released and deployed again.
FRESH = 300.0
ERASES_ALWAYS = "enable_disk_erasing_on_release"


@dataclass(frozen=True, slots=True)
class Seen:
    """A node in this look. ``machine`` is None if MAAS has none, or several, of its name. ``taken``: to be marked."""

    decision: Decision
    machine: Machine | None = None
    taken: bool = False
    trouble: str = ""


Look = Mapping[NodeName, Seen]


@dataclass(frozen=True, slots=True)
class Round:
    """A look at the machines of one job, as the MAAS user ``user``; ``stopped``: nothing is begun any more.

    To be made just before the machines are listed. Nothing is begun on what was seen too long ago: a worker that was
    frozen meanwhile would release a machine that has long been deployed again.
    """

    client: MaasClient
    options: MachineOptions
    user: str
    job: JobId
    work: Work
    stopped: bool = False
    began: float = field(default_factory=time.monotonic)

    def look(self, found: Iterable[JsonObject]) -> dict[NodeName, Seen]:
        """Return what is to be done, from a listing that holds at least the machines of the work."""
        machines = by_hostname(found)
        look = {}
        for node in sorted(set(self.work.nodes or ())):
            known = machines.get(hostname(node), [])
            if not known:
                look[node] = Seen(decide_missing(self.work.operation))
            elif len(known) > 1:
                ids = ", ".join(sorted(machine.system_id for machine in known))
                look[node] = Seen(fail(f"MAAS has several machines of this name: {ids}"))
            else:
                look[node] = self._seen(known[0])
        return look

    def advance(self, look: Look) -> dict[NodeName, Seen]:
        """Begin what is to be begun, mark what was taken on, and return how the nodes stand then."""
        after = dict(look)
        due = [(node, seen) for node, seen in look.items() if seen.decision.kind is Kind.START]
        random.shuffle(due)  # those that fail again and again must not keep the others waiting for ever
        may_release = self._may_release(due)
        for node, seen in due[self.options.starts :]:
            after[node] = replace(seen, decision=WAIT)
        after |= self._each(due[: self.options.starts], may_release)
        self._mark(after.values())
        return after

    def stop(self, look: Look) -> list[PeerError]:
        """Abort what the job waits for and MAAS can abort; return the failures after which that is not certain."""

        def abort(machine: Machine) -> PeerError | None:
            try:
                self._begin(machine, Verb.ABORT)
            except Refused:
                return None  # it is past that by now, or it is not to be stopped: the next report tells
            except PeerError as error:
                return error
            return None

        running = [
            seen.machine
            for seen in look.values()
            if seen.machine is not None
            and seen.machine.status in ABORTABLE
            and (seen.decision.kind is Kind.WAIT or seen.decision.verb is Verb.ABORT)
            and self._owner(seen.machine) is not Owner.OTHER
            and not seen.machine.locked
        ]
        with self._pool() as pool:
            return [error for error in pool.map(propagated(abort), running) if error is not None]

    def _each(self, due: list[tuple[NodeName, Seen]], may_release: bool) -> dict[NodeName, Seen]:
        def begin(item: tuple[NodeName, Seen]) -> tuple[NodeName, Seen]:
            node, seen = item
            if seen.decision.verb is Verb.RELEASE and not may_release:
                return node, replace(seen, decision=fail(f"MAAS erases at every release ({ERASES_ALWAYS})"))
            return node, self._attempt(seen)

        if not due:
            return {}
        with self._pool() as pool:
            return dict(pool.map(propagated(begin), due))

    def _attempt(self, seen: Seen) -> Seen:
        """Begin the operation. Only a refusal that the machine's own state confirms fails the node."""
        machine, verb = seen.machine, seen.decision.verb
        if machine is None or verb is None:
            raise ValueError("there is nothing to begin without a machine and an operation")
        if time.monotonic() - self.began > FRESH:
            return replace(seen, decision=WAIT)
        try:
            self._begin(machine, verb)
        except Refused as refusal:
            return self._after_refusal(machine, verb, refusal)
        except PeerError as trouble:
            # Busy: not now. Unavailable: perhaps. The machine is read again at the next look, and tells.
            return replace(seen, decision=WAIT, trouble=str(trouble))
        if verb is Verb.DELETE:
            return Seen(decide_missing(self.work.operation))
        return replace(seen, decision=WAIT, taken=True)

    def _after_refusal(self, machine: Machine, verb: Verb, refusal: Refused) -> Seen:
        try:
            found = self.client.machine(machine.system_id)
        except (Busy, Unavailable) as trouble:
            return Seen(WAIT, machine, trouble=f"{refusal}; then {trouble}")
        if found is None:
            return Seen(decide_missing(self.work.operation))
        again = self._seen(read_machine(found))
        if again.decision.kind is not Kind.START:
            return again
        if again.decision.verb is verb:
            return replace(again, decision=fail(f"it is {again.machine.label if again.machine else ''}; {refusal}"))
        return replace(again, decision=WAIT)

    def _begin(self, machine: Machine, verb: Verb) -> None:
        if verb is Verb.DELETE:
            self.client.delete_machine(machine.system_id, marker=self.job)
            return
        operation, fields = request(verb, self.job, self.options)
        self.client.operate(machine.system_id, operation, fields, marker=self.job)

    def _seen(self, machine: Machine) -> Seen:
        owner = self._owner(machine)
        history = History(begun=mark(self.job) in machine.tags, stopped=self.stopped)
        decision = decide(machine, owner, history, self.work.operation, self.options.rules, self.work.wipe)
        untouchable = owner is Owner.OTHER or machine.locked
        taken = decision.kind in (Kind.DONE, Kind.WAIT) and not untouchable
        return Seen(decision, machine, taken)

    def _owner(self, machine: Machine) -> Owner:
        if not machine.owner:
            return Owner.NOBODY
        return Owner.US if machine.owner == self.user else Owner.OTHER

    def _may_release(self, due: list[tuple[NodeName, Seen]]) -> bool:
        """Say whether a release without erasing is one: the site-wide setting may have changed since the submission."""
        kept = self.work.operation is Operation.DESTROY_NODES and self.work.wipe is not Wipe.ALL
        if not kept or all(seen.decision.verb is not Verb.RELEASE for _, seen in due):
            return True
        return not erases_always(self.client)

    def _mark(self, seen: Iterable[Seen]) -> None:
        tag = mark(self.job)
        new = [one.machine.system_id for one in seen if one.taken and one.machine and tag not in one.machine.tags]
        if new and not self.stopped:
            self.client.tag_machines(tag, new, marker=self.job)

    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=self.options.threads, thread_name_prefix="maas")


def erases_always(client: MaasClient) -> bool:
    """Say whether MAAS erases disks at every release, whatever it is asked."""
    return client.setting(ERASES_ALWAYS) not in (False, "false", "False", None, "")
