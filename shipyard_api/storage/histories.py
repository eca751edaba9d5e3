"""Notice that the database has another history than before, after a fail-over or from a restored dump.

A promoted standby, and a dump, may lack the last writes of the history before, while peers hold what was sent then.
Each new connection looks once, before its first transaction: no connection outlives the promotion or the restoration
of its server, and none is made to a standby. Tables that are created again under a connection are seen by every claim
(``CURRENT_TABLE``).
"""

import logging
from dataclasses import replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED, ActionId, RunState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.histories import HistoryIdentity, LostHistory, difference
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage import journal
from shipyard_api.storage import tables as t
from shipyard_api.storage.history_tables import histories
from shipyard_api.storage.projections.line import Line

LOG = logging.getLogger(__name__)

TOPIC = "History Lost"
CURRENT_TABLE: sa.Label[int] = sa.literal_column("actions.tableoid::bigint").label("of_table")

CONNECTION = "history"
"""Key in a connection's info for the id of our table, set once the history of its database was read."""

_LOCK = 0x5317_DB03
# No turn of the lost end of a history may pass for one of the new history, nor an entry of the journal. More turns and
# entries than could have been lost.
_EPOCHS = 1_000_000
_MOVING = tuple(state.value for state in RunState if state not in ENDED)
_NOW = sa.text("""
SELECT (SELECT system_identifier FROM pg_control_system()) AS system,
    ('x0' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(36)::bigint AS timeline,
    (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS database,
    pg_relation_filenode('actions')::bigint AS relation, 'actions'::regclass::oid::bigint AS of_table
""")
# A promotion ends with a checkpoint on the new timeline; NULL until it is done.
_PROMOTED_AT = sa.text("""
SELECT CASE WHEN timeline_id = :timeline THEN checkpoint_time END FROM pg_control_checkpoint()
""")
_AGE = sa.select(sa.func.clock_timestamp() - sa.func.max(histories.c.noticed_at))
_SKIP_ENTRIES = sa.text(f"SELECT setval('journal_id_seq', nextval('journal_id_seq') + {_EPOCHS})")  # constant
_NEWEST = sa.select(histories).order_by(histories.c.number.desc()).limit(1)


def notice(connection: sa.Connection) -> int:
    """Compare the history of this connection with the newest one that is stored; return our table's object id.

    If they differ, the new history is stored, and every action that has not ended asks the peers from now on before it
    sends anything.
    """
    server = connection.execute(_NOW).one()
    now = _identity(server)
    newest = connection.execute(_NEWEST).one_or_none()
    if newest is None or _identity(newest) != now:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        newest = connection.execute(_NEWEST).one_or_none()
        if newest is None or _identity(newest) != now:
            _begin(connection, now, newest)
    of_table: int = server.of_table
    return of_table


def lost_history(
    connection: sa.Connection, action: ActionId, row: "sa.Row[tuple[object, ...]]", now: datetime
) -> LostHistory | None:
    """Return what a claim's row says of a loss. The first claim writes when it was noticed, by the clock of the engine.

    The database's own clock may be that of another host than before: only the seconds since then count.
    """
    if row.lost_after is None:
        return None
    answers = JobAnswers.from_json(row.job_answers) if row.job_answers else JobAnswers()
    if row.loss_noticed_at is None:
        actions = t.actions.c
        unset = (actions.id == action, actions.loss_noticed_at.is_(None))
        noticed = now - max(connection.execute(_AGE).scalar_one(), timedelta(0))
        connection.execute(t.actions.update().where(*unset).values(loss_noticed_at=noticed))
        return LostHistory(row.lost_after, noticed, answers)
    return LostHistory(row.lost_after, row.loss_noticed_at, answers)


def check_table(connection: sa.Connection, table: int) -> None:
    """Raise StoreUnavailable, and drop the connection, if our table is another one than when the connection looked."""
    if connection.info.get(CONNECTION, table) != table:
        connection.invalidate()
        raise StoreUnavailable("the tables of the database were created again")


def _begin(connection: sa.Connection, now: HistoryIdentity, newest: "sa.Row[tuple[object, ...]] | None") -> None:
    why = "" if newest is None else difference(_identity(newest), now)
    number = 1 if newest is None else newest.number + 1
    values = {"system": now.system, "timeline": now.timeline, "database": now.database, "relation": now.table}
    # Nothing of the lost end was written after the promotion.
    promoted = newest is not None and replace(now, timeline=newest.timeline) == _identity(newest)
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
