"""Reading and steering the action of a world in process, past its worker."""

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, Control, RunState, StepId
from shipyard_api.storage import tables
from shipyard_api.storage.unit_of_work import Store


def state_of(store: Store, action: ActionId) -> RunState:
    """Return the state of the action."""
    with store.begin() as tx:
        record = tx.actions.get(action)
    assert record is not None
    return record.state


def steps_of(store: Store, action: ActionId) -> Mapping[StepId, tuple[str, str]]:
    """Return the state and the detail of each step."""
    with store.begin() as tx:
        steps = tx.actions.steps([action])[action]
    return {step.id: (step.state.value if step.state else "", step.detail) for step in steps}


def seconds_until_due(engine: sa.Engine, action: ActionId, now: datetime) -> float:
    """Return the seconds until an item or the action is due, a moment at least."""
    items, actions = tables.work_items.c, tables.actions.c
    with engine.connect() as connection:
        due = [
            connection.execute(sa.select(sa.func.min(items.wake_at)).where(items.ended_at.is_(None))).scalar(),
            connection.execute(sa.select(actions.wake_at).where(actions.id == action)).scalar(),
        ]
    waits = [(one - now).total_seconds() for one in due if one is not None]
    return max(min(waits, default=0.0), 0.01)


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
