"""Run migrations on the caller's connection, one migrating process at a time.

Lock and statement timeouts make a migration fail rather than block a running service. The advisory lock makes a
second migrating process wait for the first.
"""

from alembic import context
from sqlalchemy import Connection, text

from shipyard_api.storage.addresses import NO_IDLE_LIMIT
from shipyard_api.storage.migrations import usable_from
from shipyard_api.storage.tables import metadata

_MIGRATING = 0x5317_DB00


def _ours(name: str | None, kind: str, _parents: object) -> bool:
    """Leave the tables of the queue alone: they come and go with Procrastinate's own schema."""
    return not (kind == "table" and name is not None and name.startswith("procrastinate_"))


def _run(connection: Connection) -> None:
    connection.execute(text(NO_IDLE_LIMIT))
    connection.execute(text("SET lock_timeout = '10s'"))
    connection.execute(text("SET statement_timeout = '300s'"))
    connection.execute(text(f"SELECT pg_advisory_lock({_MIGRATING})"))
    connection.commit()
    try:
        context.configure(connection=connection, target_metadata=metadata, include_name=_ours)
        with context.begin_transaction():
            context.run_migrations()
            connection.execute(text(f"COMMENT ON TABLE alembic_version IS '{usable_from(context.script)}'"))
    finally:
        connection.rollback()
        connection.execute(text(f"SELECT pg_advisory_unlock({_MIGRATING})"))
        connection.commit()


_run(context.config.attributes["connection"])
