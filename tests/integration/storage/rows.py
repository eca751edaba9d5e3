"""All rows of a database of ours, those of the queue included: counted, or gone."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from shipyard_api.storage.tables import metadata
from shipyard_api.storage.unit_of_work import SqlStore, SqlTransaction

JOBS = sa.table(
    "procrastinate_jobs", *map(sa.column, ("id", "queue_name", "task_name", "lock", "args", "status", "scheduled_at"))
)
TABLES = [*reversed(metadata.sorted_tables), JOBS]


def empty(engine: sa.Engine) -> None:
    """Take everything out: much quicker than another database."""
    with engine.begin() as connection:
        for table in TABLES:
            connection.execute(sa.delete(table))


def counts(engine: sa.Engine) -> dict[str, int]:
    """The number of rows in each table."""
    each = [sa.select(sa.literal(table.name), sa.func.count()).select_from(table) for table in TABLES]
    with engine.connect() as connection:
        return {row[0]: row[1] for row in connection.execute(sa.union_all(*each))}


class BrokenOffError(Exception):
    """Ends a transaction that was not finished."""


@contextmanager
def broken_off(store: SqlStore) -> Iterator[SqlTransaction]:
    """A transaction that breaks off at the end of its block, as when its process dies."""
    with suppress(BrokenOffError), store.begin() as tx:
        yield tx
        raise BrokenOffError
