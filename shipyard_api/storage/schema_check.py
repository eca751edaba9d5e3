"""Whether this release can work with the database: asked once by each program, before it starts."""

from contextlib import ExitStack, closing

import psycopg2

from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
from shipyard_api.storage import schema
from shipyard_api.storage.addresses import conninfo, open_connection

# A pooler that lends out idle connections lends the one in question first; others may be taken in between.
_PROBES = 4


def check_database(url: str, *, any_schema: bool = False) -> str | None:
    """Return the schema of the database, None if it has none.

    ``any_schema``: accept a database without a schema or with an older one, which ``db upgrade`` mends.

    Raises UnsuitableDatabase if this release cannot work with the database, StoreUnavailable if it does not answer.
    """
    try:
        with closing(open_connection(url)) as connection:
            connection.autocommit = True
            if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
                raise UnsuitableDatabase(
                    f"the database stores text as {encoding}, and documents need UTF8: create one "
                    "with `createdb --encoding UTF8 --template template0`"
                )
            if connection.info.backend_pid != _server(connection) and _is_shared(connection, url):
                raise UnsuitableDatabase(
                    "DATABASE_URL leads to a connection pooler in transaction mode, which breaks locks and "
                    "notifications: use session mode (PgBouncer: pool_mode = session)"
                )
            applied, usable_from = _applied(connection)
    except psycopg2.OperationalError as error:
        raise _unavailable(error) from error
    if not any_schema or schema.is_newer(applied):
        schema.check(applied, usable_from)
    return applied


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


def schema_of(url: str) -> tuple[str | None, str | None]:
    """Return what ``schema.CURRENT`` reads; None: the database has no schema. Raises StoreUnavailable."""
    try:
        with closing(open_connection(url)) as connection:
            return _applied(connection)
    except psycopg2.OperationalError as error:
        raise _unavailable(error) from error


def _unavailable(error: psycopg2.OperationalError) -> StoreUnavailable:
    return StoreUnavailable((str(error).strip().splitlines() or ["no answer"])[0])


def _applied(connection: "psycopg2.extensions.connection") -> tuple[str | None, str | None]:
    with connection.cursor() as cursor:
        try:
            cursor.execute(schema.CURRENT)
        except psycopg2.errors.UndefinedTable:
            return None, None
        return cursor.fetchone() or (None, None)
