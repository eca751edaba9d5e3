"""Reading the machines of jobs: each of them once, and in later polls only those that may have changed.

A machine is some 18 kB in a listing, and MAAS v2 has neither pages nor a choice of fields. So a poll asks for the ids
of the machines that jobs wait for, except those that are still in the status in which they were last read: the answer
holds the changed ones.

**Memory only says "wait".** Every other decision follows from a machine that was read in the same poll, because its
tags, owner and lock may change while its status does not. A query by id does not show that a machine was deleted or
renamed, or that there is a second one of its name: so each poll reads some by name, those first that were read longest
ago, and more of them the fewer have changed.

MAAS's v3 listing is no alternative: it filters neither by id nor by status, so it grows with the site, and it needs a
second credential. So do v3's operations, jobs that one could ask about, which no release of MAAS has yet (contract:
maas, section 14). MAAS's events are none, because not every change of a status leaves one.
"""

import itertools
import random
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from .client import MaasClient
from .decisions import RUNS_SCRIPTS, Machine
from .reconcile import Listing, Observations, ReconcilePass
from .translate import by_hostname, hostname, read_machine, short_name

LAPSE = 900.0  # seconds after which a machine that was not polled is forgotten: other workers may have replaced it


class _Memory(Struct, frozen=True):
    """A machine that jobs wait for. ``read``: rises with each reading. ``polled``: when its status was confirmed."""

    machine: Machine
    read: int
    polled: float


class MachineLister:
    """Reads the machines of jobs, and remembers those that the jobs wait for. Safe for threads.

    ``shown``: machines that a poll reads by name anyway, so jobs with no more are all read in each poll. An eighth of
    them is read however many others have changed.
    """

    def __init__(self, client: MaasClient, shown: int) -> None:
        self._client, self._shown, self._least = client, shown, max(1, shown // 8)
        self._memories: dict[str, _Memory] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def whole(self, names: Collection[str]) -> Listing:
        """Return every machine of these host names."""
        return Listing(by_hostname(self._client.machines(names)))

    def first(self, one_pass: ReconcilePass) -> Listing:
        """Return the machines of a job, except those that it could not start in this pass anyway."""
        return self._read_starts([one_pass], self._others([one_pass], ()), {})

    def poll(self, passes: Sequence[ReconcilePass]) -> Listing:
        """Return the machines of jobs: from memory if they still have the status in which a job waits for them."""
        waiting = self._waiting(passes)
        if len(waiting) <= self._shown:
            return self._read_starts(passes, self._others(passes, ()), {})
        machines = {name: [memory.machine] for name, memory in waiting.items()}
        names = {memory.machine.system_id: name for name, memory in waiting.items()}
        unchanged = dict(waiting)
        for machine in self._changed(memory.machine for memory in waiting.values()):
            if name := names.get(machine.system_id):
                unchanged.pop(name, None)
                machines.pop(name, None)  # a renamed machine: the name is read again
                if machine.hostname == name:
                    machines[name] = [machine]
        self._confirm(unchanged)
        others = self._others(passes, machines)
        room = max(self._least, self._shown - (len(waiting) - len(unchanged)) - len(others))
        again = sorted(unchanged, key=lambda name: unchanged[name].read)[:room]
        for name in again:
            del machines[name]
        return self._read_starts(passes, [*again, *others], machines)

    def _others(self, passes: Iterable[ReconcilePass], known: Collection[str]) -> list[str]:
        """Return the other host names, in any order: machines that fail repeatedly must not starve the others."""
        others = sorted(
            frozenset[str]().union(*(reconcile_pass.hostnames for reconcile_pass in passes)).difference(known)
        )
        random.shuffle(others)
        return others

    def remember(self, one_pass: ReconcilePass, observed: Observations) -> None:
        """Remember the machines that the job waits for after a pass, and forget its others."""
        now = time.monotonic()
        with self._lock:
            for node, observation in observed.items():
                name, machine = hostname(node), observation.machine
                memory = self._memories.get(name)
                if memory and memory.machine is machine:
                    continue
                if machine is not None and one_pass.waits_for(machine):
                    self._memories[name] = _Memory(machine, next(self._numbers), now)
                else:
                    self._memories.pop(name, None)

    def _waiting(self, passes: Iterable[ReconcilePass]) -> dict[str, _Memory]:
        """Return the remembered machines of these jobs that each of the jobs waits for, by name."""
        oldest = time.monotonic() - LAPSE
        with self._lock:
            self._memories = {name: memory for name, memory in self._memories.items() if memory.polled > oldest}
            memories = dict(self._memories)
        waiting: dict[str, _Memory] = {}
        refused: set[str] = set()
        for one_pass in passes:
            for name in one_pass.hostnames & memories.keys():
                waiting[name] = memories[name]
                if not one_pass.waits_for(memories[name].machine):
                    refused.add(name)
        return {name: memory for name, memory in waiting.items() if name not in refused}

    def _changed(self, known: Iterable[Machine]) -> list[Machine]:
        """Return the machines that are no longer in the status in which they were read.

        Commissioning and testing count as one. A region that does not know the filter returns them all.
        """
        ids: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for machine in known:
            alike = sorted(RUNS_SCRIPTS) if machine.status in RUNS_SCRIPTS else [machine.status]
            ids[tuple(map(short_name, alike))].append(machine.system_id)
        return [
            read_machine(entry)
            for statuses, chosen in ids.items()
            for entry in self._client.machines_not_in(statuses, chosen)
        ]

    def _confirm(self, known: Iterable[str]) -> None:
        now = time.monotonic()
        with self._lock:
            for name in known:
                if memory := self._memories.get(name):
                    self._memories[name] = _Memory(memory.machine, memory.read, now)

    def _read_starts(
        self, passes: Sequence[ReconcilePass], names: Sequence[str], machines: dict[str, list[Machine]]
    ) -> Listing:
        """Read machines by name, until each job has as many to start as it may start in one pass.

        ``machines``: those that are known already, to which the others are added.
        """
        pending = [[name for name in names if name in one_pass.hostnames] for one_pass in passes]
        starts = [0] * len(passes)
        read = set(machines)
        size = max(self._shown, *(reconcile_pass.options.starts for reconcile_pass in passes)) if passes else 0
        while True:
            turn = {
                name
                for at, one_pass in enumerate(passes)
                if starts[at] < one_pass.options.starts
                for name in pending[at][:size]
            }
            if not turn:
                break
            machines |= by_hostname(self._client.machines(turn))
            read |= turn
            for at, one_pass in enumerate(passes):
                starts[at] += one_pass.count_starts(Listing({name: machines.get(name, []) for name in turn}))
                pending[at] = [name for name in pending[at] if name not in read]
            size *= 2
        return Listing(machines, frozenset(name for left in pending for name in left))
