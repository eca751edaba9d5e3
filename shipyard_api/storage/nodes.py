"""Nodes over all actions: the state of each after the latest action that worked on it, and the history of one."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.history import PhaseHistory, TeardownHistory
from shipyard_api.domain.rollout.policy.lateness import Usual
from shipyard_api.domain.teardown.drain import LeftCordon
from shipyard_api.domain.teardown.order import WENT_WELL, Operation, Outcome
from shipyard_api.ports.state.groups import PhaseRecord
from shipyard_api.ports.state.nodes import (
    LastNodeRecord,
    Late,
    NodeChange,
    NodeHistory,
    NodeLine,
    NodeRecord,
    PendingWork,
    TeardownRecord,
)
from shipyard_api.storage import tables as t
from shipyard_api.storage.groups import IN_ORDER
from shipyard_api.storage.left_cordons import left_cordons
from shipyard_api.storage.phase_history import phase_history, teardown_history, usual_durations
from shipyard_api.storage.rows import record

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


Row = sa.Row[Any]


class Wanted(Struct, frozen=True):
    """A page of the nodes of an action; an empty filter passes all."""

    status: Collection[str]
    group: Collection[str]
    names: Collection[str]
    after: str
    limit: int


class Nodes:
    """Nodes over all actions."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def latest(
        self, *, status: Collection[str], prefix: str, names: Collection[str] = (), after: str, limit: int
    ) -> Sequence[LastNodeRecord]:
        """Return nodes after the given name, in order of name; an empty filter passes all.

        Nodes that were taken down for good are left out.

        ``status`` is the node's in the latest action that worked on it; ``prefix`` is the start of its name, which is
        one of ``names``.

        The recursion walks the index from name to name, with four lookups a name, however many actions there are.
        Postgres takes only the rows of the page from it. The rows come in order: a sort would read all rows.
        """
        nodes, following = t.action_nodes, t.action_nodes.alias("following")
        walked = sa.select(_least(nodes, after).label("name")).cte("names", recursive=True)
        walked = walked.union_all(
            sa.select(_least(following, walked.c.name)).select_from(walked).where(walked.c.name.is_not(None))
        )
        last = _last(walked.c.name).lateral("last")
        query = sa.select(last).select_from(walked.join(last, sa.true())).where(~removed(last.c))
        if status:
            query = query.where(last.c.status.in_(status))
        if prefix:
            query = query.where(sa.func.starts_with(walked.c.name, prefix))
        if names:
            query = query.where(walked.c.name == sa.any_(sa.cast(list(names), ARRAY(sa.Text))))
        rows = self._connection.execute(query.limit(limit))
        return [LastNodeRecord(ActionId(row.action_id), node_record(row)) for row in rows]

    def last(self, node: str) -> LastNodeRecord | None:
        """Return the node in the latest action that worked on it, None if no action contains it."""
        row = self._connection.execute(_last(sa.literal(node))).one_or_none()
        return None if row is None else LastNodeRecord(ActionId(row.action_id), node_record(row))

    def lines(self, action: ActionId) -> Sequence[NodeLine]:
        """Return the least about all nodes of the action, in order of name."""
        nodes = t.action_nodes.c
        rows = self._connection.execute(
            sa.select(nodes.name, nodes.status, nodes.groups, nodes.older)
            .where(nodes.action_id == action)
            .order_by(nodes.name)
        )
        statuses = {status.value: status for status in NodeStatus}
        return [NodeLine(name, statuses[status], groups, older) for name, status, groups, older in rows]

    def touched_since(self, moment: datetime, nodes: Collection[NodeName]) -> Collection[NodeName]:
        """Return those of the nodes that an action created after the moment deployed, tried to deploy or took down.

        A node that an action only kept is none of them.
        """
        held, actions = t.action_nodes.c, t.actions.c
        sent = sa.or_(held.group_name.is_not(None), held.reason == TORN_DOWN)
        query = sa.select(held.name).join_from(t.action_nodes, t.actions, actions.id == held.action_id)
        named = held.name == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text)))
        rows = self._connection.execute(query.where(actions.created_at > moment, worked_on(held), sent, named))
        return frozenset(map(NodeName, rows.scalars()))

    def newest_since(
        self, moment: datetime, nodes: Collection[NodeName]
    ) -> Mapping[NodeName, tuple[ActionName, NodeStatus]]:
        """Return the newest record of each of the nodes in actions created after the moment; none without a record.

        A record counts if its action submitted, kept or took down the node.
        """
        held, actions = t.action_nodes.c, t.actions.c
        rows = self._connection.execute(
            sa.select(held.name, held.status, actions.name.label("action_name"))
            .join_from(t.action_nodes, t.actions, actions.id == held.action_id)
            .where(
                actions.created_at > moment,
                worked_on(held),
                held.name == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text))),
            )
            .order_by(actions.created_at)
        )
        return {NodeName(row.name): (ActionName(row.action_name), NodeStatus(row.status)) for row in rows}

    def removed_since(self, moment: datetime, nodes: Collection[NodeName]) -> Mapping[NodeName, ActionId]:
        """Return the nodes that are gone since an action created after the moment took them down for good."""
        held, later = t.action_nodes.c, t.actions.alias()
        rows = self._connection.execute(
            sa.select(held.name, held.action_id, removed(held).label("removed"))
            .join_from(t.action_nodes, later, later.c.id == held.action_id)
            .where(
                later.c.created_at > moment,
                worked_on(held),
                held.name == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text))),
            )
            .order_by(later.c.created_at)
        )
        newest = {NodeName(row.name): row for row in rows}
        return {node: ActionId(row.action_id) for node, row in newest.items() if row.removed}

    def etcd_removal_began(self, node: NodeName) -> bool:
        """Return whether a teardown may have taken an etcd member of the node out, with no deployment of it since."""
        rows = t.node_teardowns.c
        latest = self._connection.execute(
            sa.select(rows.operation, rows.outcome, rows.etcd_begun, rows.at)
            .where(rows.node == node)
            .order_by(rows.id.desc())
            .limit(1)
        ).one_or_none()
        if latest is None or not latest.etcd_begun:
            return False
        if latest.operation == Operation.REMOVE_FROM_CLUSTER.value and Outcome(latest.outcome) in WENT_WELL:
            return False
        held = t.action_nodes.c
        deployed = sa.exists().where(
            held.name == node, held.status == NodeStatus.SUCCESS.value, held.updated_at > latest.at
        )
        return not self._connection.execute(sa.select(deployed)).scalar_one()

    def left_cordons(self, nodes: Collection[NodeName]) -> Mapping[NodeName, LeftCordon]:
        """Return those of the nodes that a drain left cordoned."""
        rows = t.node_teardowns.c
        return self._left_cordons(rows.node == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text))))

    def left_cordoned_by(self, action: ActionId, nodes: Collection[NodeName]) -> Mapping[NodeName, LeftCordon]:
        """Return those of the nodes that the action left cordoned, unless one was deployed since."""
        rows = t.node_teardowns.c
        named = rows.node == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text)))
        return self._left_cordons(sa.and_(named, rows.action_id == action))

    def _left_cordons(self, which: sa.ColumnElement[bool]) -> Mapping[NodeName, LeftCordon]:
        cordons = [record(LeftCordon, row) for row in self._connection.execute(left_cordons(which))]
        return {cordon.node: cordon for cordon in cordons}

    def teardowns(self, node: str, *, limit: int) -> Sequence[TeardownRecord]:
        """Return what began and ended of the node's teardowns, newest first."""
        rows, actions = t.node_teardowns.c, t.actions.c
        query = (
            sa.select(t.node_teardowns, actions.name)
            .join(t.actions, actions.id == rows.action_id)
            .where(rows.node == node)
            .order_by(rows.id.desc())
            .limit(limit)
        )
        return [record(TeardownRecord, row) for row in self._connection.execute(query)]

    def deployed(self, nodes: Collection[NodeName]) -> Collection[NodeName]:
        """Return those of the nodes that the newest action which worked on them deployed."""
        held = t.action_nodes.c
        newest = (
            sa.select(held.name, held.status)
            .where(held.name == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text))))
            .where(worked_on(held))
            .ext(distinct_on(held.name))
            .order_by(held.name, held.action_id.desc())
        )
        return frozenset(
            NodeName(row.name) for row in self._connection.execute(newest) if row.status == NodeStatus.SUCCESS.value
        )

    def failed(self) -> frozenset[NodeName]:
        """Return the nodes that the newest action which worked on them failed to deploy."""
        failed = self.latest(status=(NodeStatus.FAILURE.value,), prefix="", after="", limit=2**31 - 1)
        return frozenset(NodeName(record.node.name) for record in failed)

    def pending(self, nodes: Collection[NodeName]) -> Mapping[NodeName, Sequence[PendingWork]]:
        """Return what open actions have still to do with these nodes, the oldest action first."""
        held, actions = t.action_nodes.c, t.actions.c
        phases = {NodeStatus.NOT_STARTED.value: Phase.PREPARE, NodeStatus.PREPARED.value: Phase.DEPLOY}
        rows = self._connection.execute(
            sa.select(held.name, held.status, actions.id, actions.name.label("action_name"))
            .join_from(t.action_nodes, t.actions, actions.id == held.action_id)
            .where(
                actions.ended_at.is_(None),
                held.status.in_(list(phases)),
                held.name == sa.any_(sa.cast(list(nodes), ARRAY(sa.Text))),
            )
            .order_by(actions.id)
        )
        pending: defaultdict[NodeName, list[PendingWork]] = defaultdict(list)
        for row in rows:
            work = PendingWork(ActionId(row.id), ActionName(row.action_name), phases[row.status])
            pending[NodeName(row.name)].append(work)
        return pending

    def phase_history(
        self, names: Collection[ActionName], *, actions: int, before: ActionId | None = None
    ) -> Mapping[Phase, PhaseHistory]:
        """Return how nodes fared in both phases, and how long phases took, in the newest deploying actions.

        ``before``: only of actions created before this one. Neither late results nor nodes that a hold kept back count,
        and no phase that was stopped.
        """
        return phase_history(self._connection, names, actions=actions, before=before)

    def teardown_history(self, *, actions: int, before: ActionId | None = None) -> TeardownHistory:
        """Return how long servers took to be taken down and destroyed, in the newest actions that did so."""
        return teardown_history(self._connection, actions=actions, before=before)

    def usual_durations(self, names: Collection[ActionName], models: Mapping[NodeName, str], *, actions: int) -> Usual:
        """Return how long each phase usually lasts with nodes of these hardware profiles, in the newest actions."""
        return usual_durations(self._connection, names, models, actions=actions)

    def history(self, node: str, *, before: str | None, limit: int) -> Sequence[NodeHistory]:
        """Return what each action did with the node, newest first, only actions before the given id.

        The phases lack the names of their nodes.
        """
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
            NodeHistory(
                ActionId(row.action_id),
                ActionName(row.action_name),
                RunState(row.state),
                row.created_at,
                node_record(row),
                [_known(row), *changes.get(row.action_id, ())],
                phases[row.action_id],
            )
            for row in rows
        ]

    def _changes(self, node: str, actions: Sequence[str]) -> Mapping[str, Sequence[NodeChange]]:
        """Return each status that the node got after the first; only a group that holds it can have sent it."""
        changes, held = t.node_changes, _held(node, actions)
        of_its_groups = sa.tuple_(changes.c.action_id, changes.c.group_name).in_(sa.select(held))
        detail = changes.c.details[sa.func.array_position(changes.c.nodes, sa.cast(node, sa.Text))]
        shown = [column for column in changes.c if column.name not in ("nodes", "details")]
        rows = self._connection.execute(
            sa.select(*shown, sa.func.coalesce(detail, "").label("detail"))
            .where(
                changes.c.action_id.in_(actions),
                sa.or_(changes.c.group_name.is_(None), of_its_groups),
                sa.literal(node) == sa.any_(changes.c.nodes),
            )
            .order_by(changes.c.id)
        )
        by_action: defaultdict[str, list[NodeChange]] = defaultdict(list)
        for row in rows:
            by_action[row.action_id].append(record(NodeChange, row))
        return by_action

    def _phases(self, node: str, actions: Sequence[str]) -> Mapping[str, Sequence[PhaseRecord]]:
        """Return the phases that sent the node; only a group that holds it can have done so."""
        phases, held = t.group_phases, _held(node, actions)
        shown = [column for column in phases.c if column.name != "nodes"]
        rows = self._connection.execute(
            sa.select(*shown)
            .join(held, sa.and_(phases.c.action_id == held.c.action_id, phases.c.group_name == held.c.group_name))
            .where(sa.literal(node) == sa.any_(phases.c.nodes))
            .order_by(*IN_ORDER)
        )
        by_action: defaultdict[str, list[PhaseRecord]] = defaultdict(list)
        for row in rows:
            by_action[row.action_id].append(record(PhaseRecord, row, nodes=()))
        return by_action


