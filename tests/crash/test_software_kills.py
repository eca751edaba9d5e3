"""The worked example of seed 001 on real hosts, with workers that are killed in the middle: every mark exactly once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from shipyard_api.child_processes import die_with_parent
from shipyard_api.domain.actions import ENDED, ActionId, RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.remote_tasks import Host
from tests.contract.remote_task_sites import Site, sshd
from tests.software_world import ROLES, SoftwareWorld
from tests.task_graphs import SEED_GRAPH
from tests.waiting import PATIENCE, until

KILLS = 50


@dataclass
class Hosts:
    """Real hosts, eight by default. Every task appends its name and node to one file, when it begins and ends."""

    site: Site
    directory: Path
    roles: Mapping[str, str] = field(default_factory=lambda: ROLES)

    def __post_init__(self) -> None:
        names = (NodeName(name) for name in self.roles)
        self.by_name = {
            name: Host(name, host.address, host.port) for name, host in zip(names, self.site.hosts, strict=True)
        }
        self.marks = self.directory / "marks"

    def graph(self, seconds: float, entries: Sequence[Mapping[str, Any]] = SEED_GRAPH) -> list[dict[str, Any]]:
        """A graph, by default the seed's; each of its tasks leaves marks and takes so long."""
        mark = f'echo "$1 %s ${{SHIPYARD_TASKS%/tasks}}" >>{self.marks}'
        marked = []
        for entry in entries:
            if entry["type"] in ("shell", "puppet"):
                began, ended = mark.replace("%s", "began"), mark.replace("%s", "ended")
                cmd = f"set -- {entry['id']}\n{began}\nsleep {seconds}\n{ended}"
                entry = {**entry, "type": "shell", "parameters": {"cmd": cmd, "timeout": 60, "retries": 0}}
            marked.append(dict(entry))
        return marked

    def events(self) -> list[tuple[str, str, str]]:
        """Return task, what, node; nothing may be there twice."""
        directories = {
            str(self.directory / host.name): name for name, host in zip(self.roles, self.site.hosts, strict=True)
        }
        lines = [line.split() for line in self.marks.read_text().splitlines()]
        return [(task, what, directories[directory]) for task, what, directory in lines]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ExitStack() as cleanup:
        yield Hosts(sshd(cleanup, tmp_path, count=len(ROLES)), tmp_path)


CONTROLLERS = ("node-4", "node-2", "node-3", "node-5")
WAITS = [(("node-1",), CONTROLLERS), (CONTROLLERS, ("node-6", "node-7")), (("node-7",), ("node-8",))]
"""Groups of the seed, and those that wait for them."""


def check(events: list[tuple[str, str, str]]) -> None:
    """Each task once on each node; groups in the order of the seed, two controllers at a time, each at its own pace."""
    assert len(events) == len(set(events)) == 2 * 2 * len(ROLES)
    at = {event: number for number, event in enumerate(events)}
    first, last = (
        {node: at[event, what, node] for node in ROLES}
        for event, what in (("setup_network", "began"), ("setup_services", "ended"))
    )
    for node in ROLES:
        assert at["setup_network", "ended", node] < at["setup_services", "began", node]
    for earlier, later in WAITS:
        assert max(last[node] for node in earlier) < min(first[node] for node in later)
    for node in CONTROLLERS:
        assert sum(first[other] <= first[node] < last[other] for other in CONTROLLERS) <= 2
    assert {*sorted(CONTROLLERS, key=first.__getitem__)[:2]} == {*CONTROLLERS[:2]}


def test_the_worked_example_on_real_hosts(database_url: str, hosts: Hosts) -> None:
    world = SoftwareWorld(database_url, hosts.graph(0), tasks=hosts.site.tasks, hosts=hosts.by_name)
    try:
        world.run(world.worker(), pace=0.05)
        assert world.state() is RunState.SUCCESS, world.steps()
        check(hosts.events())
    finally:
        world.close()


@pytest.mark.crash
def test_workers_that_are_killed_in_the_middle_leave_every_mark_exactly_once(database_url: str, hosts: Hosts) -> None:
    chance = random.Random(1)
    access = hosts.site.access
    assert access is not None
    described = {
        "hosts": {name: [host.address, host.port] for name, host in hosts.by_name.items()},
        "access": [access.user, access.key_file, access.known_hosts],
    }
    (hosts.directory / "site.json").write_text(json.dumps(described))
    world = SoftwareWorld(database_url, hosts.graph(0.5), tasks=hosts.site.tasks, hosts=hosts.by_name)
    actions = 1

    def worker() -> subprocess.Popen[bytes]:
        """Start a worker, and wait until it takes work: a busy host needs seconds for that."""
        command = [sys.executable, "-m", "tests.software_worker", database_url, str(hosts.directory / "site.json")]
        before = newest_worker(database_url)
        started = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        until(lambda: newest_worker(database_url) != before)
        return started

    def ended() -> bool:
        """Return whether the action has ended; as it should, then."""
        if world.state() not in ENDED:
            return False
        assert world.state() is RunState.SUCCESS, world.steps()
        check(hosts.events())
        hosts.marks.unlink()
        return True

    try:
        for _ in range(KILLS):
            killed = worker()
            killed_at = time.monotonic() + chance.uniform(0.0, 2.2)
            while time.monotonic() < killed_at:
                if ended():
                    actions += 1
                    world.create(ActionId(str(actions).rjust(26, "0")))
                time.sleep(0.05)
            killed.send_signal(signal.SIGKILL)
            killed.wait(PATIENCE)
        last = worker()
        until(ended, world.steps, every=0.05)
        last.kill()
        last.wait(PATIENCE)
    finally:
        world.close()
    sys.stdout.write(f"{KILLS} kills in {actions} actions\n")


def newest_worker(url: str) -> int | None:
    """Return the number of the worker that registered last."""
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM procrastinate_workers_id_seq WHERE is_called")
        row: tuple[int] | None = cursor.fetchone()
    return row[0] if row else None
