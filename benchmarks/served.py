"""An application under gunicorn, as the API is shipped, with the memory and processor time of its workers."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORKERS, THREADS = 2, 8


@contextlib.contextmanager
def gunicorn(
    application: str, url: str, *, chdir: Path, root: Path = ROOT, workers: int = WORKERS
) -> Iterator[tuple[int, int]]:
    """Serve an application as the API is shipped; yields its port and the id of its process."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")},
            "PYTHONPATH": str(root),
            "DATABASE_URL": url,
            "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
            "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
            "SHIPYARD_API_WORKERS": str(workers),
            "SHIPYARD_API_THREADS": str(THREADS),
            # Its caller writes as often as it can.
            "SHIPYARD_API_WRITES_PER_MINUTE": "0",
            "SHIPYARD_LOG_AUDIT_FILE": os.devnull,
            "SHIPYARD_BIND": f"fd://{listening.fileno()}",
        }
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "-c",
            str(root / "etc" / "gunicorn.conf.py"),
            "--chdir",
            str(chdir),
        ]
        process = subprocess.Popen([*command, application], env=environ, cwd=root, pass_fds=[listening.fileno()])
        port = int(listening.getsockname()[1])
        try:
            _await(process, port)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(60)


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            if client.recv(12):
                time.sleep(1)  # the other worker
                return
        time.sleep(0.1)
    raise AssertionError("gunicorn did not come up")


def megabytes(master: int) -> list[float]:
    """Return what each worker of a gunicorn holds in memory, in MB (Linux)."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            if int(fields["PPid"]) == master:
                found.append(int(fields["VmRSS"].split()[0]) / 1024)
    return sorted(found)


def cpu_seconds(master: int) -> float:
    """Return the processor time of the workers of a gunicorn so far (Linux)."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == master:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
