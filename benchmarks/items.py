"""Work items through the real queue: ``python benchmarks/items.py [--items 4000]``.

Workers are processes on a durable embedded Postgres; the only step of the action fans out into items.

1. **Overhead.** Each item is one effect on 50 targets that does nothing. Reported are milliseconds per item, as wall
   time and as CPU time of the worker, and the worker's peak memory, for one worker and for two.
2. **Slow peer.** The effect of each item takes 200 ms, in which its thread waits. Reported is how much faster two
   workers of eight threads are than one.

Exits 1 if an item takes more than ``MOST_OF_PHASE`` times eight bare transactions on the same Postgres and a fixed loop
of Python (``reference``), or a worker needs more than 250 MB.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Never
from uuid import uuid4

import installation
import reference

from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, StepId
from shipyard_api.domain.items import EndedItem, ItemId, NewItem
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.step import Act, Done, Folded, Gather, ItemKind, Json, PeerFailure, Step
from shipyard_api.workflow.turn import Engine

ROOT = Path(__file__).resolve().parents[1]
MOST_OF_PHASE = 2.0
MOST_MEGABYTES = 250.0
EFFECTS = 50
STEP = StepId("benchmark.fan_out")


@dataclass(frozen=True)
class ItemState:
    """``done``: the effect has been brought about."""

    wait: float
    done: bool = False

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"v": 1, "wait": self.wait, "done": self.done}


@dataclass(frozen=True)
class NoOp:
    """Fifty effects that do nothing, in ``wait`` seconds."""

    wait: float

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"wait": self.wait}


@dataclass(frozen=True)
class Item(ItemKind[ItemState, Never, NoOp, int]):
    """One effect on 50 targets."""

    def begin(self, task: Json) -> ItemState:
        """Return the first state."""
        return ItemState(task["wait"])

    def load_state(self, stored: Json) -> ItemState:
        """Return the state from its stored form."""
        return ItemState(stored["wait"], stored["done"])

    def load_effect(self, stored: Json) -> NoOp:
        """Return the effect."""
        return NoOp(stored["wait"])

    def decide(self, state: ItemState, now: datetime) -> Act[NoOp] | Done:
        """Act once."""
        return Done() if state.done else Act(NoOp(state.wait), now + timedelta(minutes=5))

    def perform(self, effect: NoOp, marker: Marker) -> int:
        """Do nothing, 50 times."""
        time.sleep(effect.wait)
        return sum(1 for _ in range(EFFECTS))

    def fold(self, state: ItemState, asked: NoOp, report: int | PeerFailure, now: datetime) -> Folded[ItemState]:
        """Be done."""
        return Folded(replace(state, done=True))


@dataclass(frozen=True)
class FanOutState:
    """``open`` is None until the items are created."""

    items: int
    wait: float
    open: int | None = None

    def to_json(self) -> Json:
        """Return the stored form."""
        return {"v": 1, "items": self.items, "wait": self.wait, "open": self.open}


@dataclass(frozen=True)
class FanOut(Step[FanOutState, Never, Never, Never]):
    """Creates all items, and waits for them."""

    id: StepId = STEP
    always: bool = False
    item_kind: Item = Item()

    def begin(self, inputs: Json) -> FanOutState:
        """Return the first state."""
        return FanOutState(inputs["items"], inputs["wait"])

    def load_state(self, stored: Json) -> FanOutState:
        """Return the state from its stored form."""
        return FanOutState(stored["items"], stored["wait"], stored["open"])

    def decide(self, state: FanOutState, now: datetime) -> Gather | Done:
        """Wait until no item is open."""
        return Done() if state.open == 0 else Gather()

    def fold(self, state: FanOutState, asked: Never, report: PeerFailure, now: datetime) -> Folded[FanOutState]:
        """Never called: the step asks nothing."""
        raise AssertionError(report)

    def gather(self, state: FanOutState, ended: tuple[EndedItem, ...], now: datetime) -> Folded[FanOutState]:
        """Create the items, then count those that end."""
        if state.open is not None:
            return Folded(replace(state, open=state.open - len(ended)))
        items = tuple(NewItem(ItemId(f"item-{number:05}"), {"wait": state.wait}) for number in range(state.items))
        return Folded(replace(state, open=state.items), items=items)


DEFINITIONS = {ActionName("test_site"): Definition(ActionName("test_site"), fixed(FanOut()))}


def work(url: str) -> int:
    """Be a worker, until a signal asks to stop."""
    database = connect(url, pool_size=10)
    store = Store(database, ProcrastinateWakeup())
    engine = Engine(
        store,
        DEFINITIONS,
        DatabaseClock(database, ProcrastinateWakeup()),
        settle=20.0,
        worker=str(os.getpid()),
    )
    return TurnWorker(
        url, engine.run, engine.items.run, lambda: engine.sweep(grace=10.0), WorkerOptions(poll_seconds=0.1)
    ).run()


@dataclass(frozen=True)
class Result:
    """``seconds`` from the first worker's start of the step to its end; ``cpu``: seconds of all workers."""

    items: int
    seconds: float
    cpu: float
    megabytes: float

    @property
    def wall_milliseconds(self) -> float:
        """Wall time per item."""
        return 1000 * self.seconds / self.items

    @property
    def cpu_milliseconds(self) -> float:
        """CPU time of the workers per item."""
        return 1000 * self.cpu / self.items


