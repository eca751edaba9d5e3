"""Holds on nodes."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED, ActionId, RunState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.holds import Hold, HoldClass, HoldId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.holds import NewHold, PlacedHold
from shipyard_api.storage import hold_rows, journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.hold_rows import hold_from, is_active, on_nodes
from shipyard_api.storage.projections import Line

_MOVING = tuple(state.value for state in RunState if state not in ENDED)

# Work that was submitted, or that is about to be: its intent was committed before the hold.
_UNDER_WAY = sa.text("""
    SELECT id, epoch FROM actions WHERE id = ANY(:actions) AND (
        EXISTS (SELECT FROM group_phases WHERE action_id = actions.id AND ended_at IS NULL AND :node = ANY(nodes))
        OR EXISTS (SELECT FROM steps WHERE action_id = actions.id AND (intent -> 'touches')::jsonb ? :node)
        OR EXISTS (SELECT FROM work_items WHERE action_id = actions.id AND (intent -> 'touches')::jsonb ? :node)
    ) ORDER BY id
""")


class Holds:
    """Holds. The engine checks them in the transaction that writes an intent, see ``Turns.held``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def place(self, hold: NewHold) -> PlacedHold:
        """Place a hold. Once it is committed, no intent on its node is written any more.

        Each action whose work on the node is under way gets a note. If the same user has placed the same hold before,
        and it is active, that one is returned. The rows of actions are locked first, as by a turn before it takes the
        lock of holds.
        """
        actions = self._lock()
        for earlier in self.active([hold.node]):
            if (earlier.kind, earlier.hold_class, earlier.reason, earlier.placed_by, earlier.until) == (
                hold.kind,
                hold.hold_class,
                hold.reason,
                hold.user,
                hold.until,
            ):
                return PlacedHold(earlier, [ActionId(row.id) for row in self._under_way(hold.node, actions)])
        placed = hold_rows.insert(self._connection, [hold])[0]
        rows = self._under_way(hold.node, actions)
        for row in rows:
            self._note(row, placed)
        return PlacedHold(placed, [ActionId(row.id) for row in rows])

    def place_once(self, holds: Sequence[NewHold]) -> Sequence[Hold]:
        """Place holds that differ in their nodes only, and return those that had not been placed before.

        One that was placed before may have been released since: it stays released.
        """
        if not holds:
            return []
        actions = self._lock()
        first, columns = holds[0], t.holds.c
        same = sa.select(columns.node).where(
            columns.kind == first.kind.value,
            columns.hold_class == first.hold_class.value,
            columns.reason == first.reason,
            columns.placed_by == first.user,
            columns.until == first.until,
        )
        known = set(self._connection.execute(same).scalars())
        placed = hold_rows.insert(self._connection, [hold for hold in holds if hold.node not in known])
        for hold in placed:
            for row in self._under_way(hold.node, actions):
                self._note(row, hold)
        return placed

    def release(self, hold: HoldId, user: str) -> Hold | None:
        """Release a hold and return it; None if there is none. A hold that has ended stays as it is."""
        holds = t.holds
        self._connection.execute(
            holds.update()
            .where(holds.c.id == hold, *is_active())
            .values(released_by=user, released_at=sa.func.site_time())
        )
        return self.get(hold)

    def get(self, hold: HoldId) -> Hold | None:
        """Return a hold."""
        row = self._connection.execute(sa.select(t.holds).where(t.holds.c.id == hold)).one_or_none()
        return hold_from(row) if row else None

    def active(self, nodes: Collection[NodeName] | None = None) -> Sequence[Hold]:
        """Return the active holds on these nodes (None: all), in order of node and time."""
        query = sa.select(t.holds).where(*is_active(), *on_nodes(nodes)).order_by(t.holds.c.node, t.holds.c.id)
        return [hold_from(row) for row in self._connection.execute(query)]

    def uncounted(self, at: datetime | None = None) -> frozenset[NodeName]:
        """Return the nodes with a hold by which no criterion counts them, active now or at another moment."""
        holds = t.holds.c
        conditions = (
            is_active()
            if at is None
            else (
                holds.placed_at <= at,
                sa.or_(holds.released_at.is_(None), holds.released_at > at),
                sa.or_(holds.until.is_(None), holds.until > at),
            )
        )
        query = sa.select(holds.node).where(holds.hold_class == HoldClass.NO_CRITERIA.value, *conditions)
        return frozenset(map(NodeName, self._connection.execute(query).scalars()))

    def latest(self, nodes: Collection[NodeName] | None = None, *, limit: int) -> Sequence[Hold]:
        """Return holds on these nodes (None: all), ended ones too, the newest first."""
        query = sa.select(t.holds).where(*on_nodes(nodes)).order_by(t.holds.c.id.desc()).limit(limit)
        return [hold_from(row) for row in self._connection.execute(query)]

    def _lock(self) -> Sequence[str]:
        """Take the locks to place a hold, and return the ids of the actions that have not ended."""
        action_columns = t.actions.c
        moving = (
            sa.select(action_columns.id)
            .where(action_columns.state.in_(_MOVING))
            .order_by(action_columns.id)
            .with_for_update(key_share=True)
        )
        actions = list(self._connection.execute(moving).scalars())
        hold_rows.lock(self._connection)
        return actions

    def _under_way(self, node: NodeName, actions: Sequence[str]) -> Sequence[sa.Row[Any]]:
        if not actions:
            return []
        return self._connection.execute(_UNDER_WAY, {"actions": list(actions), "node": node}).all()

    def _note(self, action: sa.Row[Any], hold: Hold) -> None:
        """Note a hold in the journal of an action, whose representation gets a new version by it."""
        of_action = t.actions.c.id == action.id
        self._connection.execute(t.actions.update().where(of_action).values(epoch=t.actions.c.epoch))
        effect = "; what was submitted for it before goes on, and nothing new is"
        text = f"node {hold.node} is {hold}{'' if hold.hold_class.forbids_nothing else effect}"
        line = Line(ActionId(action.id), action.epoch, None, hold.placed_at, "api")
        journal.record(self._connection, line, [Noted("Hold Placed", text)])
