"""A peer that hangs beside one that works: which threads each of them gets of one worker with its real queue."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.workflow.bulkhead import Bulkhead
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.turn import Engine
from tests.fan_out import STEP, FanOut, Peer, SampleItem
from tests.one_action import state_of
from tests.waiting import PATIENCE

THREADS, MOST = 4, 12
SICK, HEALTHY = ActionId("S" * 26), ActionId("H" * 26)


@dataclass
class HangingPeer(Peer):
    """Answers no submission before it is released. ``most``: how many waited at once."""

    released: threading.Event = field(default_factory=threading.Event)
    full: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0
    most: int = 0

    def submit(self, marker: str, target: str) -> str:
        with self.lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            if self.waiting >= MOST:
                self.full.set()
        assert self.released.wait(PATIENCE), "never released"
        with self.lock:
            self.waiting -= 1
            return super().submit(marker, target)


class SickItem(SampleItem):
    """Items of the peer that hangs: those of one sort call the same peers."""


def test_an_action_goes_on_beside_a_peer_that_hangs(database_url: str) -> None:
    """Also where more calls would hang than may wait."""
    hung = 40
    database = connect(database_url, pool_size=10)
    store = Store(database, ProcrastinateWakeup())
    sick, healthy = HangingPeer(), Peer(polls=0)
    definitions = {
        name: Definition(name, fixed(FanOut(kind)))
        for name, kind in (
            (ActionName("node_operation"), SickItem(sick)),
            (ActionName("test_site"), SampleItem(healthy)),
        )
    }
    clock = DatabaseClock(database, ProcrastinateWakeup())
    bulkhead = Bulkhead(clock.monotonic, patience=0.05, most=MOST)
    engine = Engine(store, definitions, clock, settle=0.4, worker="one", bulkhead=bulkhead)

    def create(action: ActionId, name: ActionName, targets: int) -> None:
        inputs: dict[str, Any] = {"v": 1, "waves": [[f"t{number}" for number in range(targets)]]}
        with store.begin() as tx:
            marker = str(uuid.uuid4())
            tx.actions.create(NewAction(action, name, {}, "ann", marker, None, None, inputs, [STEP], exclusive=False))

    seen: list[tuple[RunState, int]] = []

    def scene() -> None:
        """Begin the second action when the calls of the first hang; let them go when the second has ended."""
        sick.full.wait()
        create(HEALTHY, ActionName("test_site"), 20)
        while state_of(store, HEALTHY) not in ENDED:
            pause.wait(0.02)
        seen.append((state_of(store, HEALTHY), len(sick.log)))
        sick.released.set()
        while state_of(store, SICK) not in ENDED:
            pause.wait(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    pause = threading.Event()
    create(SICK, ActionName("node_operation"), hung)
    too_late = threading.Timer(60, lambda: os.kill(os.getpid(), signal.SIGTERM))
    too_late.start()
    options = WorkerOptions(concurrency=THREADS, poll_seconds=0.05, sweep_seconds=1, overdue_seconds=1.0)
    worker = TurnWorker(
        database_url,
        engine.run,
        engine.items.run,
        lambda: engine.sweep(grace=1.0),
        options,
        waiting=bulkhead.waiting,
        beside=[scene],
    )
    assert worker.run() == 0
    too_late.cancel()

    assert seen == [(RunState.SUCCESS, 0)]
    assert state_of(store, SICK) is RunState.SUCCESS
    assert sorted(target for _, target in sick.log) == sorted(f"t{number}" for number in range(hung))
    # Those that may wait, and those that had begun before they did.
    assert MOST <= sick.most <= MOST + THREADS
    database.dispose()
