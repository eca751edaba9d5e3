"""Rows of holds, and the advisory lock that orders them against intents: shared to write an intent, else exclusive."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from ulid import ULID

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.nodes import HELD
from shipyard_api.domain.holds import OVERRIDDEN, Hold, HoldClass, NodeWork, work_on
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.storage import tables as t
from shipyard_api.storage.rows import record

# Any number that no other advisory lock in this database uses.
_LOCK = 0x5317_401D

# One round trip. Each statement has its own snapshot, so the second one sees every hold that the lock has waited for.
# It asks for no more than a node without any hold needs, because it runs before every submission.
_GUARD = """
    SELECT pg_advisory_xact_lock_shared(%s);
    SELECT id FROM holds WHERE released_at IS NULL AND node = ANY(%s)
"""


def lock(connection: sa.Connection) -> None:
    """Let no intent be written until the transaction has ended."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def guard(connection: sa.Connection, action: ActionId, nodes: Collection[NodeName], work: NodeWork) -> Sequence[Hold]:
    """Return the active holds on these nodes that forbid the work, and that the action does not override.

    No further hold is placed until the transaction has ended.
    """
    held = connection.exec_driver_sql(_GUARD, (_LOCK, list(nodes))).scalars().all()
    if not held:
        return []
    of_action = sa.select(t.actions.c.inputs[OVERRIDDEN]).where(t.actions.c.id == action)
    overridden = connection.execute(of_action).scalar() or ()
    query = sa.select(t.holds).where(*is_active(), t.holds.c.id.in_(held), t.holds.c.id.not_in(overridden))
    holds = [hold_from(row) for row in connection.execute(query.order_by(t.holds.c.node, t.holds.c.id))]
    failed = _failed(connection, [hold.node for hold in holds]) if work is NodeWork.PREPARATION else ()
    return [hold for hold in holds if hold.forbids([work_on(work, has_failed=hold.node in failed)])]


def _failed(connection: sa.Connection, nodes: Collection[NodeName]) -> Collection[NodeName]:
    """Return those of the nodes that failed in the last action that sent them anywhere."""
    row = t.action_nodes.c
    sent = sa.and_(row.status != NodeStatus.NOT_STARTED.value, row.reason.is_distinct_from(HELD))
    query = sa.select(row.name, row.status).where(row.name.in_(nodes), sent).order_by(row.action_id)
    last = {NodeName(one.name): one.status for one in connection.execute(query)}
    return [node for node, status in last.items() if status == NodeStatus.FAILURE.value]


def insert(connection: sa.Connection, new: Sequence[NewHold]) -> Sequence[Hold]:
    """Insert holds, under the lock."""
    rows = [
        {
            "id": str(ULID()),
            "node": hold.node,
            "kind": hold.kind.value,
            "reason": hold.reason,
            "placed_by": hold.user,
            "until": hold.until,
            "hold_class": hold.hold_class.value,
        }
        for hold in new
    ]
    if not rows:
        return []
    query = t.holds.insert().values(placed_at=sa.func.site_time()).returning(t.holds, sort_by_parameter_order=True)
    return [hold_from(row) for row in connection.execute(query, rows)]


def is_active() -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions of an active hold."""
    holds = t.holds.c
    return holds.released_at.is_(None), sa.or_(holds.until.is_(None), holds.until > sa.func.site_time())


def on_nodes(nodes: Collection[NodeName] | None) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the condition of a hold on these nodes (None: any)."""
    return () if nodes is None else (t.holds.c.node == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text))),)


def hold_from(row: "sa.Row[Any]") -> Hold:
    """Return a hold from its row."""
    return record(Hold, row, hold_class=HoldClass(row.hold_class))
