"""Which rows of ``action_nodes`` say what a server is: those of actions that worked on it."""

from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import RunState
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.storage import tables as t

TORN_DOWN = "teardown"
"""The reason of a node whose teardown has begun in the action; its earlier status is void."""
SKIPPED = "skipped"
"""The reason of a node that the action never touched, because a step before failed."""


def worked_on(nodes: Any) -> sa.ColumnElement[bool]:
    """Return whether the action has worked on the node of the row; ``nodes``: the columns of ``action_nodes``."""
    return sa.or_(nodes.status != NodeStatus.NOT_STARTED.value, nodes.reason == TORN_DOWN)


def removed(nodes: Any) -> sa.ColumnElement[bool]:
    """Return whether the server of the row is gone from the site: a successful site action took it down.

    A single operation on a node ends well, too, and leaves the server where it is.
    """
    actions = t.actions.c
    ended_well = sa.and_(actions.exclusive, actions.state == RunState.SUCCESS.value)
    looked_up = sa.select(ended_well).where(actions.id == nodes.action_id).scalar_subquery()
    # Looked up for the rare torn down node only; an EXISTS would read all actions.
    return sa.case((nodes.reason == TORN_DOWN, looked_up), else_=sa.false())
