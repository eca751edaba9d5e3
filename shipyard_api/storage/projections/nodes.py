"""``action_nodes``: the nodes of an action, each with its status."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged, NodesKept
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections.line import Line

_changed = (
    sa.func.unnest(
        sa.cast(sa.bindparam("names"), ARRAY(sa.Text)),
        sa.cast(sa.bindparam("details"), ARRAY(sa.Text)),
    )
    .table_valued("name", "detail")
    .render_derived(name="changed")
)
_CHANGE = (
    t.action_nodes.update()
    .where(t.action_nodes.c.action_id == sa.bindparam("of_action"), t.action_nodes.c.name == _changed.c.name)
    .values(detail=_changed.c.detail)
)


def project(connection: sa.Connection, line: Line, fact: Fact) -> None:
    """Bring the nodes up to date."""
    match fact:
        case MembersKnown():
            _insert(connection, line, fact)
        case NodesChanged():
            _change(connection, line, fact)
        case NodesKept():
            nodes = t.action_nodes
            connection.execute(
                nodes.update()
                .where(nodes.c.action_id == line.action, nodes.c.name.in_(fact.nodes))
                .values(status=NodeStatus.SUCCESS.value, detail=fact.detail, updated_at=line.at)
            )


def _insert(connection: sa.Connection, line: Line, fact: MembersKnown) -> None:
    holders: dict[NodeName, list[str]] = {}
    for group, members in fact.membership:
        for node in members:
            holders.setdefault(node, []).append(group.name)
    rows = [
        {
            "action_id": line.action,
            "name": node,
            "status": NodeStatus.NOT_STARTED.value,
            "groups": held,
            "updated_at": line.at,
            "known_at": line.at,
        }
        for node, held in sorted(holders.items())
    ]
    if rows:
        connection.execute(t.action_nodes.insert(), rows)


def _change(connection: sa.Connection, line: Line, fact: NodesChanged) -> None:
    connection.execute(
        _CHANGE,
        {
            "of_action": line.action,
            "names": list(fact.nodes),
            "details": [fact.reasons.get(node, "") for node in fact.nodes],
            "status": fact.status.value,
            "reason": fact.reason,
            "group_name": fact.group,
            "updated_at": line.at,
        },
    )
