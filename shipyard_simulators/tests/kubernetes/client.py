"""A client of a running Kubernetes simulator."""

from collections.abc import Callable
from typing import Any

import requests

from shipyard_simulators.kubernetes.simulator import KubernetesSimulator
from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.waiting import PATIENCE, VirtualClock

MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
BY_CONTROL = "nodes: {'*': {join: never}}"
AT_ONCE = "durations: {join_nodes: 0, ready_nodes: 0}"


class Cluster:
    """A client of a simulator that knows nothing but paths, and the clock of the simulator."""

    def __init__(self, simulator: KubernetesSimulator, clock: VirtualClock) -> None:
        self.simulator, self.clock = simulator, clock

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        prefix = "/api/v1" if path.startswith("/nodes") else ""
        return HTTP.request(method, f"{self.simulator.url}{prefix}{path}", timeout=PATIENCE, **options)

    def get(self, path: str, **query: Any) -> Any:
        answer = self.call("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fault(self, method: str, path: str, **options: Any) -> tuple[int, str, str]:
        """Return code, reason and message of the Status that a request ends in."""
        answer = self.call(method, path, **options)
        status = answer.json()
        assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
        assert status["code"] == answer.status_code
        return answer.status_code, status.get("reason", ""), status["message"]

    def names(self, **query: Any) -> list[str]:
        return [node["metadata"]["name"] for node in self.get("/nodes", **query)["items"]]

    def add(self, name: str, **metadata: Any) -> Any:
        answer = self.call("POST", "/nodes", json={"metadata": {"name": name, **metadata}})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def ready(self, name: str) -> str:
        return str(self.condition(name)["status"])

    def condition(self, name: str, kind: str = "Ready") -> Any:
        [found] = [each for each in self.get(f"/nodes/{name}")["status"]["conditions"] if each["type"] == kind]
        return found

    def control(self, method: str, path: str, body: Any = None) -> None:
        answer = self.call(method, f"/simulator/{path}", json=body)
        assert answer.ok, answer.text


Start = Callable[..., Cluster]
