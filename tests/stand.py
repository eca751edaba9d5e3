"""Shipyard as it is run: API, workers and a simulated provisioner as processes, on the Postgres of a test.

Every process belongs to the stand that started it and ends with it. Times are short, so that a crash costs seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from shipyard_api.programs import launch
from shipyard_api.wiring.settings import load, share_directory
from tests.forked import Program
from tests.waiting import PATIENCE, until

DESIGN = "application/x-yaml"

SHORT: Mapping[str, str] = {
    "SHIPYARD_ENGINE_SETTLE_SECONDS": "0.6",
    "SHIPYARD_ENGINE_QUESTION_PAUSE_SECONDS": "0.2",
    "SHIPYARD_ENGINE_QUESTION_SECONDS": "120",
    "SHIPYARD_WORKER_CONCURRENCY": "4",
    "SHIPYARD_WORKER_POLL_SECONDS": "0.05",
    "SHIPYARD_WORKER_HEARTBEAT_SECONDS": "0.3",
    "SHIPYARD_WORKER_STALLED_SECONDS": "3",
    "SHIPYARD_WORKER_SWEEP_SECONDS": "1",
    "SHIPYARD_WORKER_OVERDUE_SECONDS": "1.5",
    "SHIPYARD_WORKER_GRACEFUL_SECONDS": "1",
    "SHIPYARD_DRYDOCK_NODEFILTER_PAUSE_SECONDS": "0.1",
    **{f"SHIPYARD_{system}_READ_TIMEOUT_SECONDS": "5" for system in ("DRYDOCK", "MAAS", "IRONIC")},
    **{f"SHIPYARD_{system}_CONNECT_TIMEOUT_SECONDS": "0.3" for system in ("DRYDOCK", "MAAS", "IRONIC")},
}


@dataclass
class Stand:
    """One Shipyard with one simulated site; ``scale`` is how long a simulated second lasts.

    ``times`` replace the defaults of settings. ``machines``: the design whose nodes a simulated MAAS or Ironic has.
    ``disk``: where API and workers have their logs and temporary files, if not in ``directory``.
    """

    directory: Path
    database_url: str
    scenario: str | Path = "calm"
    scale: float = 0.002
    provisioner: str = "drydock"
    machines: Path | None = None
    times: Mapping[str, str] = field(default_factory=lambda: SHORT)
    settings: Mapping[str, str] = field(default_factory=dict)
    worker_settings: Mapping[str, str] = field(default_factory=dict)
    disk: Path | None = None
    processes: dict[str, Program] = field(default_factory=dict)

    def __enter__(self) -> Stand:
        """Start everything but the worker: a test says when, and how many."""
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.processes):
            self.kill(name)
        with contextlib.suppress(AttributeError):
            self.listener.close()

    def _begin(self) -> None:
        self.token, design_token = self._tokens()
        self.simulator = self._start_simulator(design_token)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.start("api")
        self._wait_for_api()

    def _tokens(self) -> tuple[str, str]:
        """Create the tokens of the test and of the simulated provisioner."""
        tokens = launch.tokens(load({"DATABASE_URL": self.database_url}))
        return tokens.create("tester", "admin")[1], tokens.create("simulator", "peer")[1]

    def _start_simulator(self, design_token: str) -> str:
        ready = self.directory / "simulator.ready"
        command = [
            *("--port", "0", "--scenario", str(self.scenario)),
            *("--time-scale", str(self.scale), "--ready-file", str(ready), "--die-with-parent"),
            *("--log-file", str(self.directory / "simulator.jsonl")),
            *(("--site", str(self.machines)) if self.machines else ()),
        ]
        environment = {"SIMULATOR_DESIGN_TOKEN": design_token}
        self._spawn("simulator", f"shipyard_simulators.{self.provisioner}", command, environment)
        until(lambda: self._runs("simulator") and ready.is_file(), lambda: self.log("simulator"))
        return str(json.loads(ready.read_text())["url"])

    def start(self, name: str) -> None:
        """Start the API, or a worker under any other name."""
        if name == "api":
            configuration = share_directory() / "etc" / "gunicorn.conf.py"
            words = ["-c", str(configuration), "shipyard_api.programs.asgi:app"]
            self._spawn(name, "gunicorn", words, self.service(), self.listener)
        else:
            self._spawn(name, "shipyard_api.programs.worker", [], {**self.service(), **self.worker_settings})

    def tend(self) -> None:
        """Start workers again that have ended, as a supervisor does: one that loses its database ends itself."""
        for name, process in list(self.processes.items()):
            if name not in ("api", "simulator") and process.poll() is not None:
                self.kill(name)
                self.start(name)

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """End a process and its children at once."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        process.wait(PATIENCE)

    def freeze(self, name: str, seconds: float) -> None:
        """Stop a process for a while, as a host does that is out of memory or moved elsewhere."""
        process = self.processes[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGCONT)

    def log(self, name: str) -> str:
        """What a process wrote."""
        return (self._place(name) / f"{name}.log").read_text(errors="replace")

    def events(self) -> list[dict[str, Any]]:
        """The simulator's own log."""
        text = (self.directory / "simulator.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def request(self, method: str, path: str, **options: Any) -> requests.Response:
        """Ask the API."""
        headers = {"X-Auth-Token": self.token, **options.pop("headers", {})}
        return requests.request(method, f"{self.url}/api/v1.0{path}", headers=headers, timeout=PATIENCE, **options)

    def commit(self, design: bytes) -> None:
        """Load a design and put it into force."""
        loaded = self.request("POST", "/configdocs/design", data=design, headers={"Content-Type": DESIGN})
        assert loaded.status_code == 201, loaded.text
        committed = self.request("POST", "/commitconfigdocs")
        assert committed.status_code == 200, committed.text

    def deploy_site(self, **parameters: Any) -> str:
        """Create the action and return its id."""
        answer = self.request("POST", "/actions", json={"name": "deploy_site", "parameters": parameters})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def action(self, action: str) -> dict[str, Any]:
        """The action as it stands."""
        answer = self.request("GET", f"/actions/{action}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def wait(self, action: str) -> dict[str, Any]:
        """Wait until the action has ended; the API may be out of reach meanwhile."""

        def ended() -> dict[str, Any]:
            self.tend()
            with contextlib.suppress(requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
                answer = self.request("GET", f"/actions/{action}")
                if answer.status_code == 200 and answer.json()["verdict"]:
                    return dict(answer.json())
            return {}

        return until(ended, lambda: f"{action} has not ended\n{self._workers()}", every=0.1)

    def listing(self, action: str, what: str) -> list[dict[str, Any]]:
        """All groups or nodes of an action, page by page."""
        found: list[dict[str, Any]] = []
        marker: dict[str, str] = {}
        while True:
            page = self.request("GET", f"/actions/{action}/{what}", params={"limit": "1000", **marker}).json()
            found += page[what]
            if page["next"] is None:
                return found
            marker = {"marker": page["next"]}

    def _spawn(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        listener: socket.socket | None = None,
    ) -> None:
        # Whatever a killed program leaves goes with the directory of the test.
        place = self._place(name)
        environment = {**os.environ, "TMPDIR": str(place), **environment}
        with (place / f"{name}.log").open("ab") as log:
            self.processes[name] = Program(module, arguments, environment, log.fileno(), listener)

    def _place(self, name: str) -> Path:
        return self.directory if name == "simulator" else self.disk or self.directory

    def service(self) -> dict[str, str]:
        """Return the settings of API and workers."""
        return {
            "DATABASE_URL": self.database_url,
            "SHIPYARD_API_WORKERS": "1",
            "SHIPYARD_ENGINE_TIME_SCALE": str(self.scale),
            **self._provisioner(),
            **self.times,
            **self.settings,
        }

    def _provisioner(self) -> dict[str, str]:
        settings = {"SHIPYARD_PROVISIONER_KIND": self.provisioner}
        match self.provisioner:
            case "maas":
                address = f"{self.simulator}/MAAS/api/2.0"
                return {**settings, "SHIPYARD_MAAS_URL": address, "SHIPYARD_MAAS_API_KEY": "a:b:c"}
            case "ironic":
                return {**settings, "SHIPYARD_IRONIC_URL": self.simulator}
            case _:
                design = f"deckhand+{self.url}/api/v1.0/revisions/{{revision}}/rendered-documents"
                address = f"{self.simulator}/api/v1.0"
                return {**settings, "SHIPYARD_DRYDOCK_URL": address, "SHIPYARD_DRYDOCK_DESIGN_URL": design}

    def _wait_for_api(self) -> None:
        def answers() -> bool:
            return self._runs("api") and requests.get(f"{self.url}/health", timeout=5).status_code == 204

        until(answers, lambda: self.log("api"), every=0.05, but=requests.RequestException)

    def _runs(self, name: str) -> bool:
        assert self.processes[name].poll() is None, self.log(name)
        return True

    def _workers(self) -> str:
        return "\n".join(self.log(name)[-3000:] for name in self.processes if name not in ("api", "simulator"))
