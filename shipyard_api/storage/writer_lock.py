"""A lock for writers of configdocs, across all hosts that share the database."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from shipyard_api.ports.documents import LockHeld
from shipyard_api.storage.connections import outages

# Any number that no other advisory lock in this database uses.
_WRITERS = 0x5317_C0D0


class SqlWriterLock:
    """Fills ``ports.documents.WriterLock`` with a session-level advisory lock.

    It does not expire, because an expired holder would go on and overwrite the next one's write. Holders keep it for a
    read and a write, never while a design is checked. No transaction is open meanwhile, because Deckhand may be slow.
    The lock ends with its session and so with its process; keepalives in ``unit_of_work.connect`` cover hosts that
    vanish. A holder that loses its session goes on without the lock; ``head`` in ``DesignStore.put`` detects that.
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
        # The interruption may have come after the database granted the lock.
        connection.invalidate()
        raise


def _release(connection: sa.Connection) -> None:
    """Release the lock, or close the session if that fails: it must not return to the pool with the lock."""
    released = False
    try:
        with contextlib.suppress(sa.exc.SQLAlchemyError):
            released = bool(connection.execute(sa.select(sa.func.pg_advisory_unlock(_WRITERS))).scalar_one())
    finally:
        if not released:
            connection.invalidate()
