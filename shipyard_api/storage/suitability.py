"""Whether this release can work with the database: asked once by each program, before it starts."""

from contextlib import ExitStack, closing

import psycopg2

from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
from shipyard_api.storage import schema
from shipyard_api.storage.addresses import conninfo, open_connection

# A pooler that lends out idle connections lends the one in question first; others may be taken in between.
_PROBES = 4


def check_database(url: str, *, any_schema: bool = False) -> None:
    """Raise UnsuitableDatabase if this release cannot work with the database; StoreUnavailable if it does not answer.

    ``any_schema``: accept a database without a schema or with an older one, which ``db upgrade`` mends.
    """
    try:
        with closing(open_connection(url)) as connection:
            connection.autocommit = True
            if connection.info.backend_pid != _server(connection) and _is_shared(connection, url):
                raise UnsuitableDatabase(
                    "DATABASE_URL leads to a connection pooler in transaction mode, which breaks locks and "
                    "notifications: use session mode (PgBouncer: pool_mode = session)"
                )
            applied = _applied(connection)
    except psycopg2.OperationalError as error:
        raise StoreUnavailable((str(error).strip().splitlines() or ["no answer"])[0]) from error
    if not any_schema or (applied or "") > schema.NEWEST:
        schema.check(applied)


def _is_shared(connection: "psycopg2.extensions.connection", url: str) -> bool:
    """Return whether a pooler gives our server connection to others while we are connected and idle."""
    ours = _server(connection)
    with ExitStack() as others:
        for _ in range(_PROBES):
            # Not autocommit: each keeps what it was lent.
            other = others.enter_context(closing(psycopg2.connect(conninfo(url))))
            if _server(other) == ours or _server(connection) != ours:
                return True
    return False


def _server(connection: "psycopg2.extensions.connection") -> int:
    """Return the process id of the server behind the connection; a pooler makes up the one that libpq knows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (row,) = cursor.fetchall()
    return int(row[0])


def _applied(connection: "psycopg2.extensions.connection") -> str | None:
    with connection.cursor() as cursor:
        try:
            cursor.execute(schema.CURRENT)
        except psycopg2.errors.UndefinedTable:
            return None
        row = cursor.fetchone()
    return str(row[0]) if row else None
