"""The databases of a test run: one Postgres for all of its processes, databases that are emptied and used again.

The process that controls the run holds a lock for as long as it lives. The first process that needs a database starts
``tests/run_postgres.py``, which serves them all and ends, with all of its files, when the kernel releases that lock:
also after a run that was killed.
"""

from __future__ import annotations

import fcntl
import io
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psycopg2

from shipyard_simulators.embedded_postgres.errors import PostgresError
from shipyard_simulators.embedded_postgres.server import stop_orphan

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = "migrated"
_MEMORY = Path("/dev/shm")
_PREFIX = "shipyard-tests-"
_HOUR = 3600.0
_SERVERS = "shipyard-postgres-*/data"  # of embedded_postgres.server.temporary

# What a clone and its template have in common until somebody changes the schema or marks another version of it: the
# newest transaction in each catalogue. Sequences that begin anew leave no trace in these.
_SCHEMA = """
SELECT string_agg(newest::text, ' '), (SELECT string_agg(version_num, ' ') FROM alembic_version) FROM (
    SELECT (count(*), max(xmin::text::bigint)) AS newest FROM pg_attribute
    UNION ALL SELECT (count(*), max(xmin::text::bigint)) FROM pg_constraint
    UNION ALL SELECT (count(*), max(xmin::text::bigint)) FROM pg_trigger
    UNION ALL SELECT (count(*), max(xmin::text::bigint)) FROM pg_proc
    UNION ALL SELECT (count(*), max(xmin::text::bigint)) FROM pg_namespace
    UNION ALL SELECT (count(*), max(xmin::text::bigint)) FROM pg_db_role_setting
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS catalogues
"""
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
_USED = """
SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
AND relname <> 'alembic_version' AND pg_relation_size(oid) > 0
"""
# Most tables never had a row; the others have few, which DELETE takes out without making new files. Postgres itself
# looks only each tenth of a second whether those that it hung up on are gone.
_EMPTY = f"""
DO $$
DECLARE name text;
BEGIN
    FOR attempt IN 1..2500 LOOP
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
        EXIT WHEN NOT FOUND;
        PERFORM pg_sleep(0.002), pg_stat_clear_snapshot();
    END LOOP;
    SET LOCAL session_replication_role = replica;
    FOR name IN {_TABLES} LOOP
        IF pg_relation_size(format('public.%I', name)::regclass) > 0 THEN
            EXECUTE format('DELETE FROM %I', name);
        END IF;
    END LOOP;
    FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL LOOP
        EXECUTE format('ALTER SEQUENCE %I RESTART', name);
    END LOOP;
END
$$
"""


@dataclass
class Run:
    """A test run, as the process that controls it knows it."""

    directory: Path
    lock: IO[bytes]

    @classmethod
    def begin(cls) -> Run:
        """Begin a run; whatever serves it ends when this process does."""
        remove_left_runs()
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = (directory / "alive").open("wb")
        fcntl.lockf(lock, fcntl.LOCK_EX)
        return cls(directory, lock)

    def end(self) -> None:
        """Let what serves the run end."""
        if not (self.directory / "postgres.log").exists():
            shutil.rmtree(self.directory)
        self.lock.close()


