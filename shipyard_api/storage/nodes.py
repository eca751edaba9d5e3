"""Nodes over all actions: how each was left by the latest one, and what every action did with one of them."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.provisioner import Operation
from shipyard_api.ports.state.groups import PhaseRecord
from shipyard_api.ports.state.nodes import LastNodeRecord, NodeChange, NodePast, NodeRecord
from shipyard_api.storage import tables as t
from shipyard_api.storage.phases import IN_ORDER, phase

Row = sa.Row[Any]

# What a node has reached, and in which phase, when a job that nobody waited for any more has ended.
_LATE: Mapping[str, tuple[str, NodeStatus]] = {
    Operation.PREPARE_NODES.value: ("prepare", NodeStatus.PREPARED),
    Operation.DEPLOY_NODES.value: ("deploy", NodeStatus.SUCCESS),
}


class SqlNodes:
    """Fills ``ports.state.nodes.Nodes``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def latest(self, *, status: Collection[str], prefix: str, after: str, limit: int) -> Sequence[LastNodeRecord]:
        """Return a page of nodes, each as its latest action has it.

        The index is walked from name to name: two looks into it for each name that is passed, whatever the number of
        actions. The walk ends with the page, since Postgres takes no more rows from a recursion than it needs; it
        yields them in order, so they must not be sorted, for which it would have to go to its end.
        """
        nodes, following = t.action_nodes, t.action_nodes.alias("following")
        names = sa.select(_least(nodes, after).label("name")).cte("names", recursive=True)
        names = names.union_all(
            sa.select(_least(following, names.c.name)).select_from(names).where(names.c.name.is_not(None))
        )
        last = (
            sa.select(nodes)
            .where(nodes.c.name == names.c.name)
            .order_by(nodes.c.action_id.desc())
            .limit(1)
            .lateral("last")
        )
        query = sa.select(last).select_from(names.join(last, sa.true()))
        if status:
            query = query.where(last.c.status.in_(status))
        if prefix:
            query = query.where(sa.func.starts_with(names.c.name, prefix))
        rows = self._connection.execute(query.limit(limit))
        return [LastNodeRecord(ActionId(row.action_id), _node(row)) for row in rows]

    def past(self, node: str, *, before: str | None, limit: int) -> Sequence[NodePast]:
        """Return what each action did with the node, the newest first."""
        nodes, actions = t.action_nodes, t.actions
        query = (
            sa.select(nodes, actions.c.name.label("action_name"), actions.c.state, actions.c.created_at)
            .join(actions, actions.c.id == nodes.c.action_id)
            .where(nodes.c.name == node)
        )
        if before is not None:
            query = query.where(nodes.c.action_id < before)
        rows = self._connection.execute(query.order_by(nodes.c.action_id.desc()).limit(limit)).all()
        ids = [row.action_id for row in rows]
        changes, phases = self._changes(node, ids), self._phases(node, ids)
        return [
            NodePast(
                ActionId(row.action_id),
                ActionName(row.action_name),
                RunState(row.state),
                row.created_at,
                _node(row),
                changes[row.action_id],
                phases[row.action_id],
            )
            for row in rows
        ]

    def _changes(self, node: str, actions: Sequence[str]) -> Mapping[str, Sequence[NodeChange]]:
        """Return each status that the journal says the node got.

        A line can name ten thousand nodes, so those without this name are sorted out before they are sent here.
        """
        lines = t.journal.c
        named = sa.func.strpos(sa.cast(lines.facts, sa.Text), json.dumps(node)) > 0
        rows = self._connection.execute(
            sa.select(lines.action_id, lines.kind, lines.at, sa.case((named, lines.facts)).label("facts"))
            .where(
                lines.action_id.in_(actions),
                sa.or_(
                    lines.kind == "members_known",
                    sa.and_(lines.kind.in_(["nodes_changed", "nodes_kept", "late"]), named),
                ),
            )
            .order_by(lines.id)
        )
        found: defaultdict[str, list[NodeChange]] = defaultdict(list)
        for row in rows:
            change = _change(node, row.kind, row.at, row.facts or {})
            if change is not None:
                found[row.action_id].append(change)
        return found

    def _phases(self, node: str, actions: Sequence[str]) -> Mapping[str, Sequence[tuple[str, PhaseRecord]]]:
        """Return the phases that sent the node; only a group that holds it can have done so."""
        nodes, phases = t.action_nodes, t.group_phases
        held = (
            sa.select(nodes.c.action_id, sa.func.unnest(nodes.c.groups).label("group_name"))
            .where(nodes.c.name == node, nodes.c.action_id.in_(actions))
            .subquery()
        )
        shown = [column for column in phases.c if column.name != "nodes"]
        rows = self._connection.execute(
            sa.select(*shown)
            .join(held, sa.and_(phases.c.action_id == held.c.action_id, phases.c.group_name == held.c.group_name))
            .where(sa.literal(node) == sa.any_(phases.c.nodes))
            .order_by(*IN_ORDER)
        )
        found: defaultdict[str, list[tuple[str, PhaseRecord]]] = defaultdict(list)
        for row in rows:
            found[row.action_id].append((row.group_name, phase(row, ())))
        return found


def _least(nodes: "sa.FromClause", after: Any) -> "sa.ScalarSelect[Any]":
    return sa.select(sa.func.min(nodes.c.name)).where(nodes.c.name > after).scalar_subquery()


def _node(row: Row) -> NodeRecord:
    return NodeRecord(
        row.name, NodeStatus(row.status), row.reason, row.detail, row.group_name, row.groups, row.updated_at
    )


def _change(node: str, kind: str, at: datetime, facts: Mapping[str, Any]) -> NodeChange | None:
    """Return what a line of the journal says of the node; None if it holds the name for another reason."""
    if kind == "members_known":
        return NodeChange(at, NodeStatus.NOT_STARTED, None, None, None, "", late=False)
    if kind == "late":
        phase, reached = _LATE.get(facts["operation"], (None, None))
        if reached is None or node not in [*facts["succeeded"], *facts["failed"]]:
            return None
        status = reached if node in facts["succeeded"] else NodeStatus.FAILURE
        return NodeChange(at, status, phase, None, None, facts["message"], late=True)
    if node not in facts["nodes"]:
        return None
    if kind == "nodes_kept":
        detail = f"kept: deployed by {facts['action']}"
        return NodeChange(at, NodeStatus.SUCCESS, None, None, None, detail, late=False)
    return NodeChange(
        at,
        NodeStatus(facts["status"]),
        facts["phase"],
        facts["group"],
        facts["reason"],
        facts["details"].get(node, ""),
        late=False,
    )
