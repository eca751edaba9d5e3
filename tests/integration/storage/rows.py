"""All rows of a database of ours, those of the queue included: counted, or gone."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

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


class BrokenOffError(Exception):
    """Ends a transaction that was not finished."""


@contextmanager
def broken_off(store: Store) -> Iterator[Transaction]:
    """A transaction that breaks off at the end of its block, as when its process dies."""
    with suppress(BrokenOffError), store.begin() as tx:
        yield tx
        raise BrokenOffError
