"""A disk that is full in the middle of a deployment, the database's or that of the host of API and worker.

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
import requests
import yaml

from shipyard_simulators.embedded_postgres.server import RunningPostgres, temporary
from tests.crash.test_take_over import Journal, design, judge, migrate
from tests.factories import document
from tests.stand import DESIGN, Stand
from tests.waiting import PATIENCE, until

# Set by the one who has made the mounts of this process its own.
MISSING = "" if os.environ.get("SHIPYARD_OWN_MOUNTS") else "a small disk needs mounts of its own: run .ci/real_hosts.py"

pytestmark = [pytest.mark.crash, pytest.mark.skipif(bool(MISSING), reason=MISSING)]

GROUPS = 12
MEGABYTES, HOST_MEGABYTES = 120, 2
FULL = "No space left on device"
DROPPED = "log lines could not be written"
FURTHER = yaml.safe_dump(document("drydock/Region/v1", "further", {"text": "x" * 200_000})).encode()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Mount a small disk."""
    with TemporaryDirectory() as disk:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=1777", "none", disk], check=True)
        try:
            yield Path(disk)
        finally:
            subprocess.run(["umount", "--lazy", disk], check=True)


@contextmanager
def on_small_disk() -> Iterator[tuple[Path, RunningPostgres]]:
    """Mount a small disk, and run a server there."""
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(MEGABYTES))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(disk))
            server = stack.enter_context(temporary({"min_wal_size": "32MB", "max_wal_size": "48MB"}))
        yield disk, server


def fill(file: Path) -> None:
    """Leave no room on the disk of a file, nor behind its end."""
    with file.open("ab", buffering=0) as target:
        for size in (1 << 20, 1 << 12, 1):
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

            until(lambda: refusal() == (503, "Database full"))
            assert stand.action(action)["dag_status"] == "running"
            until(lambda: FULL in stand.log("worker"))
            (disk / "filler").unlink()
            assert stand.wait(action)["verdict"] == "success"
            judge(stand, GROUPS)


def test_a_full_disk_of_the_host_stops_nothing(tmp_path: Path) -> None:
    """API and worker serve, work and start with it; lines of their logs are missing, and the logs say how many."""
    with small_disk(HOST_MEGABYTES) as disk, temporary() as server:
        migrate(server.url)
        with Stand(tmp_path, server.url, scale=0.01, disk=disk) as stand:
            stand.commit(design(GROUPS))
            stand.start("worker")
            action, journal = stand.deploy_site(), Journal(server.url)
            journal.await_progress(6)
            for file in ("filler", "api.log", "worker.log"):
                fill(disk / file)
            journal.await_progress(6)
            for name in ("worker", "api"):
                stand.kill(name)
                stand.start(name)
            journal.await_work_of(stand.processes["worker"].pid, 6)
            stand._wait_for_api()
            load = "/configdocs/further?buffermode=append"
            answer = stand.request("POST", load, data=FURTHER, headers={"Content-Type": DESIGN})
            assert answer.status_code == 201, answer.text
            metrics = requests.get(f"{stand.url}/metrics", headers={"X-Auth-Token": stand.token}, timeout=PATIENCE)
            assert metrics.status_code == 200
            assert DROPPED not in stand.log("worker")
            (disk / "filler").unlink()
            assert stand.wait(action)["verdict"] == "success"
            judge(stand, GROUPS)
            # The first may have ended before there was room: a worker without work has nothing to log.
            stand.deploy_site()
            until(lambda: DROPPED in stand.log("worker"))
            assert FULL in stand.log("worker")
