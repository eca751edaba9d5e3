"""A database whose disk is full in the middle of a deployment: clear answers, nothing lost, and it goes on by itself.

``unshare --mount`` must have made the mounts of this process its own: see .ci/real_hosts.py.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from shipyard_simulators.embedded_postgres.server import RunningPostgres, temporary
from tests.crash.test_take_over import Journal, design, judge, migrate, wait_until
from tests.factories import document
from tests.stand import DESIGN, Stand

# Set by the one who has made the mounts of this process its own.
MISSING = "" if os.environ.get("SHIPYARD_OWN_MOUNTS") else "a small disk needs mounts of its own: run .ci/real_hosts.py"

pytestmark = [pytest.mark.crash, pytest.mark.skipif(bool(MISSING), reason=MISSING)]

GROUPS = 12
MEGABYTES = 120
PATIENCE = 300.0
FULL = "No space left on device"
FURTHER = yaml.safe_dump(document("drydock/Region/v1", "further", {"text": "x" * 200_000})).encode()


@contextmanager
def on_small_disk() -> Iterator[tuple[Path, RunningPostgres]]:
    """Mount a small disk, and run a server there."""
    with ExitStack() as stack:
        disk = stack.enter_context(TemporaryDirectory())
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=1777", "none", disk], check=True)
        stack.callback(subprocess.run, ["umount", "--lazy", disk], check=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", disk)
            server = stack.enter_context(temporary({"min_wal_size": "32MB", "max_wal_size": "48MB"}))
        yield Path(disk), server


def fill(file: Path) -> None:
    """Leave no room on the disk of a file."""
    with file.open("wb", buffering=0) as target:
        for size in (1 << 20, 1 << 12):
            try:
                while target.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue


def test_a_full_disk_of_the_database_loses_nothing(tmp_path: Path) -> None:
    """Reads go on, writes are refused with the reason, and the deployment ends once there is room, by Drydock's log."""
    with on_small_disk() as (disk, server):
        migrate(server.url)
        with Stand(tmp_path, server.url, scale=0.01) as stand:
            stand.commit(design(GROUPS))
            stand.start("worker")
            action, journal = stand.deploy_site(), Journal(server.url)
            journal.await_progress(6)
            fill(disk / "filler")

            def refusal() -> tuple[int, str]:
                load = "/configdocs/further?buffermode=append"
                answer = stand.request("POST", load, data=FURTHER, headers={"Content-Type": DESIGN})
                return answer.status_code, answer.json()["message"]

            wait_until(lambda: refusal() == (503, "Database full"))
            assert stand.action(action)["dag_status"] == "running"
            wait_until(lambda: FULL in stand.log("worker"))
            (disk / "filler").unlink()
            assert stand.wait(action, PATIENCE)["verdict"] == "success"
            judge(stand, GROUPS)
