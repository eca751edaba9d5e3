"""All simulated hosts, found by their addresses, and what the scenario lets them do."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from shipyard_simulators.addresses import Addresses
from shipyard_simulators.clock import Clock
from shipyard_simulators.deployments import Deployments
from shipyard_simulators.events import EventLog
from shipyard_simulators.hosts.host import HostsDirectory, SimulatedHost, end_processes
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind
from shipyard_simulators.scenario import Scenario

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,252}")
_SLOW = 10  # times as long
_OK = NodeOutcome(NodeOutcomeKind.OK)


class Hosts:
    """The hosts of a site. An address of no node is a host, too, which has the address as its name.

    ``deployments``: of a simulated provisioner; then a node is there once it has been deployed, empty after each
    deployment, and at the addresses of the design that the provisioner read. All methods belong to one thread.
    """

    def __init__(
        self,
        scenario: Scenario,
        clock: Clock,
        log: EventLog,
        directory: Path,
        addresses: Mapping[str, tuple[str, ...]],
        deployments: Deployments | None,
    ) -> None:
        self.scenario, self.clock = scenario, clock
        self._log, self._deployments = log, deployments
        self._deployed: Counter[str] = Counter()
        self._known: Addresses = {}
        self.shared = HostsDirectory(directory)
        self.all = {name: SimulatedHost(name, own, self.shared) for name, own in addresses.items()}
        self._by_address = {address: host for host in self.all.values() for address in host.addresses}

    def find(self, address: str) -> SimulatedHost | None:
        """Return the host with an address, None if nothing is there."""
        self._follow()
        host = self._by_address.get(address) or self.all.get(address)
        if host is None:
            if not _NAME.fullmatch(address):
                return None
            host = self.all[address] = SimulatedHost(address, (address,), self.shared)
        elif not self._installed(host):
            return None
        host.prepare()
        return None if self.clock.now() < host.away_until else host

    def outcome(self, host: SimulatedHost, phase: str) -> NodeOutcome:
        """Return the outcome of a phase of the host, as the scenario has it."""
        return self.scenario.node_outcome(host.name, phase)

    def connecting(self, host: SimulatedHost) -> NodeOutcome:
        """Return how the next connection to the host goes."""
        outcome = self.outcome(host, "connect")
        host.opened += 1
        return _OK if outcome.times is not None and host.opened > outcome.times else outcome

    def seconds(self, outcome: NodeOutcome, usual: str) -> float:
        """Return how long an outcome takes that takes time, in real seconds."""
        nominal = self.scenario.durations[usual] * _SLOW if outcome.seconds is None else outcome.seconds
        return self.clock.scaled(nominal)

    def restart(self, host: SimulatedHost) -> None:
        """Restart a host."""
        host.restart(self.clock.now() + self.clock.scaled(self.scenario.durations["boot_hosts"]))
        self.note("restart", host, boots=host.boots)

    def wipe(self, host: SimulatedHost) -> None:
        """Empty a host."""
        host.wipe()
        self.note("wipe", host)

    def obey(self, line: str) -> None:
        """Do what a program of a host asks for: ``restart HOST`` or ``wipe HOST``."""
        verb, _, name = line.partition(" ")
        if host := self.all.get(name):
            (self.restart if verb == "restart" else self.wipe)(host)

    def note(self, event: str, host: SimulatedHost, **fields: object) -> None:
        """Write an event of a host."""
        self._log.write(self.clock.now(), event, host=host.name, **fields)

    def end(self) -> None:
        """End the processes of all hosts."""
        end_processes(self.shared.mark())

    def _follow(self) -> None:
        """Take what the provisioner has done, and what the newest design says of addresses."""
        if self._deployments is None:
            return
        self._deployed.update(self._deployments.new())
        if self._deployments.addresses is self._known:
            return
        self._known = self._deployments.addresses
        for name, own in self._known.items():
            host = self.all.setdefault(name, SimulatedHost(name, (), self.shared))
            host.addresses = tuple(own.values())
        self._by_address = {
            address: self.all[name] for name in (*self.all, *self._known) for address in self.all[name].addresses
        }

    def _installed(self, host: SimulatedHost) -> bool:
        """Return whether the host has been deployed; one that was deployed since the last time is empty now."""
        if self._deployments is None:
            return True
        number = self._deployed[host.name.lower()]
        if number > host.installations:
            host.install(number)
            self.note("installation", host)
        return number > 0
