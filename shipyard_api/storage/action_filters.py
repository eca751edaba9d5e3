"""The filters of a list of actions."""

from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.state.actions import ActionFilters
from shipyard_api.storage import tables as t


def filtered(
    query: "sa.Select[Any]", filters: ActionFilters, after: ActionId | None, *, descending: bool, limit: int | None
) -> "sa.Select[Any]":
    """Return the query with the filters applied, in order."""
    actions = t.actions.c
    if filters.names:
        query = query.where(actions.name.in_(list(filters.names)))
    if filters.states is not None:
        query = query.where(actions.state.in_([state.value for state in filters.states]))
    if filters.users:
        query = query.where(actions.user_name.in_(filters.users))
    if filters.since is not None:
        query = query.where(actions.created_at >= filters.since)
    if after is not None:
        query = query.where(actions.id < after if descending else actions.id > after)
    return query.order_by(actions.id.desc() if descending else actions.id).limit(limit)
