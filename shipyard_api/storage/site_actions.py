"""Site actions: those that have not ended with the nodes that they may work on, and those that overtook an action."""

from collections.abc import Collection

import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.state.actions import ActionRecord, RunningSiteAction, Successor
from shipyard_api.storage import tables as t
from shipyard_api.storage.nodes import TORN_DOWN

MOVING = tuple(state.value for state in RunState if state not in ENDED)


def on_site(connection: sa.Connection) -> RunningSiteAction | None:
    """Return the action that excludes all others; a unique index lets no second one be."""
    actions = t.actions.c
    query = sa.select(actions.id, actions.name).where(actions.exclusive, actions.state.in_(MOVING))
    row = connection.execute(query).one_or_none()
    return RunningSiteAction(ActionId(row.id), ActionName(row.name)) if row else None


def on_nodes(connection: sa.Connection, nodes: Collection[NodeName] | None) -> RunningSiteAction | None:
    """Return the first run on named nodes that shares one of these nodes (None: any run), with the shared ones."""
    actions = t.actions.c
    named = actions.inputs[("software", "nodes")]
    runs = sa.and_(named.is_not(None), ~actions.exclusive, actions.state.in_(MOVING))
    for row in connection.execute(
        sa.select(actions.id, actions.name, named.label("nodes")).where(runs).order_by(actions.id)
    ):
        shared = sorted(NodeName(node) for node in row.nodes if nodes is None or node in nodes)
        if shared:
            return RunningSiteAction(ActionId(row.id), ActionName(row.name), () if nodes is None else shared)
    return None


def newest_successor(connection: sa.Connection, action: ActionRecord) -> Successor | None:
    """Return the newest site action that overtook this one, as ``Actions.successor`` defines it."""
    actions, nodes, nodes_of = t.actions.c, t.action_nodes.alias("worked").c, t.action_nodes.alias("own").c
    # A node that was only kept, or whose submission was refused, has not been worked on.
    sent = sa.and_(nodes.group_name.is_not(None), nodes.status != NodeStatus.NOT_STARTED.value)
    worked = sa.and_(nodes.action_id == actions.id, sa.or_(sent, nodes.reason == TORN_DOWN))
    known = sa.exists().where(nodes_of.action_id == action.id)
    shared = sa.exists().where(nodes_of.action_id == action.id, nodes_of.name == nodes.name)
    held = sa.and_(worked, sa.or_(~known, shared))
    deployed = sa.and_(
        actions.revision.is_distinct_from(action.revision),
        sa.or_(actions.state == RunState.SUCCESS.value, sa.exists().where(worked)),
    )
    row = connection.execute(
        sa.select(actions.id, actions.name, actions.revision)
        .where(actions.exclusive, actions.created_at > action.created_at, sa.or_(sa.exists().where(held), deployed))
        .order_by(actions.created_at.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    names = connection.execute(
        sa.select(nodes.name).select_from(t.actions).where(actions.id == row.id, held).order_by(nodes.name)
    ).scalars()
    revision = None if row.revision is None else Revision(row.revision)
    return Successor(ActionId(row.id), ActionName(row.name), revision, [NodeName(name) for name in names])
