"""Nodes whose tasks write a gigabyte: the worker, its database, the wire and the disk of the node stay small.

The hosts are real OpenSSH servers, and the worker is a process of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

from shipyard_api.child_processes import die_with_parent
from shipyard_api.domain.actions import ENDED, RunState
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.remote_tasks import TAIL, Host
from tests.contract.remote_task_sites import Site, sshd
from tests.cuttable import Line
from tests.software_world import SoftwareWorld
from tests.waiting import PATIENCE

GIGABYTE = 1_000_000_000
HOSTILE = r"printf 'a\377\000\033[31mred\033]0;title\007\342'"
OUTPUTS = {
    "lines": f"echo first; yes | head -c {GIGABYTE}; echo last",
    "endless": f"yes | tr -d '\\n' | head -c {GIGABYTE}; echo; echo last",
    "hostile": f'yes "$({HOSTILE})" | tr -d "\\n" | head -c {GIGABYTE}; echo; echo last',
    "failing": f"yes | head -c {GIGABYTE} >&2; echo last >&2; exit 3",
}


@dataclass
class Hosts:
    """A host for each output, reached through lines that count."""

    site: Site
    lines: list[Line]
    described: Path

    @property
    def passed(self) -> int:
        return sum(line.passed for line in self.lines)

    @property
    def kept(self) -> int:
        """The most bytes that a host keeps of its task."""
        return max(
            sum(file.stat().st_size for file in server.tasks.rglob("*") if file.is_file())
            for server in self.site.servers.values()
        )


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ExitStack() as cleanup:
        site = sshd(cleanup, tmp_path, count=len(OUTPUTS))
        assert site.access is not None
        known = Path(site.access.known_hosts)
        lines, reached = [], {}
        for name, host in zip(OUTPUTS, site.hosts, strict=True):
            line = Line(f"ssh://{host.address}:{host.port}")
            cleanup.callback(line.close)
            port = line.url.rpartition(":")[2]
            keys = known.read_text().replace(f"[{host.address}]:{host.port}", f"[127.0.0.1]:{port}")
            known.write_text(keys)
            lines.append(line)
            reached[name] = ["127.0.0.1", int(port)]
        described = tmp_path / "site.json"
        access = [site.access.user, site.access.key_file, site.access.known_hosts]
        described.write_text(json.dumps({"hosts": reached, "access": access}))
        yield Hosts(site, lines, described)


def peak(pid: int) -> int:
    """The most resident memory that a process has had, in MB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) // 1024


def size(world: SoftwareWorld) -> int:
    """The size of the database, in bytes."""
    with world.engine.connect() as connection:
        return int(connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one())


@pytest.mark.crash
def test_a_gigabyte_of_output_costs_little_and_ends_with_a_word(database_url: str, hosts: Hosts) -> None:
    graph = [
        {"id": name, "type": "shell", "role": [name], "parameters": {"cmd": cmd, "timeout": 600, "retries": 0}}
        for name, cmd in OUTPUTS.items()
    ]
    reached = json.loads(hosts.described.read_text())["hosts"]
    world = SoftwareWorld(
        database_url,
        graph,
        {name: name for name in OUTPUTS},
        hosts={NodeName(name): Host(NodeName(name), *where) for name, where in reached.items()},
    )
    before = size(world)
    command = [sys.executable, "-m", "tests.software_worker", database_url, str(hosts.described)]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
    try:
        deadline, at_start, most_kept = time.monotonic() + PATIENCE, 0, 0
        while world.state() not in ENDED:
            assert worker.poll() is None
            assert time.monotonic() < deadline, world.results()
            # The modules are loaded by the first result.
            at_start = at_start or (peak(worker.pid) if world.results() else 0)
            most_kept = max(most_kept, hosts.kept)
            time.sleep(0.2)
        most = peak(worker.pid)
        results = {one.node: one for one in world.results()}
        grown = size(world) - before
    finally:
        worker.kill()
        worker.wait(PATIENCE)
        world.close()
    sys.stdout.write(
        f"worker {at_start} MB, at most {most} MB; {hosts.passed} bytes over the wire; a node keeps {most_kept} bytes; "
        f"the database grew by {grown} bytes\n"
    )
    assert world.state() is RunState.FAILED
    ends = {name: (one.status, one.exit_status, one.detail) for name, one in results.items()}
    success = (TaskStatus.SUCCESS, 0, "")
    assert ends == {
        **dict.fromkeys(OUTPUTS, success),
        "failing": (TaskStatus.FAILED, 3, "exit status 3"),
    }
    for one in results.values():
        assert one.tail.endswith("\nlast\n"), one
        assert len(one.tail) <= TAIL
        assert not re.search(r"[\x00\x07\x1b]", one.tail)
    assert most - at_start < 50
    assert hosts.passed < 2_000_000
    assert most_kept < 5 * 1024 * 1024
    assert grown < 4 * 1024 * 1024
