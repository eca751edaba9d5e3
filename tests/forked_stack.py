"""The embedded stack, with forks of itself as API and worker: ``Program("tests.forked_stack", ["up", …])``.

As programs of their own, these import for seconds. Postgres and the simulators are programs, as in every stack.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from shipyard_api.child_processes import Child
from shipyard_api.programs import launch, stack
from tests import forked


class Fork:
    """What a stack uses of ``subprocess.Popen``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Wait until it has ended, and return its exit code."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.02)
        return code


def fork(child: Child) -> None:
    """Start a program of the stack: a Python module that this process has imported, or any other."""
    if child.name not in ("api", "worker"):
        start(child)
        return
    child._started_at = time.monotonic()
    pid = os.fork()
    if pid:
        child.process = Fork(pid)  # type: ignore[assignment]  # what is used of it
        return
    code: object = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # A program inherits only these: the lock of the database, above all, is free once the stack has died.
        kept = {0, 1, 2, child.log.fileno(), *child.pass_fds}
        for number in {int(file.name) for file in Path("/dev/fd").iterdir()} - kept:
            with contextlib.suppress(OSError):  # the one that listed them
                os.close(number)
        _, _, module, *words = child.command
        forked.run(module, words, child.environment, child.log.fileno())
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001  # it ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    start, Child.start = Child.start, fork  # type: ignore[method-assign]  # for this process
    sys.exit(launch.run_program(lambda: stack.main(prog_name="shipyard")))
