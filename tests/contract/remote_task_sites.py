"""Nodes that fill the port of remote tasks: in memory, real OpenSSH servers on loopback, and simulated hosts."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.adapters.ssh import JumpHost
from shipyard_api.adapters.ssh.login import Access
from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.remote_tasks import Host, RemoteTasks
from shipyard_simulators.hosts.simulator import running
from shipyard_simulators.scenario import parse_scenario
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.sshd import MISSING, Keys, Sshd, user

LIMIT = 30.0


@dataclass
class Site:
    """``hosts``: that answer. ``dead``: one that does not. ``marks``: how often a node ran the task that marks it.

    ``command``: marks its node, then runs the rest.
    """

    tasks: RemoteTasks
    hosts: tuple[Host, ...]
    dead: Host
    command: Callable[[str], str]
    marks: Callable[[Host], int]
    fake: FakeRemoteTasks | None = None
    servers: dict[NodeName, Sshd] = field(default_factory=dict)
    access: Access | None = None


def fake(cleanup: ExitStack, directory: Path) -> Site:
    tasks = FakeRemoteTasks(down={NodeName("dead")})
    hosts = tuple(Host(NodeName(f"n{number}"), f"192.0.2.{number}") for number in (1, 2, 3))
    return Site(
        tasks,
        hosts,
        Host(NodeName("dead"), "192.0.2.9"),
        command=lambda rest: rest,
        marks=lambda host: sum(node == host.name for _, node in tasks.log),
        fake=tasks,
    )


def sshd(cleanup: ExitStack, directory: Path, *, count: int = 3, limit: float = LIMIT, **access: Any) -> Site:
    if MISSING:
        pytest.skip(MISSING)
    keys = Keys(directory)
    servers = {NodeName(f"n{number}"): Sshd(keys, directory / f"n{number}") for number in range(1, count + 1)}
    for server in servers.values():
        server.start()
        cleanup.callback(server.end_tasks)
        cleanup.callback(server.stop)
    reached = Access(user(), str(keys.key), str(keys.known_hosts), **{"connect_timeout": 10.0, **access})
    tasks = SshRemoteTasks(reached, limit=limit)
    cleanup.callback(tasks.close)

    def marks(host: Host) -> int:
        file = servers[host.name].directory / "marks"
        return len(file.read_text().splitlines()) if file.exists() else 0

    return Site(
        tasks,
        tuple(Host(name, server.address, server.port) for name, server in servers.items()),
        Host(NodeName("dead"), "127.0.0.1", 9),
        # The environment of a session says which node it is.
        command=lambda rest: f'echo mark >>"${{SHIPYARD_TASKS%/tasks}}/marks"\n{rest}',
        marks=marks,
        servers=servers,
        access=reached,
    )


def simulated(cleanup: ExitStack, directory: Path) -> Site:
    addresses = {f"n{number}": (f"10.1.0.{number}",) for number in (1, 2, 3)}
    scenario = parse_scenario("nodes: {dead: {connect: refuse}}")
    simulator = cleanup.enter_context(running(scenario, addresses={**addresses, "dead": ("10.1.0.9",)}))
    keys = simulator.directory
    jump = JumpHost("shipyard", "127.0.0.1", simulator.ssh_port)
    tasks = SshRemoteTasks(Access("root", str(keys / "key"), str(keys / "known_hosts"), jump=jump), limit=LIMIT)
    cleanup.callback(tasks.close)

    def marks(host: Host) -> int:
        file = keys / "hosts" / host.name / "marks"
        return len(file.read_text().splitlines()) if file.exists() else 0

    return Site(
        tasks,
        tuple(Host(NodeName(name), address) for name, (address,) in addresses.items()),
        Host(NodeName("dead"), "10.1.0.9"),
        command=lambda rest: f'echo mark >>"$SIMULATED_DIRECTORY/marks"\n{rest}',
        marks=marks,
    )


SITES: dict[str, Callable[..., Site]] = {"fake": fake, "sshd": sshd, "simulated": simulated}
