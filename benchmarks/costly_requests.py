"""What one caller's plans and forecasts cost the others: ``python benchmarks/costly_requests.py [--seconds S]``.

``shipyard up`` serves a site with a task graph whose expressions are expensive to match. One caller asks for its
actions, alone and then beside a viewer who sends plans or forecasts from 20 connections. In each round one follows the
other, so that other work on the machine affects both alike.

Exits with 1 if the median of the rounds' ratios of p95 is above 3 (product, section 11), if nothing was refused, if a
refusal has no Retry-After, or if there is any other error.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from threading import Thread
from typing import Any

from http_load import Load, play, together
from served import ROOT

CALLERS, ROUNDS, MOST = 20, 5, 3.0
REFUSED = (429, 503)
V1 = "/api/v1.0"
GRAPH = [
    {"id": f"t{number:03}", "type": "shell", "role": "*", "requires": ["/(.*)*x/"], "parameters": {"cmd": "true"}}
    for number in range(300)
] + [{"id": "x", "type": "shell", "role": "*", "parameters": {"cmd": "true"}}]
FLOODS: dict[str, tuple[str, dict[str, Any]]] = {
    "plans": (f"{V1}/plans", {"name": "deploy_site"}),
    "forecasts": (f"{V1}/forecasts", {"name": "deploy_site", "runs": 10_000}),
}


@contextlib.contextmanager
def stack() -> Iterator[tuple[str, int, str]]:
    """Run ``shipyard up`` with a committed design and the graph; yields its database, its port and a token."""
    shipyard = str(Path(sys.executable).with_name("shipyard"))
    with tempfile.TemporaryDirectory(prefix="shipyard-benchmark-") as root:
        Path(root).chmod(0o711)
        ready = Path(root, "ready.json")
        command = [shipyard, "up", "--data-dir", str(Path(root, "data")), "--ready-file", str(ready)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            while not ready.exists() and process.poll() is None:
                time.sleep(0.1)
            found = json.loads(ready.read_text("utf-8"))
            environ = {**os.environ, "SHIPYARD_URL": found["url"], "SHIPYARD_TOKEN": found["token"]}
            design = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"
            load = ["create", "configdocs", "design", f"--filename={design}"]
            for words in (load, ["commit", "configdocs"]):
                subprocess.run([shipyard, *words], env=environ, check=True, capture_output=True)
            port = int(found["url"].rpartition(":")[2])
            code, _ = ask(port, found["token"], "PUT", "/api/v1/clusters/1/deployment_tasks/", GRAPH)
            assert code in (200, 400), code  # 400: this release refuses to match so much
            yield found["database_url"], port, found["token"]
        finally:
            process.terminate()
            process.wait(60)


def viewer(database: str) -> str:
    """Return the token of a viewer."""
    command = [str(Path(sys.executable).with_name("shipyard")), "token", "create", "--name", "viewer"]
    environ = {**os.environ, "DATABASE_URL": database}
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout.split()[-1]


def ask(port: int, token: str, method: str, path: str, body: Any) -> tuple[int, str | None]:
    """Return the status of an answer and its Retry-After."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        headers = {"X-Auth-Token": token, "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("Retry-After")
    finally:
        connection.close()


def flood(port: int, token: str, kind: str, stop: Event, found: multiprocessing.Queue[Counter[str]]) -> None:
    """Send one kind of request from all connections; a refused one comes again when its answer says so."""
    path, body = FLOODS[kind]
    counted: Counter[str] = Counter()

    def send() -> None:
        while not stop.is_set():
            code, pause = ask(port, token, "POST", path, body)
            counted[f"{code}{'' if code == 200 or pause else ' without Retry-After'}"] += 1
            if code in REFUSED:
                stop.wait(float(pause or 1))

    threads = [Thread(target=send) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.put(counted)


@contextlib.contextmanager
def flooded(port: int, token: str, kind: str, counted: Counter[str]) -> Iterator[None]:
    stop = multiprocessing.Event()
    found: multiprocessing.Queue[Counter[str]] = multiprocessing.Queue()
    process = multiprocessing.Process(target=flood, args=(port, token, kind, stop, found))
    process.start()
    try:
        yield
    finally:
        stop.set()
        counted.update(found.get(timeout=300))
        process.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each half of a round")
    seconds = parser.parse_args().seconds
    missed = []
    with stack() as (database, port, token):
        other = viewer(database)
        load = Load(port, token, f"{V1}/actions")
        for kind in FLOODS:
            ratios, alone, beside, counted = [], [], [], Counter[str]()
            for _ in range(ROUNDS):
                alone.append(play(load, 1, seconds=seconds))
                with flooded(port, other, kind, counted):
                    beside.append(play(load, 1, seconds=seconds))
                ratios.append(beside[-1].at(0.95) / alone[-1].at(0.95))
            ratio = statistics.median(ratios)
            print(
                f"GET actions beside {CALLERS} callers of {kind}: p95 {together(beside).at(0.95):.1f} ms, alone "
                f"{together(alone).at(0.95):.1f} ms, ratio {ratio:.1f} ({min(ratios):.1f} to "
                f"{max(ratios):.1f}); "
                f"answers {dict(sorted(counted.items()))}",
                flush=True,
            )
            if ratio > MOST:
                missed.append(f"{kind}: the p95 of others is {ratio:.1f} times as long, at most {MOST:.0f}")
            if not any(counted[str(code)] for code in REFUSED):
                missed.append(f"{kind}: nothing was refused")
            if unforeseen := counted.keys() - {"200", *map(str, REFUSED)}:
                missed.append(f"{kind}: answers {sorted(unforeseen)}")
    for line in missed:
        print(f"TOO MUCH: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
