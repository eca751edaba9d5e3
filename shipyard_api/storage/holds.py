"""Holds on nodes. An advisory lock orders them against intents: shared for writing an intent, exclusive for a hold."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from ulid import ULID

from shipyard_api.domain.actions import ENDED, ActionId, RunState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.holds import OVERRIDDEN, Hold, HoldId, HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.holds import NewHold, PlacedHold
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections.line import Line

# Any number that no other advisory lock in this database uses.
_LOCK = 0x5317_401D

_MOVING = tuple(state.value for state in RunState if state not in ENDED)

# One round trip. Each statement has its own snapshot, so the second one sees every hold that the lock has waited for.
_GUARD = sa.text("""
    SELECT pg_advisory_xact_lock_shared(:lock);
    SELECT holds.* FROM holds
    WHERE released_at IS NULL AND (until IS NULL OR until > site_time()) AND node = ANY(:nodes)
      AND NOT EXISTS (
        SELECT FROM actions WHERE actions.id = :action AND (inputs -> :overridden)::jsonb ? holds.id::text
      )
    ORDER BY node, holds.id
""")

# Work that was submitted, or that is about to be: its intent was committed before the hold.
_UNDER_WAY = sa.text("""
    SELECT id, epoch FROM actions WHERE id = ANY(:actions) AND (
        EXISTS (SELECT FROM group_phases WHERE action_id = actions.id AND ended_at IS NULL AND :node = ANY(nodes))
        OR EXISTS (SELECT FROM steps WHERE action_id = actions.id AND (intent -> 'touches')::jsonb ? :node)
        OR EXISTS (SELECT FROM work_items WHERE action_id = actions.id AND (intent -> 'touches')::jsonb ? :node)
    ) ORDER BY id
""")


class SqlHolds:
    """Fills ``ports.state.holds.Holds``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def place(self, hold: NewHold) -> PlacedHold:
        """Place a hold. The rows of actions are locked first, as by a turn before it takes the lock of holds."""
        own = t.actions.c
        moving = sa.select(own.id).where(own.state.in_(_MOVING)).order_by(own.id).with_for_update(key_share=True)
        actions = list(self._connection.execute(moving).scalars())
        lock(self._connection)
        for earlier in self.active([hold.node]):
            if (earlier.kind, earlier.reason, earlier.placed_by, earlier.until) == (
                hold.kind,
                hold.reason,
                hold.user,
                hold.until,
            ):
                return PlacedHold(earlier, [ActionId(row.id) for row in self._under_way(hold.node, actions)])
        placed = insert(self._connection, [hold])[0]
        rows = self._under_way(hold.node, actions)
        for row in rows:
            self._note(row, placed)
        return PlacedHold(placed, [ActionId(row.id) for row in rows])

    def release(self, hold: HoldId, user: str) -> Hold | None:
        """Release a hold that is active."""
        holds = t.holds
        self._connection.execute(
            holds.update()
            .where(holds.c.id == hold, *_is_active())
            .values(released_by=user, released_at=sa.func.site_time())
        )
        return self.get(hold)

    def get(self, hold: HoldId) -> Hold | None:
        """Return a hold."""
        row = self._connection.execute(sa.select(t.holds).where(t.holds.c.id == hold)).one_or_none()
        return _hold(row) if row else None

    def active(self, nodes: Collection[NodeName] | None = None) -> Sequence[Hold]:
        """Return the active holds."""
        query = sa.select(t.holds).where(*_is_active(), *_on(nodes)).order_by(t.holds.c.node, t.holds.c.id)
        return [_hold(row) for row in self._connection.execute(query)]

    def latest(self, nodes: Collection[NodeName] | None = None, *, limit: int) -> Sequence[Hold]:
        """Return the newest holds."""
        query = sa.select(t.holds).where(*_on(nodes)).order_by(t.holds.c.id.desc()).limit(limit)
        return [_hold(row) for row in self._connection.execute(query)]

    def _under_way(self, node: NodeName, actions: Sequence[str]) -> Sequence[sa.Row[Any]]:
        if not actions:
            return []
        return self._connection.execute(_UNDER_WAY, {"actions": list(actions), "node": node}).all()

    def _note(self, action: sa.Row[Any], hold: Hold) -> None:
        """Note a hold in the journal of an action, whose representation gets a new version by it."""
        own = t.actions.c.id == action.id
        self._connection.execute(t.actions.update().where(own).values(epoch=t.actions.c.epoch))
        text = f"node {hold.node} is {hold}; what was submitted for it before goes on, and nothing new is"
        line = Line(ActionId(action.id), action.epoch, None, hold.placed_at, "api")
        journal.record(self._connection, line, [Noted("Hold Placed", text)])


def lock(connection: sa.Connection) -> None:
    """Let no intent be written until the transaction has ended."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def guard(connection: sa.Connection, action: ActionId, nodes: Collection[NodeName]) -> Sequence[Hold]:
    """Return the active holds on these nodes that the action does not override.

    No further hold is placed until the transaction has ended.
    """
    values = {"lock": _LOCK, "action": action, "nodes": list(nodes), "overridden": OVERRIDDEN}
    return [_hold(row) for row in connection.execute(_GUARD, values)]


def insert(connection: sa.Connection, new: Sequence[NewHold]) -> Sequence[Hold]:
    """Insert holds, under the lock."""
    rows = [
        {
            "id": str(ULID()),
            "node": hold.node,
            "kind": hold.kind.value,
            "reason": hold.reason,
            "placed_by": hold.user,
            "placed_at": sa.func.site_time(),
            "until": hold.until,
        }
        for hold in new
    ]
    return [_hold(connection.execute(t.holds.insert().values(**row).returning(t.holds)).one()) for row in rows]


def _is_active() -> tuple[sa.ColumnElement[bool], ...]:
    holds = t.holds.c
    return holds.released_at.is_(None), sa.or_(holds.until.is_(None), holds.until > sa.func.site_time())


def _on(nodes: Collection[NodeName] | None) -> tuple[sa.ColumnElement[bool], ...]:
    return () if nodes is None else (t.holds.c.node == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text))),)


def _hold(row: "sa.Row[Any]") -> Hold:
    return Hold(
        HoldId(row.id),
        NodeName(row.node),
        HoldKind(row.kind),
        row.reason,
        row.placed_by,
        row.placed_at,
        row.until,
        row.released_by,
        row.released_at,
    )
