"""Ironic for the suite of the provisioner port: the adapter, over HTTP, before the simulator or a real one."""

import fcntl
import json
import re
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar
from urllib.error import HTTPError

import pytest
import yaml

from shipyard_api.adapters.ironic.client import OLDEST, IronicClient
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.provisioner import JobId, Operation
from shipyard_simulators.ironic import simulator as ironic_simulator
from shipyard_simulators.scenario import parse_scenario
from tests import real_ironic
from tests.contract.provisioner_sites import NODES, Fate, Plot, Site, Slip, acting_after
from tests.waiting import PATIENCE, until

UNREADABLE = 404
HEADERS = {"X-OpenStack-Ironic-API-Version": "1.50", "Content-Type": "application/json"}


class IronicSite(Site):
    """Ironic's adapter before the simulator; designs are read from here, as Ironic reads none."""

    provisioner: IronicProvisioner
    never_fails = frozenset({Operation.PREPARE_SITE})
    power_cycles_preparing = False  # Ironic changes no power of a node that it cleans
    ready = "available"
    _fates: ClassVar = {
        Fate.FAILS_PREPARE: {"prepare": "fail", "reason": "no PXE boot"},
        Fate.FAILS_DEPLOY: {"deploy": "fail", "reason": "no disk"},
        Fate.HANGS_PREPARE: {"prepare": "never"},
    }
    _slips: ClassVar = {Slip.BROKEN: "error", Slip.ANSWER_LOST: "drop_after_effect"}

    def __init__(self, plot: Plot, cleanup: ExitStack, _directory: Path, **scenario: Any) -> None:
        """Start a simulator that plays the plot and ``scenario``, the sections of a scenario file."""
        faults = scenario.setdefault("service", [])
        scenario.setdefault("nodes", {}).update({name: self._fates[fate] for name, fate in plot.fates.items()})
        if plot.unhealthy:
            faults.append({"method": "GET", "path": "/v1/conductors", "action": "error", "status": 503})
        if plot.first_submit:
            action = self._slips[plot.first_submit]
            faults.append({"method": "PATCH", "path": "/v1/nodes/*", "action": action, "first": 1})
        too_old = {"highest": OLDEST - 1} if plot.failing is Operation.VERIFY_SITE else {}
        played = parse_scenario(yaml.safe_dump(scenario))
        self.simulator = cleanup.enter_context(ironic_simulator.running(played, time_scale=plot.time_scale, **too_old))
        self.url = self.simulator.url
        self._begin(IronicClient(plot.through(self.url), read_pause=0.0), plot, cleanup)
        for node in NODES:
            self.call("POST", "/v1/nodes", {"driver": "redfish", "name": node.name})

    def _begin(self, client: IronicClient, plot: Plot, cleanup: ExitStack) -> None:
        cleanup.callback(client.close)
        self._valid = not plot.invalid
        self.provisioner = IronicProvisioner(client, self._inventory)

    def make_unreadable(self) -> str:
        return self.provisioner.design_reference(UNREADABLE)

    def jobs(self, operation: Operation) -> list[JobId]:
        ours = {node.name for node in NODES}  # a real Ironic has those of other tests too
        nodes = self.call("GET", "/v1/nodes?fields=name,extra")["nodes"]
        marks = [node["extra"].get("shipyard", {}) for node in nodes if node["name"] in ours]
        return sorted({JobId(mark["marker"]) for mark in marks if mark.get("operation") == operation.value})

    def hangs(self, name: str) -> bool:
        """Return whether the node is being cleaned: before that, there are transitions to start."""
        node = self.call("GET", f"/v1/nodes/{name}?fields=provision_state")
        return node["provision_state"] in ("cleaning", "clean wait")

    def effects(self, name: str) -> object:
        with urllib.request.urlopen(f"{self.url}/simulator/log", timeout=PATIENCE) as answer:
            return [event for event in json.load(answer) if event.get("node") == name and event.get("verb")]

    def record(self, name: str) -> list[str]:
        """Return the verbs that Ironic was sent for the node and has obeyed."""
        with urllib.request.urlopen(f"{self.url}/simulator/log", timeout=PATIENCE) as answer:
            return [
                str(event["verb"]) for event in json.load(answer) if event.get("node") == name and event.get("verb")
            ]

    def restarts(self, name: str) -> int:
        with urllib.request.urlopen(f"{self.url}/simulator/log", timeout=PATIENCE) as answer:
            events = [event for event in json.load(answer) if event.get("node") == name and "power_state" in event]
        states = [event["power_state"] for event in events]
        return list(pairwise(states)).count(("power off", "power on"))

    def before_effects(self, act: Callable[[], None]) -> bool:
        client = self.provisioner._client
        client.texts = acting_after(client.texts, act)  # type: ignore[method-assign]  # for the test
        return True

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Ask Ironic itself, past the adapter."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, HEADERS, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")

    def _inventory(self, revision: int) -> Inventory:
        if revision == UNREADABLE:
            raise LookupError(revision)
        return Inventory.of(NODES if self._valid else (*NODES, Node(NodeName("a name with spaces"))))


