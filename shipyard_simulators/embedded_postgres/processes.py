"""The identity of processes: a pid alone is not enough, because pids are reused, in containers at once."""

import os
import subprocess
from pathlib import Path

from shipyard_simulators.embedded_postgres.account import SystemAccount

_PROC = Path("/proc")


def identity(pid: int) -> str | None:
    """Return a word for the process that has this pid now, from its start time; None if it has ended."""
    try:
        # The second field is the program's name in brackets and may hold anything; the rest has fixed positions.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None if _has_proc() else _ps(pid, "lstart=")
    return None if fields[0] in "ZX" else f"{boot} {fields[19]}"


def command(pid: int) -> list[str]:
    """Return the command line of a live process; empty if it has ended (a zombie has ended)."""
    try:
        line = os.fsdecode((_PROC / str(pid) / "cmdline").read_bytes())
    except OSError:
        return [] if _has_proc() else (_ps(pid, "command=") or "").split()
    return line.rstrip("\0").split("\0") if line else []


def exists(pid: int) -> bool:
    """Return whether the kernel still has the pid, as PostgreSQL checks it: a zombie exists."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def working_in(directory: Path, account: SystemAccount) -> list[int]:
    """Return the pids of the account's processes that work in a directory. A server's processes all work in its data.

    The check runs as the account, because root in a container may not read this. Empty if the system does not say.
    """
    script = 'for p in /proc/[0-9]*; do [ "$p/cwd" -ef "$0" ] && echo "${p#/proc/}"; done'
    return sorted(map(int, account.run(["/bin/sh", "-c", script, str(directory)]).stdout.split()))


def _has_proc() -> bool:
    return (_PROC / "self/stat").exists()


def _ps(pid: int, column: str) -> str | None:
    answer = subprocess.run(
        ["/bin/ps", "-o", column, "-p", str(pid)], check=False, capture_output=True, text=True, errors="replace"
    )
    return answer.stdout.strip() or None
