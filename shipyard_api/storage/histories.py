"""Notice that the database has another history than before, after a fail-over, from a dump or from a copy.

A promoted standby, and a dump, may lack the last writes of the history before, while peers hold what was sent then.
Each new connection looks once, before its first transaction: no connection outlives the promotion or the restoration
of its server, and none is made to a standby. Tables that are created again under a connection are seen by every claim
(``CURRENT_TABLE``).
"""

import logging
from datetime import datetime, timedelta
from typing import NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.domain.actions import ENDED, ActionId, RunState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.histories import HistoryIdentity, LostHistory, Position, difference
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.projections import Line
from shipyard_api.storage.site_tables import histories

LOG = logging.getLogger(__name__)

TOPIC = "History Lost"
CURRENT_TABLE: sa.Label[int] = sa.literal_column("actions.tableoid::bigint").label("of_table")

CONNECTION = "history"
"""Key in a connection's info for its ``Connected``, set once the history of its database was read."""

PLACE = sa.func.pg_wal_lsn_diff(sa.func.pg_current_wal_lsn(), "0/0").cast(sa.BigInteger).label("place")
"""The place in the write-ahead log. Every turn stores it, and the process remembers the highest."""

_LOCK = 0x5317_DB03
# No turn of the lost end of a history may pass for one of the new history, nor an entry of the journal. More turns and
# entries than could have been lost.
_EPOCHS = 1_000_000
_MOVING = tuple(state.value for state in RunState if state not in ENDED)
_NOW = sa.text("""
SELECT (SELECT system_identifier FROM pg_control_system()) AS system,
    ('x0' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(36)::bigint AS timeline,
    (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS database,
    pg_relation_filenode('actions')::bigint AS relation, 'actions'::regclass::oid::bigint AS of_table,
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS place, pg_postmaster_start_time() AS started,
    (SELECT max(place) FROM actions WHERE ended_at IS NULL) AS stored_place
""")
# A promotion ends with a checkpoint on the new timeline; NULL until it is done.
_PROMOTED_AT = sa.text("""
SELECT CASE WHEN timeline_id = :timeline THEN checkpoint_time END FROM pg_control_checkpoint()
""")
_AGE = sa.select(sa.func.clock_timestamp() - sa.func.max(histories.c.noticed_at))
_SKIP_ENTRIES = sa.text(f"SELECT setval('journal_id_seq', nextval('journal_id_seq') + {_EPOCHS})")  # constant
_NEWEST = sa.select(histories).order_by(histories.c.number.desc()).limit(1)


class Connected(NamedTuple):
    """What a connection learns first: the object id of our table, the start of the server, and its system."""

    table: int
    server: str
    system: int
    timeline: int


HIGHEST: dict[int, Position] = {}
"""How far this process has seen each system write: it does not go back without noticing."""


def notice(connection: sa.Connection) -> Connected:
    """Compare the history of this connection with the newest one that is stored.

    If they differ, or the server has written less than this process or a turn has seen, a new history is stored, and
    every action that has not ended asks the peers from now on before it sends anything.
    """
    seen = dict(HIGHEST)  # before the server is asked: other threads go on
    server = connection.execute(_NOW).one()
    now = _identity(server)
    before = seen.get(now.system)
    newest = connection.execute(_NEWEST).one_or_none()
    if newest is None or _lost(server, now, newest, before):
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        newest = connection.execute(_NEWEST).one_or_none()
        why = "" if newest is None else _lost(server, now, newest, before)
        if newest is None or why:
            _begin(connection, now, newest, why)
    HIGHEST[now.system] = Position(now.timeline, server.place)
    return Connected(server.of_table, f"{server.database}/{server.started.isoformat()}", now.system, now.timeline)


def _lost(
    server: "sa.Row[tuple[object, ...]]",
    now: HistoryIdentity,
    newest: "sa.Row[tuple[object, ...]]",
    before: Position | None,
) -> str:
    """Return why the end of the newest history may be lost; empty if it is the one of now."""
    if why := difference(_identity(newest), now):
        return why
    if newest.noticed_at >= server.started:
        return ""  # another process has noticed what happened before this start
    here = Position(now.timeline, server.place)
    if before is not None and here.timeline < before.timeline:
        return f"the old primary is used again (timeline {here.timeline} after {before.timeline})"
    if (before is not None and here < before) or (server.stored_place or 0) > here.place:
        return "the server has written less than before, as from a copy of its files or from a snapshot"
    return ""


