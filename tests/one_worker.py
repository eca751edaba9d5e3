"""A worker process of tests: one definition, and waits short enough that a killed worker is replaced in seconds."""

import os
from collections.abc import Callable

from shipyard_api.adapters.procrastinate import WorkerOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.turn import Engine


def work(url: str, definition: Callable[[Store], Definition]) -> int:
    """Run the worker until it is stopped; return its exit code."""
    database = connect(url, pool_size=10)
    store = Store(database, ProcrastinateWakeup())
    made = definition(store)
    engine = Engine(
        store,
        {made.name: made},
        DatabaseClock(database, ProcrastinateWakeup()),
        settle=1.0,
        worker=f"worker-{os.getpid()}",
    )
    options = WorkerOptions(
        concurrency=4,
        poll_seconds=0.1,
        heartbeat_seconds=0.3,
        stalled_seconds=1.5,
        sweep_seconds=1,
        overdue_seconds=2.0,
        graceful_seconds=1.0,
    )
    return TurnWorker(url, engine.run, engine.items.run, lambda: engine.sweep(grace=2.0), options).run()
