"""Site actions that have not ended, and which nodes they may work on."""

from collections.abc import Collection

import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.actions import RunningSiteAction
from shipyard_api.storage import tables as t

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
