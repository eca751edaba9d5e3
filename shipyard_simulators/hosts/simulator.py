"""The whole simulator of hosts: the port of SSH, and a port for tests."""

import asyncio
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from shipyard_simulators.clock import Clock
from shipyard_simulators.deployments import Deployments
from shipyard_simulators.events import EventLog
from shipyard_simulators.hosts import keys
from shipyard_simulators.hosts.app import create_app
from shipyard_simulators.hosts.hosts import Hosts
from shipyard_simulators.hosts.ssh import SshServers
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import HOST, Simulated, in_thread

T = TypeVar("T")

_KEPT_EVENTS = 100_000


class HostsSimulator(Simulated):
    """Simulated hosts behind a jump host on 127.0.0.1; its own URL has the routes for tests.

    ``addresses``: of each node. ``directory``: where keys and hosts are kept (None: a temporary one). ``ssh_port``: of
    the jump host. ``follow``: the event log of a simulated provisioner; the hosts that it deploys are there.
    ``clock`` replaces the one of ``time_scale``.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        addresses: Mapping[str, tuple[str, ...]] | None = None,
        directory: Path | None = None,
        time_scale: float = 1.0,
        port: int = 0,
        ssh_port: int = 0,
        log_file: Path | None = None,
        follow: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._temporary = None if directory else tempfile.mkdtemp(prefix="shipyard-hosts-")
        self.directory = directory or Path(str(self._temporary))
        self._socket = socket.create_server((HOST, ssh_port), backlog=256)
        log = EventLog(log_file, most=_KEPT_EVENTS)
        deployments = Deployments(follow) if follow else None
        scenario = scenario or Scenario()
        self.hosts = Hosts(scenario, clock or Clock(time_scale), log, self.directory, addresses or {}, deployments)
        self.hosts.shared.prepare()
        keys.ensure(self.directory)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True)
        super().__init__(create_app(self.hosts, self.look, log), port, log)

    @property
    def ssh_port(self) -> int:
        """The port of the jump host."""
        port: int = self._socket.getsockname()[1]
        return port

    def events(self) -> list[dict[str, Any]]:
        """Return the event log so far."""
        return self._log.events()

    def look(self, question: Callable[[], T]) -> T:
        """Ask or change the hosts in the thread that they belong to."""

        async def asked() -> T:
            return question()

        return asyncio.run_coroutine_threadsafe(asked(), self._loop).result()

    def _begin(self) -> None:
        self._thread.start()
        self._servers = SshServers(self.hosts)
        asyncio.run_coroutine_threadsafe(self._servers.serve(self._socket), self._loop).result()
        self._pipe = os.open(self.hosts.shared.control, os.O_RDWR | os.O_NONBLOCK)
        self._loop.call_soon_threadsafe(self._loop.add_reader, self._pipe, self._obey)

    def _end(self) -> None:
        asyncio.run_coroutine_threadsafe(self._ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        os.close(self._pipe)

    def _close(self) -> None:
        if self._thread.is_alive():
            self._end()  # a signal ended ``serve``
        self._socket.close()
        self._loop.close()
        self.hosts.end()
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    async def _ended(self) -> None:
        self._loop.remove_reader(self._pipe)
        await self._servers.close()
        self.hosts.end()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _obey(self) -> None:
        # A line is shorter than a pipe writes at once, so lines arrive whole.
        for line in os.read(self._pipe, 65_536).decode("utf-8", "replace").splitlines():
            self.hosts.obey(line)


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[HostsSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of HostsSimulator."""
    return in_thread(HostsSimulator(scenario, **options))
