"""The state of the region controller, changed in one transaction at a time."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock, stamp
from shipyard_simulators.events import EventLog
from shipyard_simulators.maas import state_file
from shipyard_simulators.maas.accounts import Accounts
from shipyard_simulators.maas.machine import Change, Machine, ScriptSet
from shipyard_simulators.maas.places import Place
from shipyard_simulators.maas.statuses import Status
from shipyard_simulators.scenario import Scenario

_ALPHABET = "abcdefghkmnpqrstwxy3478"


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """The cause of a change: an operation of a user in a request, or, without those, time."""

    name: str
    user: str | None = None
    request: int | None = None


class Region(state_file.State):
    """Machines, tags, pools, zones, events and settings. Every access is inside a transaction.

    ``restored``: whether they were read from the state file of an earlier run.
    """

    def __init__(
        self, scenario: Scenario, clock: Clock, accounts: Accounts, log: EventLog, *, state: Path | None = None
    ) -> None:
        super().__init__()
        self.scenario, self.clock, self.accounts = scenario, clock, accounts
        self._log, self._state, self._lock = log, state, threading.RLock()
        self._dirty = False
        self.restored = state is not None and state_file.restore(state, self)

    @contextmanager
    def transaction(self) -> Iterator[float]:
        """Yield the time, after everything due has happened. No other thread changes anything meanwhile."""
        with self._lock:
            now = self.clock.now()
            self.settle(now)
            try:
                yield now
            finally:
                self.settle(now)
                if self._dirty and self._state is not None:
                    state_file.save(self._state, self)
                self._dirty = False

    def place_named(self, places: dict[str, Place], name: str) -> Place:
        """Return the zone or pool of the name; create it if there is none."""
        return places.setdefault(name, Place(max(each.number for each in places.values()) + 1, name, ""))

    def add(self, hostname: str) -> Machine:
        """Add a machine with a new id."""
        self.counter += 1
        number = self.counter
        digest = hashlib.sha256(f"{number} {hostname}".encode()).digest()
        system_id = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:6])
        while system_id in self.machines:
            system_id = system_id[1:] + _ALPHABET[number % len(_ALPHABET)]
        octets = f"{number // 250 % 250}.{number % 250 + 1}"
        machine = Machine(number=number, system_id=system_id, hostname=hostname, ip_address=f"10.0.{octets}")
        machine.power_parameters = {"power_address": f"10.1.{octets}", "power_user": "maas", "power_pass": "secret"}
        machine.mac_addresses = [f"52:54:00:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"]
        self.machines[system_id] = machine
        return machine

    def change(
        self, machine: Machine, status: Status, moment: float, cause: ChangeCause, text: str = "", *, new: bool = False
    ) -> None:
        """Change the machine's status, with an entry in its history and an event."""
        before = None if new else machine.status
        machine.enter(status)
        level = "ERROR" if status.simple == "failed" or "failed" in status.label else "INFO"
        self.note(machine, moment, status.label, text, level=level, user=cause.user)
        self._record(machine, moment, "status", before, status, cause, text)

    def power(self, machine: Machine, state: str, moment: float, cause: ChangeCause, text: str = "") -> None:
        """Set the machine's power state."""
        before, machine.power_state = machine.power_state, state
        if state == "error":
            self.note(machine, moment, "Power error", text, level="ERROR", user=cause.user)
        elif state != before:
            self.note(machine, moment, f"Power {state}", text, level="DEBUG", user=cause.user)
        if state != before:
            self._record(machine, moment, "power", before, state, cause, text)

    def remove(self, machine: Machine, moment: float, cause: ChangeCause) -> None:
        """Delete the machine; its history stays."""
        del self.machines[machine.system_id]
        self._record(machine, moment, "status", machine.status, None, cause, "deleted")

    def note(
        self,
        machine: Machine,
        moment: float,
        kind: str,
        text: str = "",
        *,
        level: str = "INFO",
        user: str | None = None,
    ) -> None:
        """Add an event of the machine; the newest is also its status message."""
        machine.message = f"{kind} - {text}" if text else kind
        self._dirty = True
        self.events.append(
            {
                "id": len(self.events) + 1,
                "system_id": machine.system_id,
                "user": user or "unknown",
                "level": level,
                "moment": moment,
                "kind": kind,
                "text": text,
            }
        )

    def run_scripts(self, machine: Machine, kind: int, moment: float) -> None:
        """Start a set of scripts, whose results are kept."""
        self.script_sets += 1
        machine.scripts.append(ScriptSet(self.script_sets, kind, moment))

    def touch(self) -> None:
        """Note a change that is no event."""
        self._dirty = True

    def read(self, look: Callable[[], Any]) -> Any:
        """Call the function at this moment and return its result."""
        with self.transaction():
            return look()

    def settle(self, now: float) -> None:
        """Apply everything that is due; only inside a transaction."""
        while True:
            due = [each for each in self.machines.values() if each.pending and each.pending[0].moment <= now]
            if not due:
                return
            machine = min(due, key=lambda each: (each.pending[0].moment, each.number))
            self._happen(machine, machine.pending.pop(0))

    def _happen(self, machine: Machine, change: Change) -> None:
        cause = ChangeCause(change.cause)
        if change.power is not None:
            self.power(machine, change.power, change.moment, cause, change.text)
        if change.status is not None:
            status = Status(change.status)
            machine.end_scripts(change.moment, passed=status.simple != "failed", output=change.text or "done")
            self.change(machine, status, change.moment, cause, change.text)
            if status is Status.TESTING:
                self.run_scripts(machine, 2, change.moment)
        self._dirty = True

    def _record(
        self,
        machine: Machine,
        moment: float,
        kind: str,
        before: Status | str | None,
        after: Status | str | None,
        cause: ChangeCause,
        text: str,
    ) -> None:
        self._dirty = True
        entry = {
            "kind": kind,
            "machine": machine.hostname,
            "system_id": machine.system_id,
            "at": round(moment, 6),
            "from": _word(before),
            "to": _word(after),
            "owner": machine.owner,
            "text": text,
            "cause": asdict(cause),
        }
        self.history.append({"time": stamp(moment, offset="+00:00"), **entry})
        self._log.write(moment, "machine", **entry)


def _word(value: Status | str | None) -> str | None:
    return value.label if isinstance(value, Status) else value
