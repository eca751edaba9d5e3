"""Worlds in process whose database, peers and clock outlive their workers, and the one action that these work on."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, Control, RunState, StepId
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage import tables
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.turn import Engine
from tests.fakes.clock import FakeClock
from tests.world import SETTLE, Checkpoints, WatchedStore

FIRST = ActionId("0" * 26)
_A_MOMENT = 0.01  # seconds
_numbers = itertools.count(1)


class OneAction:
    """What these worlds have in common; each says how its action is defined, and has its peers.

    ``definition``: of the action, for a worker with these checkpoints and this store.
    """

    engine: sa.Engine
    clock: FakeClock
    action: ActionId
    name: ActionName

    def definition(self, points: Checkpoints, store: Any) -> Definition:
        raise NotImplementedError

    def store(self) -> Store:
        return Store(self.engine, ProcrastinateWakeup())

    def queue(self, action: ActionId, inputs: Mapping[str, Any], steps: Sequence[StepId], **others: Any) -> None:
        """Create the action, due now; it is the one that ``run`` works on from here."""
        self.action = action
        marker = str(uuid.uuid4())
        with self.store().begin() as tx:
            tx.actions.create(
                NewAction(action, self.name, {}, "ann", marker, None, None, dict(inputs), steps, **others)
            )
            due = tables.actions.update().where(tables.actions.c.id == action).values(wake_at=self.clock.now())
            tx.turns._connection.execute(due)

    def worker(self, points: Checkpoints | None = None) -> Engine:
        """Return a worker that has just been started."""
        points = points or Checkpoints()
        store: Any = WatchedStore(self.store(), points)
        definitions = {self.name: self.definition(points, store)}
        return Engine(store, definitions, self.clock, settle=SETTLE, worker=f"worker-{next(_numbers)}")

    def deliver(self, worker: Engine, holder: str = "run-1") -> None:
        """Deliver a turn of the action and a run of its items, as the queue does."""
        worker.run(self.action)
        worker.items.run(self.action, holder)

    def run(
        self,
        *workers: Engine,
        each_time: Callable[[], None] = lambda: None,
        holders: Sequence[str] = ("run-1", "run-2", "run-3"),
        pace: float = 0,
    ) -> None:
        """Deliver to the workers in turn, each time when something is due, until the action has ended.

        ``pace``: seconds between deliveries, for hosts that live in real time.
        """
        for number in range(2000):
            each_time()
            at = number % len(workers)
            self.deliver(workers[at], holders[at])
            if self.ended:
                return
            time.sleep(pace)
            self.clock.advance(self.wait())
        raise AssertionError("the action does not end")

    def wait(self) -> float:
        """Seconds until an item or the action is due."""
        return seconds_until_due(self.engine, self.action, self.clock.now())

    @property
    def ended(self) -> bool:
        return self.state() in ENDED

    def state(self) -> RunState:
        return state_of(self.store(), self.action)

    def steps(self) -> Mapping[StepId, tuple[str, str]]:
        """State and detail of each step."""
        return steps_of(self.store(), self.action)

    def control(self, what: Control) -> bool:
        """Pause, resume or stop the action; return whether it could be."""
        return control(self.store(), self.engine, self.action, what, self.clock.now())

    def close(self) -> None:
        self.engine.dispose()


def state_of(store: Store, action: ActionId) -> RunState:
    """Return the state of the action: asked after each delivery, it reads nothing else of it."""
    return RunState(_asked(store._engine, "SELECT state FROM actions WHERE id = %s", action))


def seconds_until_due(engine: sa.Engine, action: ActionId, now: datetime) -> float:
    """Return the seconds until an item or the action is due, a moment at least."""
    of_items = "(SELECT min(wake_at) FROM work_items WHERE ended_at IS NULL)"
    due = _asked(engine, f"SELECT least(wake_at, {of_items}) FROM actions WHERE id = %s", action)
    return max((due - now).total_seconds(), _A_MOMENT) if due is not None else _A_MOMENT


def _asked(engine: sa.Engine, query: str, action: ActionId) -> Any:
    """Ask as the driver does: asked thousands of times, it costs a tenth of a statement."""
    with engine.connect() as connection:
        return connection.exec_driver_sql(query, (action,)).scalar_one()


def steps_of(store: Store, action: ActionId) -> Mapping[StepId, tuple[str, str]]:
    """Return the state and the detail of each step."""
    with store.begin() as tx:
        steps = tx.actions.steps([action])[action]
    return {step.id: (step.state.value if step.state else "", step.detail) for step in steps}


def control(store: Store, engine: sa.Engine, action: ActionId, what: Control, now: datetime) -> bool:
    """Pause, resume or stop the action, and let it be due now; return whether its state allowed it."""
    with store.begin() as tx:
        before = tx.actions.control(action, what, "ann")
    assert before is not None
    waiting = tables.actions.c.wake_at.is_not(None)
    with engine.begin() as connection:
        # The database's clock runs, the world's stands still.
        connection.execute(tables.actions.update().where(waiting).values(wake_at=now))
    return before.refusal(what) is None
