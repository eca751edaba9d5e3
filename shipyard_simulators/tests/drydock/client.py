"""A client of a running Drydock simulator."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
import yaml

from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.waiting import PATIENCE, until

HEADERS = {"Content-Type": "application/json"}
BROKEN = {"title": "500 Internal Server Error"}
UNKNOWN_ERROR = {"type": "error", "message": "Unknown error", "retry": False}


class Drydock:
    """A client of a running simulator that knows nothing but paths."""

    def __init__(self, url: str, design: str) -> None:
        self.url, self.design = url, design

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        prefix = "" if path.startswith(("/simulator", "/versions")) else "/api/v1.0"
        return HTTP.request(method, f"{self.url}{prefix}{path}", timeout=PATIENCE, **options)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> requests.Response:
        return self.call("POST", path, json=body)

    def start(self, action: str, *names: str, **body: Any) -> str:
        """Create a task for the named nodes and return its id."""
        answer = self.post("/tasks", **{"action": action, "design_ref": self.design, **by_names(*names), **body})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["task_id"])

    def watch(self, task_id: str, status: str = "complete", query: str = "") -> Any:
        """Return the task once it has that status."""
        until(lambda: self.get(f"/tasks/{task_id}")["status"] == status)
        return self.get(f"/tasks/{task_id}{query}")

    def run(self, action: str, *names: str, **body: Any) -> Any:
        """Create a task and return it when it is complete."""
        return self.watch(self.start(action, *names, **body))

    def log(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.get("/simulator/log") if entry["event"] == event]


def by_names(*names: str) -> dict[str, Any]:
    each = {"filter_type": "union", "node_names": list(names)}
    return {"node_filter": {"filter_set_type": "union", "filter_set": [each]} if names else None}


def lists(task: dict[str, Any]) -> tuple[str, list[str], list[str]]:
    result = task["result"]
    return result["status"], sorted(result["successes"]), sorted(result["failures"])


StartDrydock = Callable[..., Drydock]


def write_design(path: Path, nodes: str) -> None:
    path.write_text(
        yaml.safe_dump_all(
            {"schema": "drydock/BaremetalNode/v1", "metadata": {"name": name}, "data": {}} for name in nodes.split()
        )
    )
