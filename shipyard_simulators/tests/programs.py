"""Simulators as programs: starting one, and reading what it refuses."""

import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from shipyard_simulators.tests.waiting import until

ROOT = Path(__file__).parents[2]
FIVE_GROUPS = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"


def command(peer: str, ready: Path, *arguments: object) -> list[str]:
    """Return the command of a simulator on a free port, which writes its address to the ready file."""
    words = [sys.executable, "-m", f"shipyard_simulators.{peer}", "--port", "0", "--ready-file", ready, *arguments]
    return [str(word) for word in words]


@contextlib.contextmanager
def started(
    peer: str, directory: Path, *arguments: object, **environ: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run a simulator; yield its process and its URL. It is killed at the end if it still runs."""
    ready = directory / "ready.json"
    ready.unlink(missing_ok=True)
    words = command(peer, ready, "--die-with-parent", *arguments)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, env={**os.environ, **environ}, stdout=pipe, stderr=pipe) as process:
        try:
            until(lambda: ready.exists() or process.poll() is not None)
            assert process.poll() is None, process.communicate()
            announced = json.loads(ready.read_text())
            assert announced["pid"] == process.pid
            yield process, announced["url"]
        finally:
            process.kill()


def refusal(peer: str, *arguments: str) -> tuple[object, list[str]]:
    """Run the program of a peer here, with arguments that it refuses; return its exit code and the lines of stderr."""
    program = importlib.import_module(f"shipyard_simulators.{peer}.__main__").PROGRAM
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            code = program.run(arguments)
    except SystemExit as ended:
        code = ended.code
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return code, errors.getvalue().splitlines()
