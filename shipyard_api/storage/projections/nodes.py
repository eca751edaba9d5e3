"""``action_nodes``: the nodes of an action, each with its status."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged, NodesGivenUp, NodesKept, NodesLate, NodesNotLate, TargetsKnown
from shipyard_api.domain.facts.teardown import TeardownChanged
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.teardown.order import Operation, Outcome
from shipyard_api.storage import tables as t
from shipyard_api.storage.batched_writes import BatchedWrites, insert_rows
from shipyard_api.storage.nodes import SKIPPED, TORN_DOWN
from shipyard_api.storage.projections import Line

_changed = (
    sa.func.unnest(
        sa.cast(sa.bindparam("names"), ARRAY(sa.Text)),
        sa.cast(sa.bindparam("details"), ARRAY(sa.Text)),
    )
    .table_valued("name", "detail")
    .render_derived(name="changed")
)
_INSERT = insert_rows(t.action_nodes, "action_id", "name", "status", "groups", "updated_at", "known_at")
# What a step knew of its nodes before stays.
_INSERT = _INSERT.on_conflict_do_nothing(index_elements=["action_id", "name"])
_CHANGE = (
    t.action_nodes.update()
    .where(t.action_nodes.c.action_id == sa.bindparam("of_action"), t.action_nodes.c.name == _changed.c.name)
    .values(detail=_changed.c.detail, late_since=None, late_usual=None)
)
_late = (
    sa.func.unnest(
        sa.cast(sa.bindparam("names"), ARRAY(sa.Text)),
        sa.cast(sa.bindparam("usual"), ARRAY(sa.Double)),
    )
    .table_valued("name", "usual")
    .render_derived(name="late")
)
_LATE = (
    t.action_nodes.update()
    .where(t.action_nodes.c.action_id == sa.bindparam("of_action"), t.action_nodes.c.name == _late.c.name)
    .values(late_usual=_late.c.usual)
)

_OF_NODE = (t.action_nodes.c.action_id == sa.bindparam("of_action"), t.action_nodes.c.name == sa.bindparam("of_name"))
_DRAINED = t.action_nodes.update().where(*_OF_NODE)
_TAKEN_DOWN = insert(t.action_nodes)
_TAKEN_DOWN = _TAKEN_DOWN.on_conflict_do_update(
    index_elements=["action_id", "name"],
    set_={name: _TAKEN_DOWN.excluded[name] for name in ("status", "reason", "detail", "updated_at")},
)
# A node that was not touched stays what it was; one that has ended keeps its own reason.
_GIVEN_UP = t.action_nodes.update().where(
    t.action_nodes.c.action_id == sa.bindparam("of_action"),
    t.action_nodes.c.name == sa.any_(sa.bindparam("names", type_=ARRAY(sa.Text))),
    t.action_nodes.c.status == NodeStatus.NOT_STARTED.value,
)
_GIVEN_UP = _GIVEN_UP.values(
    status=sa.case(
        (t.action_nodes.c.reason == TORN_DOWN, NodeStatus.FAILURE.value), else_=NodeStatus.NOT_STARTED.value
    ),
    reason=sa.func.coalesce(t.action_nodes.c.reason, SKIPPED),
)
_NOT_LATE = t.action_nodes.update().where(
    t.action_nodes.c.action_id == sa.bindparam("of_action"),
    t.action_nodes.c.name == sa.any_(sa.bindparam("names", type_=ARRAY(sa.Text))),
)
_NOT_LATE = _NOT_LATE.values(late_since=None, late_usual=None)


def project(writes: BatchedWrites, line: Line, fact: Fact) -> None:
    """Bring the nodes up to date."""
    match fact:
        case MembersKnown():
            _insert(writes, line, _holders(fact))
        case TargetsKnown():
            _insert(writes, line, {node: [] for node in fact.nodes})
        case NodesChanged():
            _change(writes, line, fact)
        case NodesLate():
            usual = {"names": list(fact.usual), "usual": list(fact.usual.values())}
            writes.add(_LATE, {"of_action": line.action, **usual, "late_since": line.at})
        case NodesNotLate():
            writes.add(_NOT_LATE, {"of_action": line.action, "names": list(fact.nodes)})
        case NodesKept():
            details = [fact.detail] * len(fact.nodes)
            writes.add(_CHANGE, {**_changes(line, fact.nodes, details), "status": NodeStatus.SUCCESS.value})
        case TeardownChanged(operation=operation, outcome=Outcome.RUNNING) if operation is not Operation.UNCORDON:
            _take_down(writes, line, fact)
        case NodesGivenUp():
            given_up = {"of_action": line.action, "names": list(fact.nodes), "detail": fact.why, "updated_at": line.at}
            writes.add(_GIVEN_UP, given_up)


def _holders(fact: MembersKnown) -> dict[NodeName, list[str]]:
    """Return the names of the groups of each node."""
    holders: dict[NodeName, list[str]] = {}
    for group, members in fact.membership:
        for node in members:
            holders.setdefault(node, []).append(group.name)
    return holders


def _insert(writes: BatchedWrites, line: Line, holders: Mapping[NodeName, list[str]]) -> None:
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


def _take_down(writes: BatchedWrites, line: Line, fact: TeardownChanged) -> None:
    """Take its success away from the node. A drain that was called alone does not: it can be taken back."""
    values = {
        "status": NodeStatus.NOT_STARTED.value,
        "reason": TORN_DOWN,
        "detail": f"taken down, {fact.operation.value} last",
        "updated_at": line.at,
    }
    if fact.operation is Operation.DRAIN:
        writes.add(_DRAINED, {"of_action": line.action, "of_name": fact.node, **values})
    else:
        row = {"action_id": line.action, "name": fact.node, "groups": [], "known_at": line.at}
        writes.add(_TAKEN_DOWN, {**row, **values})


def _change(writes: BatchedWrites, line: Line, fact: NodesChanged) -> None:
    details = [fact.reasons.get(node, "") for node in fact.nodes]
    values = {"status": fact.status.value, "reason": fact.reason, "group_name": fact.group}
    writes.add(_CHANGE, {**_changes(line, fact.nodes, details), **values})


def _changes(line: Line, nodes: Sequence[NodeName], details: list[str]) -> dict[str, Any]:
    return {"of_action": line.action, "names": list(nodes), "details": details, "updated_at": line.at}
