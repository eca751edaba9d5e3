"""Read deployment groups of an action, with their phases and the count of their nodes by status."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.storage import tables as t
from shipyard_api.storage.rows import record

# Rows of one transaction have the same time, and prepare comes first.
IN_ORDER = (t.group_phases.c.submitted_at, t.group_phases.c.phase.desc(), t.group_phases.c.batch)


def groups_of_action(
    connection: sa.Connection,
    action: ActionId,
    *,
    status: Collection[str],
    group: Collection[str],
    after: int,
    limit: int,
) -> Sequence[GroupRecord]:
    """Return a page of deployment groups with their phases and the count of their nodes by status."""
    groups = t.deployment_groups
    query = sa.select(groups).where(groups.c.action_id == action, groups.c.position > after)
    if status:
        query = query.where(groups.c.status.in_(status))
    if group:
        query = query.where(groups.c.name.in_(group))
    rows = connection.execute(query.order_by(groups.c.position).limit(limit)).all()
    names = [row.name for row in rows]
    counts, phases = _counts(connection, action, names), _phases(connection, action, names)
    return [
        record(GroupRecord, row, index=row.position, nodes=counts[row.name], phases=phases[row.name]) for row in rows
    ]


def _counts(
    connection: sa.Connection, action: ActionId, groups: Sequence[str]
) -> Mapping[str, Mapping[NodeStatus, int]]:
    nodes = t.action_nodes
    held = (
        sa.select(sa.func.unnest(nodes.c.groups).label("group"), nodes.c.status)
        .where(nodes.c.action_id == action)
        .subquery()
    )
    rows = connection.execute(
        sa.select(held.c.group, held.c.status, sa.func.count())
        .where(held.c.group.in_(groups))
        .group_by(held.c.group, held.c.status)
    )
    counts: dict[str, dict[NodeStatus, int]] = {name: dict.fromkeys(NodeStatus, 0) for name in groups}
    for name, status, number in rows:
        counts[name][NodeStatus(status)] = number
    return counts


def _phases(connection: sa.Connection, action: ActionId, groups: Sequence[str]) -> Mapping[str, Sequence[PhaseRecord]]:
    phases = t.group_phases
    by_group: defaultdict[str, list[PhaseRecord]] = defaultdict(list)
    for row in connection.execute(
        sa.select(phases).where(phases.c.action_id == action, phases.c.group_name.in_(groups)).order_by(*IN_ORDER)
    ):
        by_group[row.group_name].append(record(PhaseRecord, row))
    return by_group
