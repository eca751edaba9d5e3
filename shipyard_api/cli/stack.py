"""The embedded stack as a child process that is always stopped."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

PROGRAM = (sys.executable, "-m", "shipyard_api.programs.stack")
START_LIMIT = 120.0  # seconds until it serves
STOP_LIMIT = 30.0  # seconds between SIGTERM and SIGKILL
_LAST_LINES = 30


class StackError(Exception):
    """The stack did not start, or died; the text holds the end of its log."""


@contextlib.contextmanager
def running(
    scenario: Path, speed: float, provisioner: str, site: Path, history: Path | None = None
) -> Iterator[Mapping[str, Any]]:
    """Run ``shipyard_api.programs.stack`` in a temporary directory and yield the content of its ready file.

    ``history``: where it writes the history of the run when it stops.

    The child is stopped when the block is left, also by Ctrl-C and by SIGTERM. Raises StackError.
    """
    with tempfile.TemporaryDirectory(prefix="shipyard-demo-") as folder, terminable():
        ready, log = Path(folder, "ready.json"), Path(folder, "log")
        words = [
            "up",
            "--temporary",
            "--with-parent",
            "--ready-file",
            str(ready),
            "--scenario",
            str(scenario),
            "--speed",
            f"{speed:g}",
            "--provisioner",
            provisioner,
            "--site",
            str(site),
            *(["--history", str(history)] if history else []),
        ]
        with log.open("wb") as output:
            # A session of its own: Ctrl-C reaches only this process, which then stops the child.
            child = subprocess.Popen(
                [*PROGRAM, *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            content = _ready_content(child, ready, log)
            try:
                yield content
            except Exception as error:
                if child.poll() is None:
                    raise
                # If the child has died, its death is the reason to print, not the error that followed here.
                raise _died(child, log) from error
        finally:
            stop(child)


def stop(child: "subprocess.Popen[bytes]") -> None:
    """Terminate the child and wait for it; kill its process group after STOP_LIMIT, or on another Ctrl-C."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(STOP_LIMIT)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _ready_content(child: "subprocess.Popen[bytes]", ready: Path, log: Path) -> Mapping[str, Any]:
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit:
        with contextlib.suppress(FileNotFoundError, ValueError):  # missing or incomplete
            content = json.loads(ready.read_text("utf-8"))
            if isinstance(content, dict) and {"url", "token"} <= content.keys():
                return content
        if child.poll() is not None:
            raise _died(child, log)
        time.sleep(0.05)
    raise StackError(f"Error: the embedded stack did not serve within {START_LIMIT:g} s\n{_end(log)}")


def _died(child: "subprocess.Popen[bytes]", log: Path) -> StackError:
    return StackError(f"Error: the embedded stack ended with exit code {child.returncode}\n{_end(log)}")


def _end(log: Path) -> str:
    lines = log.read_text("utf-8", errors="replace").splitlines()[-_LAST_LINES:]
    return "\n".join(f"  {line}" for line in lines) or "  (it printed nothing)"


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, which runs every ``finally``."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
