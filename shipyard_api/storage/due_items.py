"""Statements on due items: built once for each set of steps, since to build one takes longer than to execute it."""

from functools import lru_cache

import sqlalchemy as sa

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.items import ItemState
from shipyard_api.storage import tables as t
from shipyard_api.storage.histories import CURRENT_TABLE, PLACE

MOST_RUNS = 32
"""Runs of one action, queued or at work."""

_items = t.work_items
_OPEN = _items.c.ended_at.is_(None)
Versions = tuple[tuple[StepId, int], ...]


# A worker knows the same versions of steps all its life.
@lru_cache(maxsize=16)
def count_due(versions: Versions) -> sa.Select[int]:
    """Return the statement that counts the due items, up to the number of runs."""
    due = sa.select(sa.literal(1)).where(*_due(versions)).limit(MOST_RUNS).subquery()
    return sa.select(sa.func.count()).select_from(due)


@lru_cache(maxsize=16)
def claim_due(versions: Versions) -> sa.Executable:
    """Return the statement that claims a due item."""
    due = (
        sa.select(_items.c.step_id, _items.c.id)
        .where(*_due(versions))
        .order_by(_items.c.wake_at, _items.c.position)
        .limit(1)
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    return (
        _items.update()
        .where(
            _items.c.action_id == sa.bindparam("of_action"),
            _items.c.step_id == due.c.step_id,
            _items.c.id == due.c.id,
            t.actions.c.id == _items.c.action_id,
        )
        .values(
            epoch=_items.c.epoch + 1,
            state=ItemState.RUNNING.value,
            holder=sa.bindparam("of_holder"),
            wake_at=None,
            started_at=sa.func.coalesce(_items.c.started_at, sa.bindparam("now")),
        )
        .returning(
            _items.c.step_id,
            _items.c.id,
            _items.c.epoch,
            _items.c.task,
            _items.c.memory,
            _items.c.intent,
            _items.c.stop,
            _items.c.waiting_for,
            t.actions.c.state.label("action_state"),
            t.actions.c.stopped_by,
            t.actions.c.user_name,
            t.actions.c.context_marker,
            t.actions.c.traceparent,
            t.actions.c.created_at,
            PLACE,
            t.actions.c.lost_after,
            t.actions.c.loss_noticed_at,
            t.actions.c.job_answers,
            CURRENT_TABLE,
        )
    )


def _due(versions: Versions) -> tuple[sa.ColumnElement[bool], ...]:
    """Match the due items of these steps whose state has at most the version of their step."""
    version = sa.func.coalesce(_items.c.memory["v"].as_integer(), 1)
    known = [sa.and_(_items.c.step_id == step, version <= newest) for step, newest in versions]
    return (
        _items.c.action_id == sa.bindparam("of_action"),
        _OPEN,
        _items.c.wake_at <= sa.bindparam("now"),
        sa.or_(sa.false(), *known),
    )
