"""Figures of the site for metrics: one query of ours, and two of the queue."""

from collections import defaultdict

import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED, RunState
from shipyard_api.domain.facts.cases import CaseChanged, CaseOpened
from shipyard_api.domain.histories import Replication
from shipyard_api.domain.holds import HoldClass
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.state.measures import Count, HistoryState, QueueHealth, QueueLoad, SiteCounts
from shipyard_api.ports.wakeup import Wakeup
from shipyard_api.storage import tables as t
from shipyard_api.storage.hold_rows import is_active
from shipyard_api.storage.site_tables import histories, node_specifications

_OPEN = tuple(state.value for state in RunState if state not in ENDED)
_NONE = sa.literal("")


class Measures:
    """Figures of the site."""

    def __init__(self, connection: sa.Connection, wakeup: Wakeup) -> None:
        self._connection = connection
        self._wakeup = wakeup

    def counts(self) -> SiteCounts:
        """Return the figures. A few queries, whose time does not grow with the nodes of earlier actions.

        Only actions are counted as a whole; the rest belongs to one or to open ones.
        """
        counts: defaultdict[str, list[Count]] = defaultdict(list)
        for row in self._connection.execute(_COUNTS):
            counts[row.kind].append(Count(tuple(label for label in (row.first, row.second) if label), row.number))
        return SiteCounts(
            actions=counts["actions"],
            groups=counts["groups"],
            phases=counts["phases"],
            nodes=counts["nodes"],
            items=counts["items"],
            stragglers=_only(counts["stragglers"]),
            holds=_only(counts["holds"]),
            failed=_only(counts["failed"]),
            late=_only(counts["late"]),
            cases=_only(counts["cases"]),
            older=_only(counts["older"]),
            queue=self._load(),
            heartbeats=self._heartbeats(),
        )

    def replication(self) -> Replication:
        """Return how the database replicates; walsenders of logical replication and of backups are no standbys."""
        row = self._connection.execute(_REPLICATION).one()
        return Replication(row.standbys, row.synchronous, row.names, row.commit)

    def history(self) -> HistoryState:
        """Return the newest history of the database, number 0 before the first."""
        row = self._connection.execute(_HISTORY).one_or_none()
        if row is None:
            return HistoryState(0, "", None, 0)
        return HistoryState(row.number, row.difference, row.noticed_at if row.difference else None, row.reconciling)

    def queue(self) -> QueueHealth:
        """Return how the queue and its workers are."""
        lag = max((load.oldest for load in self._load()), default=0.0)
        return QueueHealth(lag, min(self._heartbeats(), default=None))

    def _load(self) -> list[QueueLoad]:
        rows = self._connection.execute(sa.text(self._wakeup.load()))
        return [QueueLoad(row.queue, row.state, row.jobs, max(0.0, row.oldest or 0.0)) for row in rows]

    def _heartbeats(self) -> list[float]:
        return [max(0.0, seconds) for (seconds,) in self._connection.execute(sa.text(self._wakeup.heartbeats()))]


_REPLICATION = sa.text("""
SELECT count(r.pid) AS standbys, current_setting('synchronous_standby_names') AS names,
    current_setting('synchronous_commit') AS commit,
    CASE WHEN count(r.pid) = count(r.sync_state) THEN count(*) FILTER (WHERE r.sync_state IN ('sync', 'quorum')) END
    AS synchronous
FROM pg_stat_replication r
WHERE r.state IS DISTINCT FROM 'backup'
    AND NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
""")
_reconciling = sa.select(sa.func.count()).where(t.actions.c.state.in_(_OPEN), t.actions.c.lost_after.is_not(None))
_HISTORY = (
    sa.select(histories, _reconciling.scalar_subquery().label("reconciling"))
    .order_by(histories.c.number.desc())
    .limit(1)
)


def _only(counts: list[Count]) -> int:
    return counts[0].number if counts else 0


def _count(
    kind: str, first: "sa.ColumnElement[str]" = _NONE, second: "sa.ColumnElement[str]" = _NONE
) -> "sa.Select[str, str, str, int]":
    grouped = [column for column in (first, second) if column is not _NONE]
    columns = (sa.literal(kind).label("kind"), first.label("first"), second.label("second"))
    return sa.select(*columns, sa.func.count().label("number")).group_by(*grouped)


def _of_latest_site_action(action: "sa.ColumnElement[str]") -> "sa.ColumnElement[bool]":
    # Ids of actions are in order of their creation, and the primary key finds the last one.
    latest = sa.select(t.actions.c.id).where(t.actions.c.exclusive).order_by(t.actions.c.id.desc()).limit(1)
    return action == latest.scalar_subquery()


_open_actions = sa.select(t.actions.c.id).where(t.actions.c.state.in_(_OPEN)).scalar_subquery()
_muted = sa.exists().where(
    t.holds.c.node == t.action_nodes.c.name, t.holds.c.hold_class == HoldClass.NO_ALERTS.value, *is_active()
)
# A record that has moved since the action ended: by a redeployment, service, relabelling or adoption.
_given_since = sa.exists().where(
    node_specifications.c.name == t.action_nodes.c.name,
    t.actions.c.id == t.action_nodes.c.action_id,
    node_specifications.c.at > t.actions.c.ended_at,
)
# Cases that are open in the latest site action; its journal has few entries of the kind.
_opened = sa.case((t.journal.c.kind == CaseOpened.kind, 1), else_=-1)
_cases = (
    sa.select(
        sa.literal("cases").label("kind"),
        _NONE.label("first"),
        _NONE.label("second"),
        sa.func.sum(_opened).label("number"),
    )
    .where(t.OF_A_CASE, t.journal.c.kind != CaseChanged.kind, _of_latest_site_action(t.journal.c.action_id))
    .having(sa.func.count() > 0)
)
_COUNTS = sa.union_all(
    _cases,
    _count("actions", t.actions.c.name, t.actions.c.state).select_from(t.actions),
    _count("groups", t.deployment_groups.c.status).where(_of_latest_site_action(t.deployment_groups.c.action_id)),
    _count("phases", t.group_phases.c.phase, t.group_phases.c.status).where(
        _of_latest_site_action(t.group_phases.c.action_id)
    ),
    _count("nodes", t.action_nodes.c.status).where(_of_latest_site_action(t.action_nodes.c.action_id)),
    _count("items", t.work_items.c.state).where(t.work_items.c.action_id.in_(_open_actions)),
    _count("stragglers").select_from(t.stragglers).where(t.stragglers.c.ended_at.is_(None)),
    _count("late")
    .select_from(t.action_nodes)
    .where(t.action_nodes.c.late_since.is_not(None), t.action_nodes.c.action_id.in_(_open_actions), ~_muted),
    _count("failed")
    .select_from(t.action_nodes)
    .where(
        _of_latest_site_action(t.action_nodes.c.action_id),
        t.action_nodes.c.status == NodeStatus.FAILURE.value,
        ~_muted,
    ),
    _count("older")
    .select_from(t.action_nodes)
    .where(_of_latest_site_action(t.action_nodes.c.action_id), t.action_nodes.c.older, ~_given_since),
    _count("holds")
    .select_from(t.holds)
    .where(t.holds.c.released_at.is_(None), sa.or_(t.holds.c.until.is_(None), t.holds.c.until > sa.func.now())),
)
