"""What the jobs of a site ask of Ironic in an interval: ``python benchmarks/polls.py [--machines 10000]``.

A simulated Ironic in this process, and jobs on one node each, as the servers of ``redeploy_server`` have them: each is
polled every 30 s, evenly spread over the interval. Counted over three intervals, in the clock of the benchmark, are
requests and the bytes of their answers. "Alone" is without sharing: every poll lists all nodes, so many jobs cost as
many times as much. Then a poll of one job of many nodes, with and without the notes that Ironic keeps of a deployment;
they are read where steps were sent.

Counts do not depend on the machine. Exits 1 if jobs cost more than 20 requests a poll of one of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.plugin import SHARED_SECONDS
from shipyard_api.adapters.ironic.provisioner import IronicProvisioner
from shipyard_api.domain.deploy_steps.templates import DeployStep, Interface
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.ports.provisioner import JobId, Operation, Work
from shipyard_simulators.ironic.simulator import IronicSimulator, running
from shipyard_simulators.ironic.site import SiteNode

INTERVAL, INTERVALS = 30.0, 3
JOBS = (1, 8, 32, 128)
MOST_REQUESTS = 20.0
# What Ironic 39 keeps of a node with an agent while it deploys it, about 2 kB.
NOTES = {"deploy_steps": [{"interface": "deploy", "step": f"step{at}", "args": {}, "priority": at} for at in range(25)]}


class Clock:
    """The time of the benchmark."""

    at = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


def polls(simulator: IronicSimulator, jobs: int, shared: float) -> tuple[float, float]:
    """Return the requests and the bytes of an interval."""
    clock = Clock()
    client = IronicClient(simulator.url)
    provisioner = IronicProvisioner(client, lambda _: Inventory.of([]), shared_seconds=shared, now=clock.now)
    before = len(simulator.events())
    for _ in range(INTERVALS):
        for at in range(jobs):
            provisioner.report(JobId(f"job{at}"), Work(Operation.DEPLOY_NODES, "revision:1", (name(at),)))
            clock.at += timedelta(seconds=INTERVAL / jobs)
    client.close()
    return per(simulator, before, INTERVALS)


def per(simulator: IronicSimulator, before: int, count: int) -> tuple[float, float]:
    asked = [one for one in simulator.events()[before:] if str(one.get("path", "")).startswith("/v1/nodes")]
    return len(asked) / count, sum(one["sent"] for one in asked) / count


def one_job(simulator: IronicSimulator, nodes: int, *, steps: bool) -> tuple[float, float]:
    """Return the requests and the bytes of one poll of a job of many nodes."""
    client = IronicClient(simulator.url)
    names = tuple(map(name, range(nodes)))
    asked = {node: [DeployStep(Interface.BIOS, "x", {}, 90)] for node in names} if steps else {}
    before = len(simulator.events())
    work = Work(Operation.DEPLOY_NODES, "revision:1", names, steps=asked)
    provisioner = IronicProvisioner(client, lambda _: Inventory.of([]), shared_seconds=SHARED_SECONDS, now=Clock().now)
    provisioner.report(JobId("job0"), work)
    client.close()
    return per(simulator, before, 1)


def name(at: int) -> NodeName:
    return NodeName(f"n{at:06}")


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=10_000)
    options = parser.parse_args(arguments)
    most = 0.0
    with running(site=[SiteNode(name(at)) for at in range(options.machines)]) as simulator:
        for at in range(options.machines):
            simulator.put(
                name(at),
                provision_state="wait call-back",
                extra={"shipyard": {"marker": f"job{at}", "operation": "deploy_nodes", "claim": f"job{at}"}},
                instance_uuid=claimed(at),
                driver_internal_info=NOTES,
            )
        print(f"{options.machines:,} nodes; jobs of one node each, every {INTERVAL:g} s; per interval")
        print(f"{'jobs':>6}{'alone: requests':>18}{'MB':>8}{'shared: requests':>19}{'MB':>8}")
        for jobs in JOBS:
            alone, shared = polls(simulator, jobs, 0.0) if jobs == 1 else None, polls(simulator, jobs, SHARED_SECONDS)
            most = max(most, shared[0] / jobs)
            cells = (f"{alone[0]:>18.1f}", f"{alone[1] / 1e6:>8.1f}") if alone else (f"{'':>18}", f"{'':>8}")
            print(f"{jobs:>6}{''.join(cells)}{shared[0]:>19.1f}{shared[1] / 1e6:>8.2f}", flush=True)
        for steps in (True, False):
            requests, size = one_job(simulator, 500, steps=steps)
            what = "with" if steps else "without"
            print(
                f"a poll of one job of 500 nodes {what} steps: {requests:g} requests, {size / 1e6:.1f} MB", flush=True
            )
    return int(most > MOST_REQUESTS)


def claimed(at: int) -> str:
    from shipyard_api.adapters.ironic.translate import claim

    return claim(f"job{at}", name(at))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
