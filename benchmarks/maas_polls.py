"""The cost of a poll of MAAS for machines of real size: ``python benchmarks/maas_polls.py [MACHINES]...``.

For 100, 1,000 and 10,000 machines that are all being deployed, against a simulated region whose machines are 18 kB each
and cost it 0.44 ms each to list, prints for one poll of all of them:

- ``whole listing``: as Shipyard polled before, by name up to some 850 machines, beyond that all machines of the region;
- ``idle``: the mean of polls in which nothing changes;
- ``one in a hundred``: a poll in which that many machines became ``Deployed``;
- ``first``: the first poll of a process;
- ``conditions``: all machines in one answer, as drift and a phase whose time is over need them.

Bytes, machines and requests are counted by the region. Its time is what the machines of its answers cost. Memory is the
peak of the polling process, another one for each way. The last line is a deployment of 200 machines from ``Ready`` to
``Deployed``, polled every 30 s: MAAS shows each machine before and after it is started and when it has ended, and in
each poll some that did not change.

Exits 1 if an idle poll takes more than 1 MB, 1 s of the region or 20 requests, or its process more than 250 MB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.maas.provisioner import MaasProvisioner
from shipyard_api.adapters.maas.translate import MachineOptions, by_hostname
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.provisioner import JobId, Marker, Operation, Work

SIZES = (100, 1_000, 10_000)
MOST_NAMES = 850  # machines that were polled by name
IDLE = 3  # polls
SECONDS_A_MACHINE = 0.00044
KEY = "consumer:token:secret"
MOST_BYTES, MOST_SECONDS, MOST_REQUESTS, MOST_MEGABYTES = 1_000_000, 1.0, 20, 250.0
COURSE, INTERVAL, DEPLOY = 200, 30.0, 1_200.0  # machines; seconds of the site


@dataclass(frozen=True)
class Cost:
    """What some requests cost the region."""

    requests: int
    machines: int
    sent: int
    seconds: float

    def a(self, polls: int) -> Cost:
        """Return the cost of one of so many polls."""
        return Cost(self.requests // polls, self.machines // polls, self.sent // polls, self.seconds / polls)


@dataclass
class Region:
    """A simulated MAAS in a process of its own."""

    url: str
    read: int = 0

    def cost(self) -> Cost:
        """Return the cost of the requests since the last call."""
        every = requests.get(f"{self.url}/simulator/requests", timeout=600).json()
        new, self.read = every[self.read :], len(every)
        total = {name: sum(one[name] for one in new) for name in ("machines", "sent", "cost")}
        return Cost(len(new), total["machines"], total["sent"], total["cost"])

    def put(self, names: Iterable[str], status: str) -> None:
        """Put machines into a status."""
        body = json.dumps([{"hostname": name, "status": status} for name in names])
        requests.post(f"{self.url}/simulator/machines", data=body, timeout=600).raise_for_status()


def names(count: int) -> list[str]:
    return [f"cab{at // 100:03}r{at % 100:02}" for at in range(count)]


@contextmanager
def region(count: int, status: str, deploy: float, scale: float) -> Any:
    """Run a region with machines in a status, whose deployments take so long; ``scale``: real seconds a second."""
    with tempfile.TemporaryDirectory() as folder:
        site, scenario = Path(folder, "site.yaml"), Path(folder, "scenario.yaml")
        site.write_text(json.dumps([{"hostname": name, "status": status} for name in names(count)]))
        traits = {"seconds_a_machine": SECONDS_A_MACHINE}
        durations = {"deploy_nodes": deploy, "deploy_timeout": 1e6}
        scenario.write_text(json.dumps({"durations": durations, "region": traits}))
        command = [sys.executable, "-m", "shipyard_simulators.maas", "--port", "0", "--site", str(site)]
        command += ["--scenario", str(scenario), "--time-scale", str(scale), "--api-key", KEY]
        ready = Path(folder, "ready.json")
        program = subprocess.Popen([*command, "--ready-file", str(ready)], stdout=subprocess.DEVNULL)
        try:
            yield Region(_address(program, ready))
        finally:
            program.terminate()
            program.wait(60)


def _address(program: subprocess.Popen[bytes], ready: Path) -> str:
    while program.poll() is None:
        if ready.exists() and (text := ready.read_text()):
            return str(json.loads(text)["url"])
        time.sleep(0.2)
    raise RuntimeError("the simulator did not start")


def provisioner(url: str) -> tuple[MaasClient, MaasProvisioner]:
    client = MaasClient(f"{url}/MAAS/api/2.0", api_key=KEY, read_timeout=600)
    return client, MaasProvisioner(client, lambda _: Inventory(), options=MachineOptions())


def work(count: int) -> Work:
    return Work(Operation.DEPLOY_NODES, "revision:1", tuple(map(NodeName, names(count))))


def poll(url: str, count: int, way: str) -> None:
    """Poll as a worker does, a line of standard input each; the answer is its peak memory in MB."""
    client, maas = provisioner(url)
    asked, job = work(count), JobId("bench")
    print("ready", flush=True)
    for _ in sys.stdin:
        if way == "new":
            maas.report(job, asked)
        elif way == "conditions":
            maas.conditions()
        else:
            client.tags()
            by_hostname(client.machines(names(count)) if count <= MOST_NAMES else _whole(client))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)


def _whole(client: MaasClient) -> list[Any]:
    """Return all machines, parsed at once."""

    def parse(pieces: Iterable[bytes]) -> Any:
        return json.loads(b"".join(pieces))

    machines: list[Any] = client._signed("GET", "machines/", parse=parse).parsed
    return machines


class Poller:
    """A process that polls."""

    def __init__(self, url: str, count: int, way: str) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--poll", url, str(count), way]
        self._program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._program.stdin
        assert self._program.stdout
        self._input, self._output = self._program.stdin, self._program.stdout
        self._output.readline()

    def poll(self) -> float:
        """Poll once, and return the peak memory of the process in MB."""
        self._input.write("poll\n")
        self._input.flush()
        return float(self._output.readline())

    def close(self) -> None:
        self._input.close()
        self._program.wait(60)


def compare(count: int) -> bool:
    """Print the cost of polls of so many machines, and return whether the bounds hold."""
    with region(count, "Deploying", 1e6, 1.0) as peer:
        provisioner(peer.url)[1].submit(Marker("bench"), work(count))
        peer.cost()
        old = Poller(peer.url, count, "old")
        before, megabytes = (old.poll(), peer.cost())[::-1]
        old.close()
        show(count, "whole listing", before, megabytes)
        new = Poller(peer.url, count, "new")
        peak = new.poll()
        show(count, "first", peer.cost(), peak, before)
        for _ in range(IDLE):
            peak = new.poll()
        idle = peer.cost().a(IDLE)
        show(count, "idle", idle, peak, before)
        peer.put(names(count)[::100], "Deployed")
        peak = new.poll()
        show(count, "one in a hundred", peer.cost(), peak, before)
        new.close()
        every = Poller(peer.url, count, "conditions")
        megabytes = every.poll()
        every.close()
        show(count, "conditions", peer.cost(), megabytes, before)
    bounds = (MOST_BYTES, MOST_SECONDS, MOST_REQUESTS, MOST_MEGABYTES)
    return all(seen <= most for seen, most in zip((idle.sent, idle.seconds, idle.requests, peak), bounds, strict=True))


def course() -> None:
    """Print the mean cost of a poll over a whole deployment."""
    scale = 0.02
    with region(COURSE, "Ready", DEPLOY, scale) as peer:
        maas = provisioner(peer.url)[1]
        job = maas.submit(Marker("bench"), work(COURSE))
        polls, left = 0, set(names(COURSE))
        while left:
            time.sleep(INTERVAL * scale)
            report = maas.report(job, Work(Operation.DEPLOY_NODES, "revision:1", tuple(map(NodeName, sorted(left)))))
            left -= report.succeeded
            polls += 1
        cost = peer.cost()
    each, sent = cost.machines / COURSE, cost.sent / polls / 1e6
    print(f"a deployment of {COURSE} machines: {polls} polls of {sent:.2f} MB; each machine was shown {each:.1f} times")


def show(count: int, what: str, cost: Cost, megabytes: float, before: Cost | None = None) -> None:
    ratio = f"{before.sent / cost.sent:8,.1f}" if before else f"{1:8}"
    print(
        f"{count:>8,} {what:<18}{cost.sent / 1e6:>10.3f} MB{ratio} x fewer"
        f"{cost.requests:>5} requests{cost.machines:>7,} machines{cost.seconds:>8.3f} s{megabytes:>7.0f} MB of memory"
    )


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--poll"]:
        poll(arguments[1], int(arguments[2]), arguments[3])
        return 0
    held = [compare(count) for count in map(int, arguments or map(str, SIZES))]
    course()
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
