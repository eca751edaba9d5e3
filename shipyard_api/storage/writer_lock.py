"""One writer of the configdocs at a time, on all hosts that share the database."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from shipyard_api.ports.documents import LockHeld
from shipyard_api.storage.outages import outages

# Any number will do, as long as nothing else in this database takes the same advisory lock.
_WRITERS = 0x5317_C0D0


class SqlWriterLock:
    """Fills ``ports.documents.WriterLock`` with a lock that belongs to a session of the database.

    It does not expire: whoever reads and writes under it would go on, and overwrite what the next one writes. It is
    held only for that, never while a design is checked. No transaction is open meanwhile, since a store that is a peer
    may take its time. A session that ends takes the lock with it, and ends with its process; ``unit_of_work.connect``
    sees to hosts that vanish. A holder that loses its session goes on without the lock: that is what ``head`` in
    ``DesignStore.put`` is for.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for the length of the block; raises LockHeld at once, and StoreUnavailable."""
        with outages():
            connection = self._engine.connect()
        try:
            if not _taken(connection):
                raise LockHeld("configdocs_update")
            try:
                yield
            finally:
                _release(connection)
        finally:
            connection.close()


def _taken(connection: sa.Connection) -> bool:
    try:
        with outages():
            connection.execution_options(isolation_level="AUTOCOMMIT")
            return bool(connection.execute(sa.select(sa.func.pg_try_advisory_lock(_WRITERS))).scalar_one())
    except BaseException:
        # Whoever broke in may have done so after the database had given the lock.
        connection.invalidate()
        raise


def _release(connection: sa.Connection) -> None:
    """Give the lock back, or the whole session if that fails: it must not return to the pool with the lock."""
    given_back = False
    try:
        with contextlib.suppress(sa.exc.SQLAlchemyError):
            given_back = bool(connection.execute(sa.select(sa.func.pg_advisory_unlock(_WRITERS))).scalar_one())
    finally:
        if not given_back:
            connection.invalidate()
