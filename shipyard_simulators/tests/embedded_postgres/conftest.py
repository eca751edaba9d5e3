"""Real data directories; their names hold everything that a shell could misread."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipyard_simulators.embedded_postgres.server import PostgresError, start, stop_orphan
from shipyard_simulators.tests.embedded_postgres.servers import QUICK, remember

# Forty megabytes a test are quicker in memory, where there is enough of it.
_MEMORY = Path("/dev/shm")
ROOM = _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2**30 and os.access(_MEMORY, os.W_OK) else None


@pytest.fixture
def parent() -> Iterator[Path]:
    """A directory that the server's account may pass; pytest's own are closed to other accounts."""
    directory = Path(tempfile.mkdtemp(prefix="shipyard's test ", dir=ROOM))
    directory.chmod(0o755)
    yield directory
    for data in directory.glob("**/PG_VERSION"):
        with contextlib.suppress(PostgresError):
            stop_orphan(data.parent)
    shutil.rmtree(directory)


@pytest.fixture
def data(parent: Path) -> Path:
    """Where the data goes: a path with everything in it that a shell could misread.

    Not so where the programs must be copied beside the data: PostgreSQL's own do not run from such a path.
    """
    copied = os.geteuid() == 0 and not _in_reach(Path(sys.prefix))
    return parent / ("site" if copied else 'site "$HOME"') / "postgres"


def _in_reach(path: Path) -> bool:
    return all(directory.stat().st_mode & 0o001 for directory in (path, *path.parents))


@pytest.fixture(scope="session")
def pattern() -> Iterator[Path]:
    """Data made once, because making it is the slow part."""
    directory = Path(tempfile.mkdtemp(prefix="shipyard-test-", dir=ROOM))
    directory.chmod(0o755)
    with start(directory / "postgres", settings=QUICK) as postgres:
        remember(postgres, "n1")
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def used(data: Path, pattern: Path) -> Path:
    """A data directory with a past: the node n1 is remembered in it."""
    subprocess.run(["cp", "-a", str(pattern), str(data.parent)], check=True)
    return data