class RealIronicSite(IronicSite):
    """Ironic's adapter before the real service that .ci/real_ironic.py starts, with its interfaces.

    All tests use the same names of nodes, so they wait for each other.
    """

    stops_at_once = False  # a step of cleaning that runs without an agent is not interrupted

    def __init__(self, plot: Plot, cleanup: ExitStack, directory: Path) -> None:
        if plot.unhealthy or plot.first_submit or plot.failing:
            pytest.skip("a real Ironic does not fail on request")
        cleanup.enter_context(_alone())
        self._begin(real_ironic.client(read_pause=0.0), plot, cleanup)
        self._hangs = directory / "hangs"
        self._hangs.touch()
        steps: dict[Fate | None, dict[str, Any]] = {
            None: {},
            Fate.FAILS_PREPARE: {"extra": {"demo_fail": ["deploy.erase_devices_metadata"]}},
            Fate.FAILS_DEPLOY: {"extra": {"demo_fail": ["deploy.write_image"]}},
            Fate.HANGS_PREPARE: {"deploy_interface": "hanging", "extra": {"hangs_while": str(self._hangs)}},
        }
        for node in NODES:
            cleanup.callback(self._remove, node.name)
            fate = steps[plot.fates.get(node.name)]
            self.call("POST", "/v1/nodes", {"driver": "fake-hardware", "name": node.name, **fate})
        cleanup.callback(self.let_go)

    def let_go(self) -> None:
        self._hangs.unlink(missing_ok=True)

    def effects(self, name: str) -> object:
        fields = "provision_state,provision_updated_at,power_state"
        return self.call("GET", f"/v1/nodes/{name}?fields={fields}"), self.call("GET", f"/v1/nodes/{name}/history")

    def restarts(self, name: str) -> int:
        """Return how often the node went off and on again, by Ironic's own log; it may have been on or off before."""
        if not real_ironic.LOG:
            pytest.skip("IRONIC_LOG names no log to read the power of nodes from")
        uuid = self.call("GET", f"/v1/nodes/{name}?fields=uuid")["uuid"]
        states = re.findall(rf"set node {uuid} power state to (power off|power on)", Path(real_ironic.LOG).read_text())
        return list(pairwise(states)).count(("power off", "power on"))

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Ask Ironic itself, past the adapter."""
        return real_ironic.call(method, path, body)

    def _remove(self, name: str) -> None:
        """Remove a node as soon as Ironic lets go of it."""

        def removed() -> bool:
            try:
                self.call("PUT", f"/v1/nodes/{name}/maintenance", {"reason": "the test is over"})
                self.call("DELETE", f"/v1/nodes/{name}")
            except HTTPError as error:
                return error.code == 404
            return True

        until(removed, lambda: f"{name} is still there", every=0.2)


@contextmanager
def _alone() -> Iterator[None]:
    with Path(tempfile.gettempdir(), "shipyard-real-ironic.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield
