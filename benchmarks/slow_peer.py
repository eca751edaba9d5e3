"""The pace of an action beside a peer that does not answer: ``python benchmarks/slow_peer.py [--items 600]``.

One worker process with the defaults (8 threads) on a durable embedded Postgres. Eight work items, then forty, send a
request over HTTP to a server that accepts connections and never answers; their time-out is 120 s. Beside them runs
an action of work items that do nothing, as in ``items.py``. Each round measures that action alone, and beside the
requests from their beginning on, so that both have the same load of the machine.

Reported are the milliseconds an item and the ratio, the median of the rounds. Exits 1 if eight requests change the
pace by more than a tenth.
"""

from __future__ import annotations

import argparse
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import installation
import items
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, Control
from shipyard_api.http import HttpClient
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.turn import Engine

ROUNDS, HANGING, TIMEOUT = 3, (8, 40), 120.0
MOST_SLOWER = 1.1


@dataclass(frozen=True)
class HangingItem(items.Item):
    """One request to a server that does not answer."""

    client: HttpClient

    def perform(self, effect: items.NoOp, marker: Marker) -> int:
        """Send the request."""
        return self.client.get("").status


def work(url: str, silent: str) -> int:
    """Be a worker, until a signal asks to stop."""
    database = connect(url, pool_size=8)
    store = Store(database, ProcrastinateWakeup())
    client = HttpClient(silent, system="Silent", read_timeout=TIMEOUT, total_timeout=TIMEOUT)
    definitions = {
        ActionName("test_site"): Definition(ActionName("test_site"), fixed(items.FanOut())),
        ActionName("node_operation"): Definition(
            ActionName("node_operation"), fixed(items.FanOut(item_kind=HangingItem(client)))
        ),
    }
    engine = Engine(store, definitions, DatabaseClock(database, ProcrastinateWakeup()), settle=6.0, worker="one")
    return TurnWorker(
        url,
        engine.run,
        engine.items.run,
        lambda: engine.sweep(grace=10.0),
        WorkerOptions(),
        waiting=engine.bulkhead.waiting,
    ).run()


@contextmanager
def silence() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def create(store: Store, name: ActionName, count: int) -> ActionId:
    action = ActionId(uuid4().hex[:26].upper())
    with store.begin() as tx:
        tx.actions.create(
            NewAction(
                action,
                name,
                {},
                "benchmark",
                str(uuid4()),
                None,
                None,
                {"v": 1, "items": count, "wait": 0.0},
                [items.STEP],
                exclusive=False,
            )
        )
    return action


def pace(store: Store, count: int) -> float:
    """Run an action with so many items that do nothing; return the milliseconds an item, from its creation on."""
    began = time.monotonic()
    action = create(store, ActionName("test_site"), count)
    while True:
        time.sleep(0.05)
        with store.begin() as tx:
            record = tx.actions.get(action)
        assert record is not None
        if record.state in ENDED:
            assert record.state.value == "success", record
            return 1000 * (time.monotonic() - began) / count


@contextmanager
def worker(url: str, silent: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, __file__, "--worker", url, "--silent", silent])
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGKILL)  # the requests that hang would keep it for their time-out
        process.wait(30)


def round_of(url: str, silent: str, hanging: int, count: int) -> tuple[float, float, int]:
    """Return the pace alone and beside the requests, and how many of these hung at the end."""
    database = connect(url, pool_size=2)
    store = Store(database, ProcrastinateWakeup())
    with worker(url, silent) as pid:
        pace(store, 50)
        alone = pace(store, count)
        sick = create(store, ActionName("node_operation"), hanging)
        time.sleep(2)  # until they hang
        beside = pace(store, count)
        hung = sum(1 for _ in connections(pid, int(silent.rpartition(":")[2])))
    with store.begin() as tx:
        tx.actions.control(sick, Control.STOP, "benchmark")
    with database.begin() as connection:
        connection.execute(sa.text("TRUNCATE actions, procrastinate_jobs, procrastinate_workers CASCADE"))
    database.dispose()
    return alone, beside, hung


def connections(pid: int, port: int) -> Iterator[str]:
    """Yield the established connections of a process to a port of this host (Linux)."""
    with open(f"/proc/{pid}/net/tcp") as table:  # noqa: PTH123  # no file on a disk
        for line in table.read().splitlines()[1:]:
            _, _, remote, state, *_ = line.split()
            if state == "01" and int(remote.rpartition(":")[2], 16) == port:
                yield remote


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--worker", metavar="URL", help="be a worker on this database (used by the benchmark itself)")
    parser.add_argument("--silent", metavar="URL", default="")
    options = parser.parse_args(arguments)
    if options.worker:
        return work(options.worker, options.silent)
    exceeded = False
    with installation.address() as url, silence() as silent:
        print(f"an action of {options.items} work items beside requests that hang; one worker of 8 threads")
        for hanging in HANGING:
            rounds = [round_of(url, silent, hanging, options.items) for _ in range(ROUNDS)]
            ratios = sorted(beside / alone for alone, beside, _ in rounds)
            ratio = statistics.median(ratios)
            alone, beside = (statistics.median(one[at] for one in rounds) for at in (0, 1))
            print(
                f"  {hanging:>2} requests ({min(one[2] for one in rounds)} hung): {alone:.1f} ms an item alone, "
                f"{beside:.1f} ms beside them, ratio {ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                flush=True,
            )
            exceeded |= hanging == HANGING[0] and ratio > MOST_SLOWER
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
