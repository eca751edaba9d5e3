"""Which rows of ``action_nodes`` say what a server is: those of actions that worked on it."""

from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.nodes import NodeStatus

TORN_DOWN = "teardown"
"""The reason of a node whose teardown has begun in the action: whatever it was before, it is that no more."""
SKIPPED = "skipped"
"""The reason of a node that the action never touched, because a step before failed."""


def worked_on(nodes: Any) -> sa.ColumnElement[bool]:
    """Return whether the action has worked on the node of the row; ``nodes``: the columns of ``action_nodes``."""
    return sa.or_(nodes.status != NodeStatus.NOT_STARTED.value, nodes.reason == TORN_DOWN)
