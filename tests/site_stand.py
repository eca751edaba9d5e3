"""An installation of many sites: one API, one worker pool, and for each site a database and a simulated provisioner."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import requests

from shipyard_api.programs import launch
from shipyard_api.wiring.settings import load, share_directory
from tests.forked import Program
from tests.stand import Stand
from tests.waiting import PATIENCE, until

_OF_PROCESS = ("SHIPYARD_API_WORKERS", "SHIPYARD_LOG_LEVEL")


@dataclass
class Site(Stand):
    """A site, served by an installation; its own process is the simulator."""

    name: str = ""
    installation: str = ""

    def _begin(self) -> None:
        tokens = launch.tokens(load({"DATABASE_URL": self.database_url}))
        _, self.token = tokens.create("tester", "admin")
        _, design_token = tokens.create("simulator", "peer")
        self.url = f"{self.installation}/sites/{self.name}"
        self.simulator = self._start_simulator(design_token)

    def write(self, directory: Path) -> None:
        """Write the settings file of the site."""
        sections: dict[str, dict[str, str]] = {}
        for name, text in self.service().items():
            section, _, setting = name.removeprefix("SHIPYARD_").lower().partition("_")
            if name not in _OF_PROCESS:
                sections.setdefault(section, {})[setting] = text
        lines = [
            line
            for section, values in sections.items()
            for line in (f"[{section}]", *(f"{setting} = {text}" for setting, text in values.items()))
        ]
        (directory / f"{self.name}.conf").write_text("\n".join(lines) + "\n")


@dataclass
class Installation:
    """The processes that all sites share. ``settings``: of the process."""

    directory: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    processes: dict[str, Program] = field(default_factory=dict)

    def __enter__(self) -> Installation:
        self.sites = self.directory / "sites"
        self.sites.mkdir()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait(PATIENCE)
        self.listener.close()

    def start(self) -> None:
        """Start the API and the pool."""
        configuration = str(share_directory() / "etc" / "gunicorn.conf.py")
        self._spawn("api", "gunicorn", ["-c", configuration, "shipyard_api.programs.asgi:app"], self.listener)
        self._spawn("pool", "shipyard_api.programs.worker", ["--sites", str(self.sites)])

    def reload(self) -> None:
        """Let both read the directory again, and wait until nothing is served as it was before."""
        before = self._api_processes()
        for process in self.processes.values():
            os.kill(process.pid, 1)
        until(lambda: not before & self._api_processes(), lambda: self.log("api"), every=0.05)

    def wait_for(self, path: str) -> requests.Response:
        """Wait until an address answers with success."""
        # An answer is true if it is no error.
        ask = partial(requests.get, f"{self.url}{path}", timeout=5)
        return until(ask, lambda: self.log("api"), every=0.1, but=requests.RequestException)

    def log(self, name: str) -> str:
        """What a process and its children wrote."""
        return (self.directory / f"{name}.log").read_text(errors="replace")

    def _api_processes(self) -> set[str]:
        """Return the processes that answer requests (Linux)."""
        pid = self.processes["api"].pid
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())

    def _spawn(self, name: str, module: str, arguments: list[str], listener: socket.socket | None = None) -> None:
        environment = {
            **os.environ,
            "TMPDIR": str(self.directory),
            "SHIPYARD_SITES": str(self.sites),
            "SHIPYARD_API_WORKERS": "1",
            "SHIPYARD_WORKER_SWEEP_SECONDS": "1",
            **self.settings,
        }
        with (self.directory / f"{name}.log").open("ab") as log:
            self.processes[name] = Program(module, arguments, environment, log.fileno(), listener)
