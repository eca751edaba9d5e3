"""A real Postgres whose clock, log position and start are those of a test, and which a test takes back in time.

Functions of the schema ``public`` come before those of Postgres itself, in every session of the database: statements of
the product, its stored functions and the queue's all read the virtual time.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812  # the driver's name for a class

from tests.databases import Rows, empty, let_go, restore, saved

_numbers = itertools.count(1)

_VIRTUAL = """
CREATE SCHEMA IF NOT EXISTS virtual;
CREATE TABLE virtual.server (at timestamptz, started timestamptz, written bigint, is_full boolean);
INSERT INTO virtual.server VALUES ('2026-01-01', '2026-01-01', 1, false);
CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM virtual.server';
CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM virtual.server';
CREATE FUNCTION public.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT started FROM virtual.server';
CREATE FUNCTION public.pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE sql STABLE
    AS $$SELECT '0/0'::pg_lsn + written FROM virtual.server$$;
CREATE FUNCTION virtual.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT is_full FROM virtual.server) THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
    END IF;
    RETURN NULL;
END
$$;
"""
# Defaults of columns have kept the function that they were made with.
_EACH_TABLE = """
DO $$
DECLARE found record;
BEGIN
    FOR found IN SELECT tablename AS name FROM pg_tables
        WHERE schemaname = 'public' AND tablename <> 'alembic_version' AND tablename NOT LIKE 'procrastinate%' LOOP
        EXECUTE format('CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON %I EXECUTE FUNCTION virtual.refuse()',
            found.name);
    END LOOP;
    FOR found IN SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND column_default = 'now()' LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT public.now()', found.table_name, found.column_name);
    END LOOP;
END
$$
"""
_WITHOUT_SIGN = """
UPDATE histories SET database = (SELECT oid FROM pg_database WHERE datname = current_database()),
    relation = pg_relation_filenode('actions')
"""


@dataclass
class VirtualDatabase:
    """The database at a URL. Whatever it is made into, its address stays the same."""

    url: str
    copies: list[str] = field(default_factory=list)
    _connection: Connection | None = None
    _told: datetime | None = None

    @classmethod
    def emptied(cls, url: str) -> VirtualDatabase:
        """Return the database at this address without rows."""
        made = cls(url)
        empty(url)
        if made.one("SELECT to_regclass('virtual.server')")[0] is None:
            made.run(_VIRTUAL)
            made.run(_EACH_TABLE)
            made.server(f"ALTER DATABASE {made.name} SET search_path = public, pg_catalog")
            made.hang_up()
        made.run("UPDATE virtual.server SET at = '2026-01-01', started = '2026-01-01', written = 1, is_full = false")
        return made

    @property
    def name(self) -> str:
        """The name of the database at its server."""
        return self.url.rpartition("/")[2]

    def run(self, statement: str, values: Any = None) -> None:
        """Run a statement, as nobody of the site does."""
        with self._cursor() as cursor:
            cursor.execute(statement, values)

    def one(self, statement: str, values: Any = None) -> Any:
        """Return the first row that a query finds, None if there is none."""
        with self._cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchone()

    def all(self, statement: str, values: Any = None) -> list[Any]:
        """Return all rows that a query finds."""
        with self._cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    def server(self, *statements: str) -> None:
        """Run statements at the server, outside of this database."""
        with closing(psycopg2.connect(f"{self.url.rpartition('/')[0]}/postgres")) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)

    # Faults.

    def tell(self, now: datetime) -> None:
        """Set the clock of the server, which has written something meanwhile."""
        if now != self._told and not self.is_away:
            self.run("UPDATE virtual.server SET at = %s, written = written + 1", (now,))
            self._told = now

    is_away: bool = False

    def go_away(self) -> None:
        """End all sessions, and accept no new ones."""
        self.is_away = True
        self.server(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
        self.hang_up()

    def come_back(self) -> None:
        """Accept sessions again."""
        self.server(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")
        self.is_away, self._told = False, None

    def fill(self, *, is_full: bool) -> None:
        """Let the disk of the server be full, or have room again."""
        self.run("UPDATE virtual.server SET is_full = %s", (is_full,))

    def hang_up(self) -> None:
        """End all sessions of this database."""
        self._close()
        let_go(self.url)
        self.server(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{self.name}'")

    def keep(self) -> str:
        """Copy the database as it is now; return the name of the copy. All sessions end."""
        copy = f"{self.name}_{next(_numbers)}"
        self.hang_up()
        self.server(
            f"CREATE DATABASE {copy} TEMPLATE {self.name} STRATEGY file_copy",
            f"ALTER DATABASE {copy} SET search_path = public, pg_catalog",
        )
        self.copies.append(copy)
        return copy

    def go_back(self, copy: str, now: datetime, *, sign: bool) -> None:
        """Use the copy from now on; without a ``sign``, nothing in it says that it is one."""
        self.hang_up()
        lost = f"{self.name}_lost"
        self.server(
            f"ALTER DATABASE {self.name} RENAME TO {lost}",
            f"ALTER DATABASE {copy} RENAME TO {self.name}",
            f"DROP DATABASE {lost} WITH (FORCE)",
        )
        self.copies.remove(copy)
        if not sign:
            self.run(_WITHOUT_SIGN)
        self.run("UPDATE virtual.server SET at = %s, started = %s", (now, now))
        self._told = now

    def dump(self) -> Rows:
        """Return all rows."""
        with self._cursor() as cursor:
            return saved(cursor)

    def truncate_and_restore(self, rows: Rows) -> None:
        """Put rows of a dump into tables that are emptied with TRUNCATE; all sessions end."""
        self.hang_up()
        connection = self._connected()
        connection.autocommit = False
        with connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT string_agg(format('%I', tablename), ', ') FROM pg_tables WHERE schemaname = 'public' "
                "AND tablename <> 'alembic_version'"
            )
            cursor.execute(f"TRUNCATE {cursor.fetchone()[0]}")
            restore(cursor, rows)
        connection.autocommit = True

    def close(self) -> None:
        """Drop the copies that were never used."""
        if self.is_away:
            self.come_back()
        self._close()
        for copy in self.copies:
            self.server(f"DROP DATABASE {copy} WITH (FORCE)")

    def _cursor(self) -> Any:
        return self._connected().cursor()

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg2.connect(self.url)
            self._connection.autocommit = True
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
