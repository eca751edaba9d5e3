"""The programs of the embedded stack as child processes: restarted when they exit, stopped with their parent."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import click

# Seconds that all programs together have to end, until they are killed.
_STOP_SECONDS = 5.0
_KILLED_SECONDS = 2.0
_START_TIMEOUT = 60.0
# Seconds after which the program that is waited for is named.
_SILENT = 5.0
# Seconds. A child that ran this long counts as healthy: its next restart is not delayed by earlier ones.
_STABLE_AFTER = 60.0


@dataclass(slots=True)
class Child:
    """A program of the stack. It is restarted whenever it exits, after a pause that grows with each restart."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: IO[bytes]
    pass_fds: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    _restarts: int = 0
    _again_at: float = 0.0
    _started_at: float = 0.0

    def start(self) -> None:
        """Start the program."""
        self._started_at = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            pass_fds=self.pass_fds,
            start_new_session=True,
            preexec_fn=die_with_parent,  # we have no threads when we start children
        )

    def tend(self) -> None:
        """Restart the program if it has exited."""
        if self.process is None or self.process.poll() is None:
            return
        now = time.monotonic()
        if not self._again_at:
            if now - self._started_at > _STABLE_AFTER:
                self._restarts = 0
            pause = min(0.2 * 2**self._restarts, 10.0)
            click.echo(f"{self.name} exited with {self.process.returncode}; restarting it in {pause:g} s")
            self._again_at = now + pause
        elif now >= self._again_at:
            self._restarts += 1
            self._again_at = 0.0
            self.start()

    def stop(self, seconds: float) -> None:
        """Stop the program and its own children; kill what is left after ``seconds``."""
        if self.process is None:
            return
        for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, _KILLED_SECONDS)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
                return


@dataclass(slots=True)
class Stack:
    """All running programs, in order of start, and what is held for them until they have ended."""

    directory: Path
    children: list[Child] = field(default_factory=list)
    held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def add(self, name: str, command: Sequence[str], environment: Mapping[str, str], fds: tuple[int, ...] = ()) -> None:
        """Start a program and keep it running."""
        log = (self.directory / f"{name}.log").open("ab")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")}
        child = Child(name, command, {**inherited, **environment}, log, fds)
        child.start()
        self.children.append(child)

    def tend(self) -> None:
        """Restart every program that has exited."""
        for child in self.children:
            child.tend()

    def stop(self) -> None:
        """Stop all programs, the last one first. Takes seconds, whatever hangs."""
        deadline = time.monotonic() + _STOP_SECONDS
        while self.children:
            child = self.children.pop()
            child.stop(max(0.1, deadline - time.monotonic()))
            child.log.close()
        self.held.close()


def wait_until_it_answers(stack: Stack, name: str, address: str) -> None:
    """Wait until a program of the stack answers HTTP, and say so once when it takes long.

    Raises ClickException with the end of its log.
    """
    began, has_spoken = time.monotonic(), False
    child = next(child for child in stack.children if child.name == name)
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310  # our own loopback address
                return
        except (urllib.error.URLError, OSError) as error:
            waited = time.monotonic() - began
            if (child.process and child.process.poll() is not None) or waited > _START_TIMEOUT:
                log = stack.directory / f"{name}.log"
                raise click.ClickException(
                    f"{name} did not start ({error}). The end of {log}:\n{_tail(log)}"
                ) from error
            if waited > _SILENT and not has_spoken:
                click.echo(f"Waiting for {name}, which is still starting")
                has_spoken = True
            time.sleep(0.02)


def die_with_parent() -> None:
    """Ask the kernel to kill this child with its parent (Linux only; elsewhere a killed stack leaves its children)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-15:])
