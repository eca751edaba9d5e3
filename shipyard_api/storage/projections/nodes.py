"""``action_nodes``: the nodes of an action, each with its status."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged, NodesKept
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.storage import tables as t
from shipyard_api.storage.gathered import Gathered, insert_rows
from shipyard_api.storage.projections.line import Line

_changed = (
    sa.func.unnest(
        sa.cast(sa.bindparam("names"), ARRAY(sa.Text)),
        sa.cast(sa.bindparam("details"), ARRAY(sa.Text)),
    )
    .table_valued("name", "detail")
    .render_derived(name="changed")
)
_INSERT = insert_rows(t.action_nodes, "action_id", "name", "status", "groups", "updated_at", "known_at")
_CHANGE = (
    t.action_nodes.update()
    .where(t.action_nodes.c.action_id == sa.bindparam("of_action"), t.action_nodes.c.name == _changed.c.name)
    .values(detail=_changed.c.detail)
)


def project(writes: Gathered, line: Line, fact: Fact) -> None:
    """Bring the nodes up to date."""
    match fact:
        case MembersKnown():
            _insert(writes, line, fact)
        case NodesChanged():
            _change(writes, line, fact)
        case NodesKept():
            details = [fact.detail] * len(fact.nodes)
            writes.add(_CHANGE, {**_changes(line, fact.nodes, details), "status": NodeStatus.SUCCESS.value})


def _insert(writes: Gathered, line: Line, fact: MembersKnown) -> None:
    holders: dict[NodeName, list[str]] = {}
    for group, members in fact.membership:
        for node in members:
            holders.setdefault(node, []).append(group.name)
    at = line.at.isoformat()
    rows = [
        {
            "action_id": line.action,
            "name": node,
            "status": NodeStatus.NOT_STARTED.value,
            "groups": held,
            "updated_at": at,
            "known_at": at,
        }
        for node, held in sorted(holders.items())
    ]
    writes.add(_INSERT, {"rows": rows})


def _change(writes: Gathered, line: Line, fact: NodesChanged) -> None:
    details = [fact.reasons.get(node, "") for node in fact.nodes]
    values = {"status": fact.status.value, "reason": fact.reason, "group_name": fact.group}
    writes.add(_CHANGE, {**_changes(line, fact.nodes, details), **values})


def _changes(line: Line, nodes: Sequence[NodeName], details: list[str]) -> dict[str, Any]:
    return {"of_action": line.action, "names": list(nodes), "details": details, "updated_at": line.at}
