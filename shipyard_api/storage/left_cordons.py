"""Nodes that drains left cordoned, from the lines of their teardowns."""

from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.teardown.order import GUARDED, UNKNOWN_NODE, WENT_WELL, Operation, Outcome
from shipyard_api.storage import tables as t

_WENT_WELL = [outcome.value for outcome in WENT_WELL]
_GUARDED = [operation.value for operation in GUARDED]
_UNDOING = (Operation.UNCORDON.value, Operation.REMOVE_FROM_CLUSTER.value)


def left_cordons(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Select each node with its drain, from those lines of ``node_teardowns``. Later deployments count all the same."""
    rows, drain, by, held = t.node_teardowns.c, t.node_teardowns.alias("drain").c, t.actions.c, t.action_nodes.c
    began, well = rows.outcome == Outcome.RUNNING.value, rows.outcome.in_(_WENT_WELL)
    undone = sa.or_(sa.and_(rows.operation.in_(_UNDOING), well), rows.message == UNKNOWN_NODE)
    last = (
        sa.select(
            sa.func.max(rows.id).filter(rows.operation == Operation.DRAIN.value, began).label("drained"),
            sa.func.max(rows.id).filter(undone).label("undone"),
            sa.func.max(rows.id).filter(rows.operation.in_(_GUARDED), began).label("cleared"),
        )
        .where(which)
        .group_by(rows.node)
        .subquery()
        .c
    )
    deployed = sa.exists().where(
        held.name == drain.node,
        held.status == NodeStatus.SUCCESS.value,
        held.group_name.is_not(None),
        held.updated_at > drain.at,
    )
    ended = by.state.in_([state.value for state in ENDED])
    cleared = sa.func.coalesce(last.cleared > last.drained, sa.false()).label("labels_cleared")
    return (
        sa.select(drain.node, drain.action_id, by.name, drain.at.label("since"), cleared)
        .where(drain.id == last.drained, by.id == drain.action_id, ended, ~deployed)
        .where(sa.or_(last.undone.is_(None), last.undone < last.drained))
        .order_by(drain.node)
    )
