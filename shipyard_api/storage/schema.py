"""Which schemas of the database this release works on: the code's side of ``migrations``, without its libraries.

ADR 0034: a newer release's migrations only add to the schema, until one says which programs it no longer serves.
"""

from contextlib import ExitStack, closing

import psycopg2

from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
from shipyard_api.storage.addresses import conninfo, open_connection

OLDEST = "0038"
"""The first schema with every table and column that the code uses."""

NEWEST = "0038"
"""The schema that ``db upgrade`` of this release leads to."""

ROLLING_FROM = "0023"
"""Programs that know this schema look at ``USABLE_FROM``; earlier ones must be stopped before an upgrade."""

CURRENT = """
SELECT version_num, obj_description('alembic_version'::regclass, 'pg_class') AS usable_from FROM alembic_version
"""
"""The schema of the database, and the oldest ``NEWEST`` of programs that work on it; NULL: only its own programs.

``db upgrade`` stores that as the comment of the table: a dump holds it, and programs of all releases can read it.
"""


def check(applied: str | None, usable_from: str | None = None) -> None:
    """Raise UnsuitableDatabase unless this release works on the schema: see ``CURRENT``. None: there is none."""
    if applied is None:
        raise UnsuitableDatabase("the database has no schema: run `shipyard db upgrade`")
    if applied < OLDEST:
        raise UnsuitableDatabase(
            f"the database has schema {applied}, and this release needs {supported()}: run `shipyard db upgrade`"
        )
    if is_newer(applied) and (usable_from is None or usable_from > NEWEST):
        raise UnsuitableDatabase(
            f"the database has schema {applied}, and this release knows only {supported()}: "
            "install the release that upgraded it, or restore a backup"
        )


def is_newer(applied: str | None) -> bool:
    """Return whether a newer release has upgraded the database."""
    return applied is not None and applied > NEWEST


def supported() -> str:
    """Return the range of schemas that this release works on."""
    return OLDEST if OLDEST == NEWEST else f"{OLDEST} to {NEWEST}"


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
    if not any_schema or is_newer(applied):
        check(applied, usable_from)
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
    """Return what ``CURRENT`` reads; None: the database has no schema. Raises StoreUnavailable."""
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
            cursor.execute(CURRENT)
        except psycopg2.errors.UndefinedTable:
            return None, None
        return cursor.fetchone() or (None, None)
