"""The worked example of seed 001 on real hosts, with workers that are killed in the middle: every mark exactly once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from shipyard_api.child_processes import die_with_parent
from shipyard_api.domain.actions import ENDED, ActionId, RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.remote_tasks import Host
from tests.contract.remote_task_sites import Site, sshd
from tests.software_world import ROLES, SoftwareWorld
from tests.task_graphs import SEED_GRAPH

KILLS = 50
PATIENCE = 300  # seconds; reached only by a failure


@dataclass
class Hosts:
    """Eight real hosts. Every task appends its name and its node to one file, when it begins and when it ends."""

    site: Site
    directory: Path

    def __post_init__(self) -> None:
        names = (NodeName(name) for name in ROLES)
        self.by_name = {
            name: Host(name, host.address, host.port) for name, host in zip(names, self.site.hosts, strict=True)
        }
        self.marks = self.directory / "marks"

    def graph(self, seconds: float) -> list[dict[str, object]]:
        """The seed's graph; each of its tasks leaves marks and takes so long."""
        mark = f'echo "$1 %s ${{SHIPYARD_TASKS%/tasks}}" >>{self.marks}'
        entries = []
        for entry in SEED_GRAPH:
            if entry["type"] in ("shell", "puppet"):
                began, ended = mark.replace("%s", "began"), mark.replace("%s", "ended")
                cmd = f"set -- {entry['id']}\n{began}\nsleep {seconds}\n{ended}"
                entry = {**entry, "type": "shell", "parameters": {"cmd": cmd, "timeout": 60, "retries": 0}}
            entries.append(entry)
        return entries

    def events(self) -> list[tuple[str, str, str]]:
        """Return task, what, node; nothing may be there twice."""
        directories = {str(self.directory / host.name): name for name, host in zip(ROLES, self.site.hosts, strict=True)}
        lines = [line.split() for line in self.marks.read_text().splitlines()]
        return [(task, what, directories[directory]) for task, what, directory in lines]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ExitStack() as cleanup:
        yield Hosts(sshd(cleanup, tmp_path, count=len(ROLES)), tmp_path)


def check(events: list[tuple[str, str, str]]) -> None:
    """Each task once on each node, in the order of the seed: 1 | 4,2 | 3,5 | 6,7 | 8."""
    assert len(events) == len(set(events)) == 2 * 2 * len(ROLES)
    at = {event: number for number, event in enumerate(events)}
    for node in ROLES:
        assert at["setup_network", "ended", node] < at["setup_services", "began", node]
    batches = [(1,), (4, 2), (3, 5), (6, 7), (8,)]
    for earlier, later in pairwise(batches):
        last = max(at["setup_services", "ended", f"node-{number}"] for number in earlier)
        assert last < min(at["setup_network", "began", f"node-{number}"] for number in later)


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
    deadline, kills, actions = time.monotonic() + PATIENCE, 0, 1
    try:
        while kills < KILLS:
            command = [sys.executable, "-m", "tests.software_worker", database_url, str(hosts.directory / "site.json")]
            worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
            until = time.monotonic() + chance.uniform(0.8, 3.0)
            while time.monotonic() < until:
                if world.state() in ENDED:
                    assert world.state() is RunState.SUCCESS, world.steps()
                    check(hosts.events())
                    hosts.marks.unlink()
                    actions += 1
                    world.create(ActionId(str(actions).rjust(26, "0")))
                time.sleep(0.05)
            worker.send_signal(signal.SIGKILL)
            worker.wait(30)
            kills += 1
            assert time.monotonic() < deadline
    finally:
        world.close()
    sys.stdout.write(f"{kills} kills in {actions} actions\n")
    assert actions > 1
