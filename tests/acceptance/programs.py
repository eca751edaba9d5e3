"""Starting programs as a user does, running commands in this process, and finding what programs leave running."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner, Result

from shipyard_api.cli.main import shipyard
from shipyard_api.http.client import HttpClient
from shipyard_api.http.deadline import Connections
from tests.forked import Program
from tests.waiting import PATIENCE, until

SHIPYARD = [sys.executable, "-c", "from shipyard_api.cli.main import main; main()"]
_MARK = "SHIPYARD_TEST_MARK"


def marked() -> tuple[str, dict[str, str]]:
    """Return a mark and an environment that carries it to every process that is started from there."""
    mark = uuid.uuid4().hex
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SHIPYARD_", "DATABASE_URL"))}
    return mark, {**kept, _MARK: mark}


def run(words: Sequence[str], environment: Mapping[str, str], seconds: float = 150) -> subprocess.CompletedProcess[str]:
    """Run a command of shipyard to its end."""
    return subprocess.run(
        [*SHIPYARD, *words], env=dict(environment), capture_output=True, text=True, timeout=seconds, check=False
    )


def invoke(words: Sequence[str], environment: Mapping[str, str]) -> Result:
    """Run a command of shipyard in this process, with nothing of the tests' own environment that it would read.

    It keeps no connection, as one that has ended: the API would wait for it before it stops.
    """
    outside = {name: None for name in os.environ if name.startswith(("SHIPYARD_", "OS_", "DATABASE_URL"))}
    opened: list[Connections] = []
    with patch.object(HttpClient, "_opened", lambda client: opened.append(made := opens(client)) or made):
        ended = CliRunner().invoke(shipyard, list(words), env={**outside, **environment}, prog_name="shipyard")
    for connections in opened:
        connections.close()
    return ended


opens = HttpClient._opened


def up(directory: Path, environment: Mapping[str, str], words: Sequence[str] = ()) -> tuple[Program, dict[str, Any]]:
    """Start the embedded stack, forked, with its data in the directory; return it and its ready file when it serves.

    Only Postgres and the simulators carry the mark of the environment; API and worker end with the stack.
    """
    ready, log = directory / "ready.json", directory / "up.log"
    ready.unlink(missing_ok=True)
    with log.open("ab") as out:
        words = ["up", *words, "--data-dir", str(directory / "data"), "--ready-file", str(ready)]
        child = Program("tests.forked_stack", words, environment, out.fileno())

    def serves() -> bool:
        assert child.poll() is None, log.read_text()
        return ready.is_file()

    until(serves, log.read_text, every=0.05)
    return child, json.loads(ready.read_text())


@contextmanager
def reachable() -> Iterator[Path]:
    """Give a directory that the account of the embedded Postgres can reach, also when we are root."""
    with tempfile.TemporaryDirectory(prefix="shipyard-test-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@contextmanager
def stack_of_its_own(
    words: Sequence[str] = (), settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Path, dict[str, Any], dict[str, str]]]:
    """Run a stack; give its directory, its ready file, and an environment in which programs are told from others."""
    mark, environment = marked()
    environment |= settings or {}
    with reachable() as directory:
        child, ready = up(directory, environment, words)
        try:
            yield directory, ready, environment
        finally:
            child.terminate()
            child.wait(PATIENCE)
    assert left_running(mark) == []


def left_running(mark: str) -> list[str]:
    """Return the command lines of processes that carry the mark; waits a moment for those on their way out."""
    found: list[str] = []
    for _ in range(50):
        found = [line for _pid, line in processes(mark)]
        if not found:
            return []
        time.sleep(0.1)
    return found


def processes(mark: str) -> list[tuple[int, str]]:
    """Return pid and command line of every process that carries the mark."""
    wanted = f"{_MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(entry.name), line))
        except OSError:
            continue  # it ended while we looked, or it is not ours to look at
    return found
