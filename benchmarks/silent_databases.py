"""What silent database servers cost healthy sites: ``python benchmarks/silent_databases.py [SITES [SILENT ...]]``.

One pool of workers for 500 sites, of which 0, 33, 100 and 400 have a database whose server accepts connections and says
nothing. Three healthy sites have work all the time, ten others get some in turn. Shown is how long a site with new work
waits for its worker, and that of the three none loses it. Postgres and all processes run on this machine.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from many_sites import POSTGRES, databases, opened, show

from shipyard_simulators.embedded_postgres import server

SITES, SILENT = 500, (0, 33, 100, 400)
STEADY, TAKEN_OVER = 3, 10
# A worker ends after a minute without work.
WATCHED_SECONDS = 90.0
WORK = """
INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at)
VALUES ('none', 'none', '{}', now() + interval '1 day')
"""
WORKERS = "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - interval '30 s'"
FILE = """
[database]
url = {url}
[drydock]
url = http://127.0.0.1:9
design_url = http://127.0.0.1:9/{{revision}}
"""


@contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and say nothing; give the port."""
    held = []
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:

        def accept() -> None:
            while True:
                try:
                    held.append(listener.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    for connection in held:
        connection.close()


@contextmanager
def pool(directory: Path) -> Iterator[None]:
    """Run the pool of workers of a directory of sites."""
    environ = {"PATH": os.environ["PATH"], "SHIPYARD_CONFIG": os.devnull, "SHIPYARD_LOG_LEVEL": "ERROR"}
    process = subprocess.Popen(
        [sys.executable, "-m", "shipyard_api.programs.worker", "--sites", str(directory)],
        env=environ,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def has_worker(url: str) -> bool:
    with opened(url) as connection, connection.cursor() as cursor:
        cursor.execute(WORKERS)
        return bool(cursor.fetchone()[0])


def work(url: str) -> None:
    with opened(url) as connection, connection.cursor() as cursor:
        cursor.execute(WORK)


def waited(url: str) -> float:
    """Return the seconds until a site with work has a worker."""
    began = time.monotonic()
    while not has_worker(url):
        time.sleep(0.1)
    return time.monotonic() - began


def play(urls: Sequence[str], sites: int, silent: int, port: int) -> None:
    """Show what so many silent ones of the sites cost."""
    healthy = urls[: sites - silent]
    for url in healthy:
        with opened(url) as connection, connection.cursor() as cursor:
            cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")
    steady, others = healthy[:STEADY], random.sample(healthy[STEADY:], TAKEN_OVER)
    for url in steady:
        work(url)
    with tempfile.TemporaryDirectory() as made:
        for number in range(sites):
            url = urls[number] if number < len(healthy) else f"postgresql://nobody@127.0.0.1:{port}/silent_{number}"
            Path(made, f"site-{number}.conf").write_text(FILE.format(url=url))
        with pool(Path(made)):
            began = time.monotonic()
            first = [waited(url) for url in steady]
            took = []
            for url in others:
                work(url)
                took.append(waited(url))
            while time.monotonic() - began < WATCHED_SECONDS:
                time.sleep(1)
                lost = [url for url in steady if not has_worker(url)]
                if lost:
                    show(f"{silent} silent: healthy sites that lost their worker", str(len(lost)))
                    break
    show(
        f"{silent} of {sites} silent: start; take-over, median and longest",
        f"{max(first):.1f} s; {sorted(took)[len(took) // 2]:.1f}, {max(took):.1f} s",
    )


def main(sites: int, counts: Sequence[int]) -> int:
    with server.temporary(POSTGRES) as postgres, silent_server() as port:
        urls = databases(postgres.url, sites - min(counts))
        for silent in counts:
            play(urls, sites, silent, port)
    return 0


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    raise SystemExit(main(given[0] if given else SITES, given[1:] or SILENT))
