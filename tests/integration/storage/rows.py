"""All rows of a database of ours, those of the queue included: counted, or gone."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import sqlalchemy as sa

from shipyard_api.storage.tables import metadata
from shipyard_api.storage.unit_of_work import Store, Transaction

JOBS = sa.table(
    "procrastinate_jobs", *map(sa.column, ("id", "queue_name", "task_name", "lock", "args", "status", "scheduled_at"))
)
TABLES = [*reversed(metadata.sorted_tables), JOBS]
_EMPTY = ";".join(f"DELETE FROM {table.name}" for table in TABLES)
# The clock is measured now and then, whoever asks for the time; the history is noticed by the first transaction.
_COUNTED = [table.name for table in TABLES if table.name not in ("clock_anchors", "histories")]
_COUNTS = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in _COUNTED)


def empty(engine: sa.Engine) -> None:
    """Take everything out: much quicker than another database."""
    with engine.begin() as connection:
        connection.exec_driver_sql(_EMPTY)


def counts(engine: sa.Engine) -> dict[str, int]:
    """The number of rows in each table, without the measures of the clock."""
    with engine.connect() as connection:
        return {row[0]: row[1] for row in connection.exec_driver_sql(_COUNTS)}


def saved(engine: sa.Engine) -> dict[str, bytes]:
    """Return what is in the tables, without those of tokens and of the clock: as ``put`` takes it."""
    with engine.begin() as connection:
        cursor = connection.connection.cursor()
        copies = {name: io.BytesIO() for name, count in counts(engine).items() if count and name != "api_tokens"}
        for name, copy in copies.items():
            cursor.copy_expert(f"COPY {name} TO STDOUT (FORMAT binary)", copy)
    return {name: copy.getvalue() for name, copy in copies.items()}


def put(engine: sa.Engine, rows: Mapping[str, bytes]) -> None:
    """Put rows into an empty database, in which no trigger reacts to them; sequences go on from where they are."""
    with engine.begin() as connection:
        cursor = connection.connection.cursor()
        cursor.execute("SET LOCAL session_replication_role = replica")
        for name, copy in rows.items():
            cursor.copy_expert(f"COPY {name} FROM STDIN (FORMAT binary)", io.BytesIO(copy))


class BrokenOffError(Exception):
    """Ends a transaction that was not finished."""


@contextmanager
def broken_off(store: Store) -> Iterator[Transaction]:
    """A transaction that breaks off at the end of its block, as when its process dies."""
    with suppress(BrokenOffError), store.begin() as tx:
        yield tx
        raise BrokenOffError


def with_stopped_clock(engine: sa.Engine, url: str) -> str:
    """Return the address of a database whose sessions read a clock that has stopped, where they ask for its time."""
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP FUNCTION IF EXISTS public.clock_timestamp()")
        stopped = f"SELECT '{datetime.now(UTC).isoformat()}'::timestamptz"
        connection.exec_driver_sql(
            f"CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ {stopped} $$"
        )
    return f"{url}?options=-c%20search_path%3Dpublic,pg_catalog"