def lost_history(
    connection: sa.Connection, action: ActionId, row: "sa.Row[tuple[object, ...]]", now: datetime
) -> LostHistory:
    """Return what a claim's row says of a loss. The first claim writes when it was noticed, by the clock of the engine.

    The database's own clock may be that of another host than before: only the seconds since then count.
    """
    answers = JobAnswers.from_json(row.job_answers) if row.job_answers else JobAnswers()
    connected: Connected | None = connection.info.get(CONNECTION)
    server = connected.server if connected else ""
    if connected is not None:
        HIGHEST[connected.system] = max(HIGHEST[connected.system], Position(connected.timeline, row.place))
    if row.lost_after is None:
        return LostHistory(min(row.created_at, now), None, answers, server)
    if row.loss_noticed_at is None:
        actions = t.actions.c
        unset = (actions.id == action, actions.loss_noticed_at.is_(None))
        noticed = now - max(connection.execute(_AGE).scalar_one(), timedelta(0))
        connection.execute(t.actions.update().where(*unset).values(loss_noticed_at=noticed))
        return LostHistory(row.lost_after, noticed, answers, server)
    return LostHistory(row.lost_after, row.loss_noticed_at, answers, server)


def check_table(connection: sa.Connection, table: int) -> None:
    """Raise StoreUnavailable, and drop the connection, if our table is another one than when the connection looked."""
    connected: Connected | None = connection.info.get(CONNECTION)
    if connected is not None and connected.table != table:
        connection.invalidate()
        raise StoreUnavailable("the tables of the database were created again")


def _begin(
    connection: sa.Connection, now: HistoryIdentity, newest: "sa.Row[tuple[object, ...]] | None", why: str
) -> None:
    number = 1 if newest is None else newest.number + 1
    values = {"system": now.system, "timeline": now.timeline, "database": now.database, "relation": now.table}
    # Nothing of the lost end was written after the promotion.
    promoted = (
        newest is not None
        and newest.timeline < now.timeline
        and replace(now, timeline=newest.timeline) == _identity(newest)
    )
    at = connection.execute(_PROMOTED_AT, {"timeline": now.timeline}).scalar_one() if promoted else None
    row = {"number": number, **values, "noticed_at": at or sa.func.clock_timestamp(), "difference": why}
    connection.execute(histories.insert().values(row))
    if newest is None:
        return
    # The cursor of a listener may be one of the lost end; new entries must come after it.
    connection.execute(_SKIP_ENTRIES)
    actions, items, lines = t.actions.c, t.work_items, t.journal.c
    last = sa.select(sa.func.max(lines.at)).where(lines.action_id == actions.id).scalar_subquery()
    after = sa.func.coalesce(actions.lost_after, last, actions.created_at)
    moving = connection.execute(
        t.actions.update()
        .where(actions.state.in_(_MOVING))
        .values(epoch=actions.epoch + _EPOCHS, lost_after=after, loss_noticed_at=None)
        .returning(actions.id, actions.epoch, actions.lost_after, sa.func.site_time().label("at"))
    ).all()
    open_items = items.c.ended_at.is_(None)
    connection.execute(items.update().where(open_items).values(epoch=items.c.epoch + _EPOCHS))
    for action in moving:
        text = (
            f"{why}; what this action did after {action.lost_after:%Y-%m-%d %H:%M:%S} UTC may be missing here. "
            "Shipyard asks the peers what they have been sent before it sends anything more, and notes what it finds"
        )
        line = Line(ActionId(action.id), action.epoch, None, action.at, "")
        journal.record(connection, line, [Noted(TOPIC, text)])
    fields = {"history": number, "difference": why, "actions": [action.id for action in moving]}
    LOG.error("the database tells another history: its last writes may be lost", extra=fields)


def _identity(row: "sa.Row[tuple[object, ...]]") -> HistoryIdentity:
    return HistoryIdentity(row.system, row.timeline, row.database, row.relation)
