"""The directory of a server's metrics, and the removal of those that killed servers left.

A server and its processes hold a lock on their directory, which the kernel releases when the last of them has ended.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "shipyard-metrics-"
_MEMORY = "/dev/shm"  # noqa: S108  # each server makes a directory of its own there


def memory_directory() -> str | None:
    """Return a directory whose files are in memory; None, as for ``tempfile``: there is none.

    A process that writes to a mapped file, as those of metrics are, is killed when the file's disk is full.
    """
    return _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None


def own_directory(parent: str | None) -> str:
    """Return a new directory, locked while this process or a child that it forked lives; remove unlocked ones."""
    parent = parent or tempfile.gettempdir()
    for former in Path(parent).glob(f"{_PREFIX}*"):
        _remove_if_left(former)
    while True:
        directory = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        # Another server that starts now may take the directory for a left one until the lock is held.
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if Path(directory).exists():
                return directory
            os.close(descriptor)


def _remove_if_left(directory: Path) -> None:
    """Remove a directory of this account that no server holds."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return  # it is another account's, or was removed meanwhile
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
    except BlockingIOError:
        pass  # its server runs
    finally:
        os.close(descriptor)