def nodes_of_action(connection: sa.Connection, action: ActionId, wanted: Wanted) -> Sequence[NodeRecord]:
    """Return a page of the nodes of an action, in order of name."""
    nodes = t.action_nodes
    query = sa.select(nodes).where(nodes.c.action_id == action, nodes.c.name > wanted.after)
    if wanted.names:
        query = query.where(nodes.c.name == sa.any_(sa.cast(list(wanted.names), ARRAY(sa.Text))))
    if wanted.status:
        query = query.where(nodes.c.status.in_(wanted.status))
    if wanted.group:
        query = query.where(nodes.c.groups.overlap(sa.cast(list(wanted.group), nodes.c.groups.type)))
    return [node_record(row) for row in connection.execute(query.order_by(nodes.c.name).limit(wanted.limit))]


def _held(node: str, actions: Sequence[str]) -> "sa.Subquery":
    """Select the groups that hold a node, in each action."""
    nodes = t.action_nodes
    return (
        sa.select(nodes.c.action_id, sa.func.unnest(nodes.c.groups).label("group_name"))
        .where(nodes.c.name == node, nodes.c.action_id.in_(actions))
        .subquery()
    )


def _last(name: "sa.ColumnElement[Any]") -> "sa.Select[Any]":
    """Select the newest row of a node whose action worked on it; without one, the newest of all."""
    nodes, other = t.action_nodes, t.action_nodes.alias("other").c
    newest = sa.select(other.action_id).where(other.name == name).order_by(other.action_id.desc()).limit(1)
    worked, latest = (
        latest.correlate_except(other.name.table).scalar_subquery()
        for latest in (newest.where(worked_on(other)), newest)
    )
    return sa.select(nodes).where(nodes.c.name == name, nodes.c.action_id == sa.func.coalesce(worked, latest)).limit(1)


def _least(nodes: "sa.FromClause", after: Any) -> "sa.ScalarSelect[Any]":
    return sa.select(sa.func.min(nodes.c.name)).where(nodes.c.name > after).scalar_subquery()


def _known(row: Row) -> NodeChange:
    """Return the first status of a node in an action."""
    return NodeChange(row.known_at, NodeStatus.NOT_STARTED, None, None, None, "", late=False)


def node_record(row: Row) -> NodeRecord:
    """Return a row of ``action_nodes`` as readers get it."""
    late = Late(row.late_since, row.late_usual) if row.late_since is not None else None
    return record(NodeRecord, row, late=late)
