"""Reading and steering the action of a world in process, past its worker."""

from collections.abc import Mapping
from datetime import datetime

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, Control, RunState, StepId
from shipyard_api.storage import tables
from shipyard_api.storage.unit_of_work import Store


def state_of(store: Store, action: ActionId) -> RunState:
    """Return the state of the action: asked after each delivery, it reads nothing else of it."""
    actions = tables.actions.c
    with store._engine.connect() as connection:
        return RunState(connection.execute(sa.select(actions.state).where(actions.id == action)).scalar_one())


def steps_of(store: Store, action: ActionId) -> Mapping[StepId, tuple[str, str]]:
    """Return the state and the detail of each step."""
    with store.begin() as tx:
        steps = tx.actions.steps([action])[action]
    return {step.id: (step.state.value if step.state else "", step.detail) for step in steps}


def seconds_until_due(engine: sa.Engine, action: ActionId, now: datetime) -> float:
    """Return the seconds until an item or the action is due, a moment at least."""
    items, actions = tables.work_items.c, tables.actions.c
    of_item = sa.select(sa.func.min(items.wake_at)).where(items.ended_at.is_(None)).scalar_subquery()
    query = sa.select(sa.func.least(of_item, actions.wake_at)).where(actions.id == action)
    with engine.connect() as connection:
        due = connection.execute(query).scalar()
    return max((due - now).total_seconds(), 0.01) if due is not None else 0.01


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
