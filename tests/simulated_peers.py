"""Drydock, MAAS and Ironic as simulators in the time of a test, their adapters, and what their own logs tell of nodes.

A peer joins by a class like ``DrydockPeer`` and a line in ``PEERS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import yaml

from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.adapters.ironic import Unhealthy
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.deploy_steps import read_table
from shipyard_api.adapters.ironic.plugin import SHARED_SECONDS
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.provisioner import MaasProvisioner
from shipyard_api.adapters.maas.translate import MachineOptions
from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.provisioner import Provisioner
from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.ironic.simulator import IronicSimulator
from shipyard_simulators.ironic.site import SiteNode
from shipyard_simulators.maas.simulator import MaasSimulator
from shipyard_simulators.maas.site import MachineSeed
from shipyard_simulators.scenario import Scenario, parse_scenario
from tests.near_peers import near
from tests.virtual_time import VirtualClock
from tests.waiting import PATIENCE

Documents = Sequence[Mapping[str, Any]]
IRONIC_STEPS = read_table(json.loads((Path(__file__).parents[1] / "etc" / "ironic-fake-steps.json").read_text()))
Event = dict[str, Any]


@dataclass(frozen=True)
class Begun:
    """A simulator began a phase with a node, or was told to."""

    phase: str
    node: str
    at: datetime


@dataclass(frozen=True)
class Ended:
    """A simulator was done with a node in a phase. ``told``: when it began to say so (None: it never did).

    ``skipped``: it found the phase done before, and did nothing.
    """

    phase: str
    node: str
    ok: bool
    at: datetime
    told: datetime | None
    skipped: bool = False


class Peer:
    """A simulated provisioner with the machines of ``nodes``; it plays the scenario in the time of the clock.

    ``patience``: seconds of the wall clock for which an adapter waits for an answer before it takes it for lost.
    ``keeps``: it will be restarted. ``ahead``: seconds that its clock is ahead of the site's. ``options`` are those of
    the simulator.

    ``words``: the phases of a row of the covering array in which it has a part, as its scenario calls them. ``shown``:
    the directory of designs in their addresses, which are the same each time, if it is not the real one.
    """

    shown = ""
    name: ClassVar[str]
    words: ClassVar[Mapping[str, str]]

    def __init__(
        self,
        clock: VirtualClock,
        scenario: Scenario,
        nodes: Sequence[str],
        *,
        patience: float = 10.0,
        keeps: bool = False,
        ahead: float = 0.0,
        **options: Any,
    ) -> None:
        self.clock, self.scenario, self.nodes = clock, scenario, nodes
        self.patience, self.keeps, self.ahead, self.options = patience, keeps, ahead, options
        self._cleanup, self._running = ExitStack(), ExitStack()
        self.directory = Path(self._cleanup.enter_context(TemporaryDirectory(prefix="peer")))
        self._past: list[Event] = []
        self._read: tuple[int, list[Event]] = (0, [])  # how many events of this life were read, and all of them
        self._faults: Sequence[Mapping[str, Any]] = ()
        self.simulator = self._running.enter_context(near(self._new(port=0)))
        self.url: str = self.simulator.url

    def _new(self, *, port: int) -> Any:
        """Return a simulator that knows its machines, and what was kept of its last life."""
        raise NotImplementedError

    def provisioner(self, inventory: Callable[[int], Inventory], url: str = "") -> Provisioner:
        """Return an adapter that knows nothing yet; ``url`` is where it finds the peer, if not where it listens."""
        raise NotImplementedError

    def publish(self, revision: int, documents: Documents) -> None:
        """Make the documents of a revision known to a peer that reads designs by itself."""

    def play(self, faults: Sequence[Mapping[str, Any]]) -> None:
        """Mistreat requests in these ways from now on, and in no other."""
        self._faults = faults
        self._call("POST", f"{self.url}/simulator/faults", yaml.safe_dump(list(faults)).encode())

    @contextmanager
    def behaving(self) -> Iterator[None]:
        """Mistreat no request while the block lasts."""
        faults = self._faults
        self.play(())
        try:
            yield
        finally:
            self.play(faults)

    def enrol(self, node: str) -> None:
        """Let the peer know a machine again that it was made to forget; one that reads designs by itself knows it."""

    def restart(self) -> None:
        """End, and begin anew on the same port, with what is kept over a restart."""
        self._past += self.simulator.events()
        self._running.close()
        self.simulator = self._running.enter_context(near(self._new(port=urlsplit(self.url).port or 0)))
        self.play(self._faults)

    def forget(self) -> None:
        """Restart without memory: machines are as on the first day, and nothing is known of any job."""
        self.restart()

    def stumble(self) -> None:
        """Restart with all the memory that a real one of its kind has."""
        self.restart()

    def events(self) -> list[Event]:
        """Return the peer's own log over all its lives, in the order of time, which is the site's."""
        late, (count, events) = timedelta(seconds=self.ahead), self._read
        new = self._past + self.simulator.events()
        if len(new) != count:
            # Asked after each delivery: what was read before only gets longer.
            shown = ({**event, "time": (time_of(event) - late).isoformat()} for event in new[count:])
            events = sorted([*events, *shown], key=time_of)
            self._read = len(new), events
        return list(events)

    def begun(self) -> list[Begun]:
        """Return what was begun on nodes, from the log alone."""
        raise NotImplementedError

    def ended(self) -> list[Ended]:
        """Return how it ended, from the log alone."""
        raise NotImplementedError

    def destroyed(self) -> list[Begun]:
        """Return the destructions that were begun, from the log alone."""
        raise NotImplementedError

    def erased(self) -> list[str]:
        """Return the machines whose disks were erased or cleaned, from the log alone."""
        raise NotImplementedError

    def touched(self) -> set[str]:
        """Return the nodes that anything was asked for, from the log alone."""
        return {one.node for one in self.begun()}

    def close(self) -> None:
        """End for good."""
        self._running.close()
        self._cleanup.close()

    @staticmethod
    def _call(method: str, url: str, body: bytes = b"", **others: str) -> None:
        headers = {"X-Auth-Token": "any", "Content-Type": "application/json", **others}
        with urlopen(Request(url, body, headers, method=method), timeout=PATIENCE):
            pass


class DrydockPeer(Peer):
    """Drydock; it reads designs from files. What it does to machines outlives its tasks, but not its process."""

    name = "drydock"
    words: ClassVar = {"deploy": "deploy", "prepare": "prepare", "teardown": "destroy"}
    _phases: ClassVar = {"prepare_nodes": "prepare", "deploy_nodes": "deploy"}

    def _new(self, *, port: int) -> DrydockSimulator:
        return DrydockSimulator(self.scenario, clock=self.clock.of_peers(self.ahead), port=port, **self.options)

    def provisioner(self, inventory: Callable[[int], Inventory], url: str = "") -> Provisioner:
        client = DrydockClient(
            f"{url or self.url}/api/v1.0",
            token=lambda: "any",
            poll_timeout=self.patience,
            read_timeout=self.patience,
            read_pause=0.0,
            sleep=self.clock.advance,
        )
        self._cleanup.callback(client.close)
        template = f"file://{self.shown or self.directory}/{{revision}}.yaml"
        return DrydockProvisioner(client, design_url=template, threads=1, now=self.clock.now)

    def publish(self, revision: int, documents: Documents) -> None:
        (self.directory / f"{revision}.yaml").write_text(yaml.dump_all(documents, Dumper=yaml.CSafeDumper))

    def stumble(self) -> None:
        """Lose all tasks, but no machine: a real one keeps both, this one neither."""
        faults = self._faults
        self.play(())
        self._call("DELETE", f"{self.url}/api/v1.0/tasks?days=0")
        self.play(faults)

    def begun(self) -> list[Begun]:
        return [
            Begun(self._phases[event["action"]], node, time_of(event))
            for event in self.events()
            if event["event"] == "task_requested" and event["action"] in self._phases
            for node in event["nodes"]
        ]

    def ended(self) -> list[Ended]:
        told = {event["task_id"]: time_of(event) for event in self.events() if event["event"] == "task_ended"}
        good, phases = {"node_prepared", "node_deployed", "node_skipped"}, ("prepare", "deploy")
        return [
            Ended(
                event["phase"],
                event["node"],
                event["event"] in good,
                time_of(event),
                told.get(event["task_id"]),
                skipped=event["event"] == "node_skipped",
            )
            for event in self.events()
            if event["event"] in (*good, "node_failed") and event["phase"] in phases
        ]

    def destroyed(self) -> list[Begun]:
        asked = (event for event in self.events() if event["event"] == "task_requested")
        return [
            Begun("destroy", node, time_of(event))
            for event in asked
            if event["action"] == "destroy_nodes"
            for node in event["nodes"]
        ]

    def erased(self) -> list[str]:
        return [event["node"] for event in self.events() if event["event"] == "node_destroyed"]

    def touched(self) -> set[str]:
        return {
            node
            for event in self.events()
            if event["event"] == "task_requested" and event["action"] not in ("validate_design", "verify_site")
            for node in event["nodes"] or ()
        }


class MaasPeer(Peer):
    """MAAS."""

    name = "maas"
    words: ClassVar = {"deploy": "deploy", "prepare": "prepare", "teardown": "release"}

    def _new(self, *, port: int) -> MaasSimulator:
        return MaasSimulator(
            self.scenario,
            machines=[MachineSeed(node) for node in self.nodes],
            clock=self.clock.of_peers(self.ahead),
            port=port,
            state=self.directory / "state" if self.keeps else None,
            **self.options,
        )

    def provisioner(self, inventory: Callable[[int], Inventory], url: str = "") -> Provisioner:
        client = MaasClient(
            f"{url or self.url}/MAAS/api/2.0",
            api_key="consumer:token:secret",
            read_timeout=self.patience,
            read_pause=0.0,
            now=lambda: self.clock.now().timestamp(),
        )
        self._cleanup.callback(client.close)
        options = MachineOptions(threads=1)
        return MaasProvisioner(client, inventory, options=options, now=self.clock.now)

    def enrol(self, node: str) -> None:
        self._call("POST", f"{self.url}/simulator/machines", json.dumps([{"hostname": node}]).encode())

    def forget(self) -> None:
        (self.directory / "state").unlink(missing_ok=True)
        super().forget()

    def begun(self) -> list[Begun]:
        phases = {"Commissioning": "prepare", "Deploying": "deploy"}
        return [Begun(phases[event["to"]], event["machine"], time_of(event)) for event in self._changes(phases)]

    def ended(self) -> list[Ended]:
        ends = {
            "Ready": ("prepare", True),
            "Failed commissioning": ("prepare", False),
            "Failed testing": ("prepare", False),
            "Deployed": ("deploy", True),
            "Failed deployment": ("deploy", False),
        }
        return [
            Ended(phase, event["machine"], ok, time_of(event), time_of(event))
            for event in self._changes(ends)
            for phase, ok in [ends[event["to"]]]
        ]

    def destroyed(self) -> list[Begun]:
        released = (event for event in self._changes(["Disk erasing", "Releasing"]) if event["cause"]["user"])
        return [Begun("destroy", event["machine"], time_of(event)) for event in released]

    def erased(self) -> list[str]:
        return [event["machine"] for event in self._changes(["Disk erasing"])]

    def touched(self) -> set[str]:
        return {event["machine"] for event in self.events() if event["event"] == "machine" and event["cause"]["user"]}

    def _changes(self, to: Iterable[str]) -> list[Event]:
        changes = (event for event in self.events() if event["event"] == "machine" and event["kind"] == "status")
        return [event for event in changes if event["to"] in to]


class IronicPeer(Peer):
    """Ironic; its nodes are enrolled, and nothing more."""

    name = "ironic"
    words: ClassVar = {"deploy": "deploy", "prepare": "clean", "teardown": "clean"}
    unhealthy = Unhealthy.NONE

    def _new(self, *, port: int) -> IronicSimulator:
        site = [SiteNode(node) for node in self.nodes]
        clock = self.clock.of_peers(self.ahead)
        return IronicSimulator(self.scenario, site=site, clock=clock, port=port, **self.options)

    def provisioner(self, inventory: Callable[[int], Inventory], url: str = "") -> Provisioner:
        client = IronicClient(url or self.url, read_timeout=self.patience, read_pause=0.0)
        self._cleanup.callback(client.close)
        info = {"image_source": "http://images.example.org/os.qcow2"}
        return IronicProvisioner(
            client,
            inventory,
            instance_info=info,
            deploy_steps=IRONIC_STEPS,
            unhealthy=self.unhealthy,
            threads=1,
            sleep=self.clock.advance,
            shared_seconds=SHARED_SECONDS,
            now=self.clock.now,
        )

    def enrol(self, node: str) -> None:
        body = json.dumps({"name": node, "driver": "fake-hardware"}).encode()
        self._call("POST", f"{self.url}/v1/nodes", body, **{"X-OpenStack-Ironic-API-Version": "1.80"})

    def stumble(self) -> None:
        self.simulator.restart()

    def begun(self) -> list[Begun]:
        # One verb for each phase: a preparation also needs another one (manage), which may have to be said again.
        phases = {"provide": "prepare", "active": "deploy", "rebuild": "deploy", "service": "service"}
        return [
            Begun(phases[event["verb"]], event["node"], time_of(event))
            for event in self.events()
            if event["event"] == "verb" and event["verb"] in phases
        ]

    def ended(self) -> list[Ended]:
        ends = {
            ("cleaning", "available"): ("prepare", True),
            ("cleaning", "clean failed"): ("prepare", False),
            ("clean wait", "clean failed"): ("prepare", False),
            ("verifying", "enroll"): ("prepare", False),
            ("deploying", "active"): ("deploy", True),
            ("deploying", "deploy failed"): ("deploy", False),
            ("wait call-back", "deploy failed"): ("deploy", False),
            ("servicing", "active"): ("service", True),
            ("servicing", "service failed"): ("service", False),
        }
        found = []
        for event in self.events():
            if event["event"] == "node_state" and (end := ends.get((event["before"], event["state"]))):
                found.append(Ended(end[0], event["node"], end[1], time_of(event), time_of(event)))
        return found

    def destroyed(self) -> list[Begun]:
        verbs = (event for event in self.events() if event["event"] == "verb" and event["verb"] == "deleted")
        return [Begun("destroy", event["node"], time_of(event)) for event in verbs]

    def erased(self) -> list[str]:
        return [event["node"] for event in self.events() if event["event"] == "step" and "erase" in event["step"]]

    def touched(self) -> set[str]:
        return {event["node"] for event in self.events() if event["event"] == "verb"}


PEERS: dict[str, type[Peer]] = {peer.name: peer for peer in (DrydockPeer, MaasPeer, IronicPeer)}


def scenario(nodes: Mapping[str, Any], durations: Mapping[str, float], **sections: Any) -> Scenario:
    """Return a scenario with fates of nodes, how many seconds things take, and whatever else a scenario has."""
    return parse_scenario(yaml.safe_dump({"nodes": dict(nodes), "durations": dict(durations), **sections}))


def time_of(event: Event) -> datetime:
    return datetime.fromisoformat(event["time"])
