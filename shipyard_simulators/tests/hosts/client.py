"""A client of simulated hosts: asyncssh, through their jump host."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncssh

from shipyard_simulators.hosts.simulator import HostsSimulator
from shipyard_simulators.tests.waiting import PATIENCE

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    status: int | None
    output: str
    errors: str


@dataclass(frozen=True)
class Client:
    """Runs each command on a connection of its own."""

    simulator: HostsSimulator

    def run(self, address: str, command: str, data: bytes = b"") -> Answer:
        return _wait(self._run(address, command, data))

    async def _run(self, address: str, command: str, data: bytes) -> Answer:
        options: dict[str, Any] = {
            "client_keys": [str(self.simulator.directory / "key")],
            "known_hosts": str(self.simulator.directory / "known_hosts"),
            "config": None,
            "agent_path": None,
            "username": "root",
        }
        async with (
            asyncssh.connect("127.0.0.1", self.simulator.ssh_port, **options) as jump,
            asyncssh.connect(address, tunnel=jump, **options) as host,
        ):
            done = await host.run(command, input=data, encoding=None)
        return Answer(done.exit_status, bytes(done.stdout or b"").decode(), bytes(done.stderr or b"").decode())


def _wait(coroutine: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE):
            return await coroutine

    return asyncio.run(bounded())
