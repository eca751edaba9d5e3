"""Programs of Shipyard in processes that are forked from one that has imported their modules.

To import them takes a program longer than most tests take with it. They run as ``python -m`` runs them, in a session
and with an environment of their own; the demo of tests/acceptance starts the commands themselves.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from typing import Any, Self

from shipyard_api.child_processes import die_with_parent
from tests.waiting import PATIENCE

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.preloaded"])


def end() -> None:
    """End the process that forks, so that what its children took is counted as the test run's."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


class Program:
    """A running program, with what we use of ``subprocess.Popen``; it ends with the test process at the latest.

    ``output``: the file descriptor that gets its output. A ``listener`` is what the API serves on.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        output: int,
        listener: socket.socket | None = None,
    ) -> None:
        files = (_Passed(output), _Passed(listener.fileno()) if listener else None)
        self._process = _forks.Process(target=run, args=(module, arguments, dict(environment), *files), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, minus the number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """Wait until it has ended, and return its exit code."""
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


class ToItsEnd(Program):
    """A program whose output is read once it has ended; leaving the context ends it."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        listener: socket.socket | None = None,
    ) -> None:
        # Appended to, since the program shares our place in the file.
        self._output = tempfile.TemporaryFile("a+", encoding="utf-8")  # noqa: SIM115  # closed by `end`
        super().__init__(module, arguments, environment, self._output.fileno(), listener)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._output.closed:
            self.terminate()
            self.end()

    def said(self) -> str:
        """Return its output up to now."""
        self._output.seek(0)
        return self._output.read()

    def end(self) -> tuple[int, str]:
        """Wait until it has ended; return its exit code and its output."""
        with self._output:
            return self.wait(PATIENCE), self.said()


class _Passed:
    """A file descriptor on its way to a process that is being started; there, the number of its duplicate."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self._number),)


def _received(passed: Any) -> int:
    number: int = passed.detach()
    return number


def run(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], output: int, listener: int | None = None
) -> None:
    """Be the program, in a process that was forked for it."""
    os.setsid()
    die_with_parent()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()
    os.environ.update(environment)
    if listener is not None:
        os.environ["SHIPYARD_BIND"] = f"fd://{listener}"
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
