"""A client of a running Ironic simulator."""

import json
from collections.abc import Callable
from typing import Any

from shipyard_simulators.ironic.simulator import IronicSimulator
from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.waiting import PATIENCE, VirtualClock

VERSION = "X-OpenStack-Ironic-API-Version"
LATEST = "1.115"
DEFAULTS = [
    "deploy.deploy",
    "deploy.write_image",
    "deploy.prepare_instance_boot",
    "deploy.tear_down_agent",
    "deploy.switch_to_tenant_network",
    "deploy.boot_instance",
]


class Ironic:
    """A client of a simulator that knows nothing but paths, and the clock of the simulator."""

    def __init__(self, simulator: IronicSimulator, clock: VirtualClock) -> None:
        self.simulator, self.url, self.clock = simulator, simulator.url, clock

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = LATEST, **more: Any) -> Any:
        headers = {**({VERSION: version} if version else {}), **more.pop("headers", {})}
        return HTTP.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=PATIENCE, **more)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def create(self, name: str, driver: str = "redfish", **fields: Any) -> Any:
        answer = self.call("POST", "/v1/nodes", {"driver": driver, "name": name, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def put(self, name: str, **values: Any) -> None:
        assert self.call("PUT", f"/simulator/nodes/{name}", values).status_code == 204

    def at(self, name: str, state: str, **fields: Any) -> str:
        """Create a node that is in that state already and return its name."""
        self.create(name, **fields)
        self.put(name, provision_state=state)
        return name

    def node(self, name: str) -> Any:
        return self.get(f"/v1/nodes/{name}")

    def patch(self, name: str, *changes: dict[str, Any], version: str = LATEST) -> Any:
        return self.call("PATCH", f"/v1/nodes/{name}", list(changes), version=version)

    def verb(self, name: str, target: str, *, version: str = LATEST, **body: Any) -> Any:
        return self.call("PUT", f"/v1/nodes/{name}/states/provision", {"target": target, **body}, version=version)

    def ask(self, name: str, target: str, **body: Any) -> None:
        answer = self.verb(name, target, **body)
        assert answer.status_code == 202, answer.text

    def until(self, name: str, *states: str) -> Any:
        """Let time pass until the node is in one of the states; return the node."""
        self.clock.until(lambda: self.node(name)["provision_state"] in states)
        return self.node(name)

    def run(self, name: str, target: str, *states: str, **body: Any) -> Any:
        self.ask(name, target, **body)
        return self.until(name, *states)

    def states(self, name: str) -> list[str]:
        """Return every state that the node went through, by the log."""
        return [each["state"] for each in self.get("/simulator/transitions").get(name, [])]

    def steps(self, name: str) -> list[str]:
        return [each["step"] for each in self.log("step", name) if each["kind"] == "deploy"]

    def log(self, event: str, name: str = "") -> list[dict[str, Any]]:
        path = f"/simulator/log?node={name}" if name else "/simulator/log"
        return [entry for entry in self.get(path) if entry["event"] == event]


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def step(dotted: str, priority: Any = 110, **args: Any) -> dict[str, Any]:
    interface, name = dotted.split(".")
    return {"interface": interface, "step": name, "args": args, "priority": priority}


def said(answer: Any) -> str:
    """Return the text of an error, which is JSON in a string in JSON."""
    inner = json.loads(answer.json()["error_message"])
    return str(inner.get("faultstring", inner.get("description")))


StartIronic = Callable[..., Ironic]
