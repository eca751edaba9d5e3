"""The sites that the suite of the provisioner port runs over: the fake, and each adapter with its simulator.

All have the same nodes. A provisioner joins by a class like ``FakeSite`` and a line in ``SITES``.
"""

import json
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import yaml

from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.provisioner import MaasProvisioner
from shipyard_api.adapters.maas.translate import MachineOptions
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation, Provisioner, Wipe, Work
from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.maas import simulator as maas_simulator
from shipyard_simulators.maas.accounts import ApiUser
from shipyard_simulators.maas.site import read_machines
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.server import in_thread
from tests.fakes import provisioner as fakes
from tests.prompt_servers import served
from tests.waiting import PATIENCE

TIME_SCALE = 0.0005  # a prepare takes 30 ms: what must still run while something happens hangs
DESIGN_TOKEN = "design-token"


def _node(name: str, rack: str, tags: str, **labels: str) -> Node:
    return Node(NodeName(name), rack, frozenset(tags.split()), frozenset(labels.items()))


NODES = (
    _node("n1", "r1", "control", role="ctl", gen="a"),
    _node("n2", "r1", "control storage", role="ctl", gen="b"),
    _node("n3", "r2", "compute", role="cmp", gen="a"),
    _node("n4", "r2", "compute storage", role="cmp", gen="b"),
    _node("n5", "r3", ""),
)


def names(text: str) -> frozenset[NodeName]:
    return frozenset(map(NodeName, text.split()))


def marker() -> Marker:
    return Marker(str(uuid.uuid4()))


class Fate(Enum):
    """What becomes of a node that does anything but succeed."""

    FAILS_PREPARE = "fails prepare"
    FAILS_DEPLOY = "fails deploy"
    HANGS_PREPARE = "hangs in prepare"


class Slip(Enum):
    """How the first submission fails without saying whether it had an effect."""

    BROKEN = "it had none"
    ANSWER_LOST = "it had, but no answer arrives"


class Site:
    """A provisioner with a site behind it.

    ``never_fails``: operations that this system has nothing to do for; ``ready``: its word for a prepared machine;
    ``stops_at_once``: a preparation that hangs can be cut off, where work can be stopped at all;
    ``power_cycles_preparing``: it power-cycles a machine that it prepares, where it does so at all.
    """

    provisioner: Provisioner
    never_fails: ClassVar[frozenset[Operation]] = frozenset()
    ready: ClassVar[str] = "Ready"
    stops_at_once: ClassVar[bool] = True
    power_cycles_preparing: ClassVar[bool] = True

    @property
    def design(self) -> str:
        """The address of the design that names ``NODES``."""
        return self.provisioner.design_reference(1)

    def make_unreadable(self) -> str:
        """Return the address of a design that cannot be read."""
        raise NotImplementedError

    def jobs(self, operation: Operation) -> list[JobId]:
        """Return the jobs of this operation that exist behind the provisioner, oldest first."""
        raise NotImplementedError

    def effects(self, name: str) -> object:
        """Return what was done with a machine, by the records of the peer."""
        return [self.jobs(operation) for operation in Operation]

    def record(self, name: str) -> list[str]:
        """Return what the peer's own record says was begun on a machine, in order; empty if it has no such record."""
        return []

    def restarts(self, name: str) -> int:
        """Return how often the machine was off and then on, by the peer's own record of its power."""
        raise NotImplementedError

    def before_effects(self, act: Callable[[], None]) -> bool:
        """Act between each later listing of machines and what is done by it; return whether there are such listings."""
        return False

    def work(
        self,
        operation: Operation,
        *names: str,
        nodes: tuple[NodeName, ...] | None = None,
        wipe: Wipe = Wipe.ALL,
        leaves: bool = False,
    ) -> Work:
        """Return work on the named nodes, or on the site if no node is named."""
        return Work(operation, self.design, tuple(map(NodeName, names)) or nodes, wipe, leaves=leaves)

    def run(self, work: Work, *, marker: Marker | None = None) -> JobReport:
        """Do the work and return how it ended."""
        return self.watch(self.provisioner.submit(marker or Marker(str(uuid.uuid4())), work), work)

    def hangs(self, _name: str) -> bool:
        """Return whether a machine whose preparation is to hang has got that far."""
        return True

    def let_go(self) -> None:
        """End a preparation that hangs and was not cut off."""

    def watch(
        self,
        job: JobId,
        work: Work,
        *,
        seconds: float = PATIENCE,
        until: Callable[[JobReport], bool] = lambda _: False,
    ) -> JobReport:
        """Return the report when the job has ended, the report is the wanted one, or the time is over."""
        deadline = time.monotonic() + seconds
        while (report := self.provisioner.report(job, work)).state not in (JobState.ENDED, JobState.LOST):
            if until(report) or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return report


@dataclass(frozen=True)
class Plot:
    """What is to go wrong on a site: with its design, its health, an operation, the first submission, its nodes.

    ``through``: the address under which the adapter reaches a peer at this one. ``time_scale``: of its durations.
    """

    invalid: bool = False
    unhealthy: bool = False
    failing: Operation | None = None
    first_submit: Slip | None = None
    fates: Mapping[str, Fate] = field(default_factory=dict)
    through: Callable[[str], str] = str
    time_scale: float = TIME_SCALE


StartSite = Callable[[Plot], Site]


class FakeSite(Site):
    """The provisioner in memory."""

    def __init__(self, plot: Plot, _cleanup: ExitStack, _directory: Path) -> None:
        self.provisioner = self.fake = fakes.FakeProvisioner(NODES, running_reports=2)
        self.fake.fates = {NodeName(name): fakes.Fate[fate.name] for name, fate in plot.fates.items()}
        if plot.failing:
            self.fake.site_failures[plot.failing] = "as scripted"
        if plot.invalid:
            self.fake.findings = (Finding("F1", Level.ERROR, "as scripted", source=self.fake.name),)
        if plot.unhealthy:
            self.fake.break_next("check_health")
        if plot.first_submit:
            lost = plot.first_submit is Slip.ANSWER_LOST
            self.fake.break_next("submit", fakes.Breakage.AFTER_EFFECT if lost else fakes.Breakage.BEFORE_EFFECT)

    def make_unreadable(self) -> str:
        self.fake.readable = False
        return self.design

    def jobs(self, operation: Operation) -> list[JobId]:
        return [one.job for one in self.fake.submissions if one.work.operation is operation]

    def effects(self, name: str) -> object:
        return super().effects(name), list(self.fake.power_cycled)


class DrydockSite(Site):
    """Drydock's adapter, over HTTP, before the simulator, which fetches its designs over HTTP from here."""

    provisioner: DrydockProvisioner
    _fates: ClassVar = {
        Fate.FAILS_PREPARE: {"prepare": "fail", "reason": "no PXE boot"},
        Fate.FAILS_DEPLOY: {"deploy": "fail", "reason": "no disk"},
        Fate.HANGS_PREPARE: {"prepare": "never"},
    }
    _slips: ClassVar = {Slip.BROKEN: "error", Slip.ANSWER_LOST: "drop_after_effect"}

    def __init__(self, plot: Plot, cleanup: ExitStack, directory: Path, **scenario: Any) -> None:
        """Start a simulator that plays the plot and ``scenario``, the sections of a scenario file."""
        faults = scenario.setdefault("service", [])
        scenario.setdefault("nodes", {}).update({name: self._fates[fate] for name, fate in plot.fates.items()})
        if plot.failing:
            scenario["tasks"] = {plot.failing.value: "fail"}
        if plot.unhealthy:
            faults.append({"method": "GET", "path": "/health", "action": "error", "status": 503})
        if plot.first_submit:
            action = self._slips[plot.first_submit]
            faults.append({"method": "POST", "path": "/tasks", "action": action, "first": 1})
        designs = cleanup.enter_context(_design_store(_documents(valid=not plot.invalid)))
        self.log = directory / "drydock.log"
        self.url = cleanup.enter_context(_simulator(self.log, scenario))
        client = DrydockClient(plot.through(self.url), token=lambda: "any", read_pause=0.0, retry_pause=0.0)
        cleanup.callback(client.close)
        template = f"deckhand+{designs}/revisions/{{revision}}/rendered-documents"
        self.provisioner = DrydockProvisioner(client, design_url=template)

    def make_unreadable(self) -> str:
        return self.provisioner.design_reference(404)

    def tasks(self, operation: Operation) -> list[dict[str, Any]]:
        """Return the requested tasks of this operation that the simulator has, oldest first."""
        request = urllib.request.Request(f"{self.url}/tasks", headers={"X-Auth-Token": "any"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            tasks = json.load(answer)
        found = [one for one in tasks if one["action"] == operation.value and one["parent_task_id"] is None]
        return sorted(found, key=lambda one: str(one["created"]))

    def jobs(self, operation: Operation) -> list[JobId]:
        return [JobId(one["task_id"]) for one in self.tasks(operation)]

    def record(self, name: str) -> list[str]:
        """Return the requested tasks that name the machine."""
        tasks = ((task["created"], task["action"]) for operation in Operation for task in self.tasks(operation))
        return [action for _, action in sorted(tasks)]


class MaasSite(Site):
    """MAAS's adapter, over HTTP, before the simulator; the design is told to the adapter and not to MAAS."""

    provisioner: MaasProvisioner
    never_fails = frozenset({Operation.PREPARE_SITE})
    _key, _other_key = "shipyard:token:secret", "alice:token:secret"
    _fates: ClassVar = {
        Fate.FAILS_PREPARE: {"prepare": "fail", "reason": "no PXE boot"},
        Fate.FAILS_DEPLOY: {"deploy": "fail", "reason": "no disk"},
        Fate.HANGS_PREPARE: {"prepare": "never"},
    }
    _slips: ClassVar = {Slip.BROKEN: "error", Slip.ANSWER_LOST: "drop_after_effect"}

    def __init__(
        self,
        plot: Plot,
        cleanup: ExitStack,
        directory: Path,
        *,
        machines: Mapping[str, Mapping[str, Any]] | None = None,
        options: MachineOptions | None = None,
        **scenario: Any,
    ) -> None:
        """Start a simulator that plays the plot and ``scenario``. ``machines``: what some are from the start."""
        faults = scenario.setdefault("service", [])
        scenario.setdefault("nodes", {}).update({name: self._fates[fate] for name, fate in plot.fates.items()})
        if plot.failing is Operation.VERIFY_SITE:
            options = MachineOptions(distro_series="of-no-image")
        if plot.unhealthy:
            faults.append({"method": "GET", "path": "/users/", "action": "error", "status": 503})
        if plot.first_submit:
            faults.append({"method": "POST", "path": "/tags/", "action": self._slips[plot.first_submit], "first": 1})
        seeds = [{"hostname": node.name, **(machines or {}).get(node.name, {})} for node in NODES]
        simulator = cleanup.enter_context(
            maas_simulator.running(
                parse_scenario(yaml.safe_dump(scenario)),
                machines=read_machines(seeds),
                accounts=[ApiUser("shipyard", self._key), ApiUser("alice", self._other_key)],
                time_scale=plot.time_scale,
            )
        )
        self.url, self.simulator = simulator.url, simulator
        self._cleanup, self._options, self._bad_name = cleanup, options, plot.invalid
        self._reached = plot.through(self.url)
        self._readable = True
        self.restart()

    def restart(self) -> None:
        """Forget everything that is not in MAAS, as a worker does that is started anew."""
        self.client = MaasClient(f"{self._reached}/MAAS/api/2.0", api_key=self._key, read_pause=0.0)
        self._cleanup.callback(self.client.close)
        self.provisioner = MaasProvisioner(self.client, self._inventory, options=self._options)

    def _inventory(self, revision: int) -> Inventory:
        if not self._readable:
            raise UnreadableDesign(f"No such revision: revision {revision} does not exist")
        return Inventory.of([*NODES, _node("n_6", "r1", "")] if self._bad_name else NODES)

    def make_unreadable(self) -> str:
        self._readable = False
        return self.design

    def jobs(self, operation: Operation) -> list[JobId]:
        told = f"Shipyard {operation.value} at "
        tags = {name: text for name, text in self.client.tags().items() if not name.endswith(("-begun", "-on"))}
        found = ((text, name) for name, text in tags.items() if text.startswith(told))
        return [JobId(name.removeprefix("shipyard-")) for _, name in sorted(found)]

    def past(self, name: str) -> list[str | None]:
        """Return each status that the machine ever had, in order; None once it is removed."""
        return [change["to"] for change in self.effects(name) if change["kind"] == "status"]

    def record(self, name: str) -> list[str]:
        """Return the statuses that the machine ever had."""
        return [str(status) for status in self.past(name)]

    def restarts(self, name: str) -> int:
        power = [(change["from"], change["to"]) for change in self.effects(name) if change["kind"] == "power"]
        return power.count(("off", "on"))

    def effects(self, name: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}/simulator/machines", timeout=PATIENCE) as answer:
            machines = json.load(answer)
        changes: list[dict[str, Any]]
        [changes] = [one["changes"] for one in machines if one["machine"] == name]
        return changes

    def before_effects(self, act: Callable[[], None]) -> bool:
        self.client.machines = acting_after(self.client.machines, act)  # type: ignore[method-assign]  # for the test
        return True


def acting_after(read: Callable[..., Iterable[Any]], act: Callable[[], None]) -> Callable[..., Any]:
    """Return a listing that acts when it has read everything."""

    def acting(*args: Any, **options: Any) -> Iterator[Any]:
        everything = list(read(*args, **options))
        act()
        return iter(everything)

    return acting


@contextmanager
def _design_store(documents: list[dict[str, Any]]) -> Iterator[str]:
    """Serve the documents as every revision but 404, to whoever has the token, and yield the address."""
    text = yaml.safe_dump_all(documents).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = "/revisions/404/" not in self.path
            allowed = self.headers["X-Auth-Token"] == DESIGN_TOKEN
            self.send_response((200 if known else 404) if allowed else 401)
            self.end_headers()
            self.wfile.write(text if known and allowed else b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}/api/v1.0"


def _documents(*, valid: bool) -> list[dict[str, Any]]:
    documents: list[dict[str, Any]] = [
        {
            "schema": "drydock/BaremetalNode/v1",
            "metadata": {"name": node.name},
            "data": {"metadata": {"tags": sorted(node.tags), "rack": node.rack, "owner_data": dict(node.labels)}},
        }
        for node in NODES
    ]
    if not valid:
        documents.append({"schema": "drydock/BaremetalNode/v1", "metadata": {"name": "n6"}, "data": "no mapping"})
    return documents


@contextmanager
def _simulator(log: Path, scenario: dict[str, Any]) -> Iterator[str]:
    """Run a Drydock simulator in a thread and yield its address."""
    simulator = DrydockSimulator(
        parse_scenario(yaml.safe_dump(scenario)), time_scale=TIME_SCALE, port=0, log_file=log, design_token=DESIGN_TOKEN
    )
    with in_thread(simulator):
        yield f"{simulator.url.rstrip('/')}/api/v1.0"


SITES: dict[str, Callable[[Plot, ExitStack, Path], Site]] = {
    "fake": FakeSite,
    "drydock": DrydockSite,
    "maas": MaasSite,
}
