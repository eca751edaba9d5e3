"""Servers of other processes, and what tests store in a database."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from shipyard_simulators.embedded_postgres.server import RunningPostgres
from shipyard_simulators.tests.programs import ROOT

QUICK = {"fsync": "off"}
AS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not AS_ROOT, reason="only root lends the server another account")

OWNER = """
import sys, time
from pathlib import Path
from shipyard_simulators.embedded_postgres.server import start
postgres = start(Path(sys.argv[1]), settings={"fsync": "off"})
print(postgres.pid, postgres.url, flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def owner_of(data: Path, script: str = OWNER) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the server; killed at the end, as a crash would."""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(data)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        try:
            yield owner
        finally:
            owner.kill()


def announced_by(owner: subprocess.Popen[str]) -> tuple[int, str]:
    assert owner.stdout is not None
    pid, url = owner.stdout.readline().split()
    return int(pid), url


def ask(postgres: RunningPostgres | str, query: str) -> list[tuple[object, ...]]:
    url = postgres if isinstance(postgres, str) else postgres.url
    with contextlib.closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall() if cursor.description else []


def remember(postgres: RunningPostgres | str, node: str) -> None:
    ask(postgres, "CREATE TABLE IF NOT EXISTS nodes (name text)")
    ask(postgres, f"INSERT INTO nodes VALUES ('{node}')")


def nodes(postgres: RunningPostgres) -> list[object]:
    return [name for (name,) in ask(postgres, "SELECT name FROM nodes ORDER BY name")]


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Another program on the port."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        yield other


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def siblings(data: Path) -> set[str]:
    return {path.name.removeprefix(data.name) for path in data.parent.iterdir()}