@dataclass
class Databases:
    """The server of a run, whose directory is shared by the processes of the run, with the databases of this one."""

    directory: Path
    url: str = field(init=False)
    _free: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        with (self.directory / "starting").open("wb") as starting:
            fcntl.lockf(starting, fcntl.LOCK_EX)
            address = self.directory / "url"
            if not address.exists():
                self._start()
            self.url = address.read_text()
        with _connected(self.of(TEMPLATE)) as cursor:
            cursor.execute(_SCHEMA)
            self._schema = cursor.fetchone()

    def of(self, database: str) -> str:
        """Return the address of a database."""
        return f"{self.url.rpartition('/')[0]}/{database}"

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """Lend a migrated database without rows."""
        name = self._free.pop() if self._free else self._create(f"TEMPLATE {TEMPLATE} STRATEGY file_copy")
        yield self.of(name)
        if self._emptied(name):
            self._free.append(name)
        else:
            self._drop(name)

    @contextmanager
    def without_tables(self) -> Iterator[str]:
        """Lend a database without tables."""
        name = self._create()
        yield self.of(name)
        self._drop(name)

    def _start(self) -> None:
        with (self.directory / "postgres.log").open("wb") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "tests.run_postgres", str(self.directory)],
                cwd=ROOT,
                env=os.environ | ({"TMPDIR": str(_MEMORY)} if _has_room(_MEMORY) else {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C ends the run, and the run ends the server
            )
        assert server.stdout is not None
        with server.stdout:
            assert server.stdout.readline(), (self.directory / "postgres.log").read_text()
        server.returncode = 0  # nobody waits for it: it outlives this process

    def _create(self, options: str = "") -> str:
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        with _connected(self.url) as cursor:
            cursor.execute(f"CREATE DATABASE {name} {options}")
        return name

    def _drop(self, name: str) -> None:
        let_go(self.of(name))
        with _connected(self.url) as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _emptied(self, name: str) -> bool:
        try:
            return _asked(self.of(name), _EMPTY, _SCHEMA) == self._schema
        except psycopg2.Error:
            return False  # the test has changed more than rows


def empty(url: str) -> None:
    """Take all rows out of a migrated database, and hang up on everybody else who is connected to it."""
    _asked(url, _EMPTY)


@contextmanager
def one_after_another(url: str, new: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Make worlds in one database: each closes the one before, whose rows are taken out."""
    made: list[Any] = []

    def make(*names: Any, **plan: Any) -> Any:
        if made:
            made.pop().close()
            empty(url)
        made.append(new(url, *names, **plan))
        return made[-1]

    yield make
    for world in made:  # a test that was skipped made none
        world.close()


def let_go(url: str) -> None:
    """Hang up on a database, which cannot be copied while anybody is connected to it."""
    if connection := _kept.pop(url, None):
        connection.close()


# By address: for a new connection Postgres reads its catalogues anew, which takes it ten times as long as what we ask.
_kept: dict[str, psycopg2.extensions.connection] = {}


def _asked(url: str, *queries: str) -> object:
    """Return the row that the last query found, if any; the connection stays."""
    if url in _kept:
        with suppress(psycopg2.OperationalError, psycopg2.InterfaceError):  # a test has hung up on us
            return _row(_kept[url], queries)
        let_go(url)
    _kept[url] = psycopg2.connect(url)
    _kept[url].autocommit = True
    return _row(_kept[url], queries)


def _row(connection: psycopg2.extensions.connection, queries: Sequence[str]) -> object:
    with connection.cursor() as cursor:
        for query in queries:
            cursor.execute(query)
        return cursor.fetchone() if cursor.description else None


def remove_left_runs() -> None:
    """Remove what is left of runs that were killed together with whatever served them."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError), (directory / "alive").open("r+b") as alive:
            fcntl.lockf(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # What serves a run that has just ended removes it.
            if time.time() - (directory / "alive").stat().st_mtime > _HOUR:
                shutil.rmtree(directory, ignore_errors=True)
    for data in (*Path(tempfile.gettempdir()).glob(_SERVERS), *_MEMORY.glob(_SERVERS)):
        with suppress(PostgresError):
            stop_orphan(data)
            shutil.rmtree(data.parent, ignore_errors=True)


def _has_room(directory: Path) -> bool:
    return directory.is_dir() and os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > 2**30


Rows = dict[str, bytes]


def saved(cursor: psycopg2.extensions.cursor) -> Rows:
    """Return all committed rows, by name of the table; a table that never had any is left out."""
    cursor.execute(_USED)
    rows = {}
    for (table,) in cursor.fetchall():
        copy = io.BytesIO()
        cursor.copy_expert(f"COPY {table} TO STDOUT (FORMAT binary)", copy)
        rows[table] = copy.getvalue()
    return rows


def restore(cursor: psycopg2.extensions.cursor, rows: Rows) -> None:
    """Put back the rows that were saved in this database; its sequences go on from where they are."""
    cursor.execute("SET LOCAL session_replication_role = replica")
    cursor.execute("SET LOCAL lock_timeout = '20s'")
    cursor.execute(_USED)
    if used := [table for (table,) in cursor.fetchall()]:
        cursor.execute(";".join(f"DELETE FROM {table}" for table in used))
    for table, copy in rows.items():
        cursor.copy_expert(f"COPY {table} FROM STDIN (FORMAT binary)", io.BytesIO(copy))


@contextmanager
def _connected(url: str) -> Iterator[psycopg2.extensions.cursor]:
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            yield cursor