def measure(url: str, workers: int, items: int, wait: float) -> Result:
    """Run one action with so many items on so many workers."""
    database = connect(url, pool_size=2)
    store = Store(database, ProcrastinateWakeup())
    processes = [subprocess.Popen([sys.executable, __file__, "--worker", url]) for _ in range(workers)]
    try:
        time.sleep(4)  # the workers import and connect meanwhile: only the step is measured
        before = sum(cpu_seconds(process.pid) for process in processes)
        action = ActionId(uuid4().hex[:26].upper())
        inputs = {"v": 1, "items": items, "wait": wait}
        with store.begin() as tx:
            tx.actions.create(
                NewAction(
                    action,
                    ActionName("test_site"),
                    {},
                    "benchmark",
                    str(uuid4()),
                    None,
                    None,
                    inputs,
                    [STEP],
                    exclusive=False,
                )
            )
        while True:
            time.sleep(0.2)
            with store.begin() as tx:
                record = tx.actions.get(action)
                steps = tx.actions.steps([action])[action]
            assert record is not None
            if record.state in ENDED:
                break
        assert record.state.value == "success", record
        (step,) = steps
        assert step.started_at is not None
        assert step.ended_at is not None
        cpu = sum(cpu_seconds(process.pid) for process in processes) - before
        peak = max(peak_megabytes(process.pid) for process in processes)
        return Result(items, (step.ended_at - step.started_at).total_seconds(), cpu, peak)
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(30)
        database.dispose()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    """Return the peak resident memory of a process."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--worker", metavar="URL", help="be a worker on this database (used by the benchmark itself)")
    options = parser.parse_args(arguments)
    if options.worker:
        return work(options.worker)
    with installation.address() as url:
        database = connect(url, pool_size=1)
        beside = reference.Phase(database)
        before = beside()
        one = measure(url, 1, options.items, 0.0)
        ratio = one.wall_milliseconds / 1000 / ((before + beside()) / 2)
        database.dispose()
        two = measure(url, 2, options.items, 0.0)
        waiting = [measure(url, workers, options.items // 10, 0.2) for workers in (1, 2)]
    print(f"{options.items} items of {EFFECTS} no-op effects")
    for workers, result in ((1, one), (2, two)):
        print(
            f"  {workers} worker{'s' if workers > 1 else ' '}: {result.wall_milliseconds:6.2f} ms an item, "
            f"{result.cpu_milliseconds:6.2f} ms of CPU, peak {result.megabytes:.0f} MB"
        )
    print(f"  one worker: {ratio:.2f} times the reference an item (at most {MOST_OF_PHASE:g})")
    print(f"{options.items // 10} items whose effect takes 200 ms")
    for workers, result in zip((1, 2), waiting, strict=True):
        print(f"  {workers} worker{'s' if workers > 1 else ' '}: {result.seconds:6.2f} s")
    print(f"  two workers are {waiting[0].seconds / waiting[1].seconds:.2f} times as fast")
    return int(ratio > MOST_OF_PHASE or max(one.megabytes, two.megabytes) > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
