"""A database that this release cannot work with is refused in one sentence that says what to do."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import psycopg2
import pytest
from psycopg2.extensions import make_dsn, parse_dsn

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.child_processes import die_with_parent
from shipyard_api.ports.state.errors import UnsuitableDatabase
from shipyard_api.storage import migrations, schema
from shipyard_api.storage.schema import check_database, schema_of
from shipyard_api.storage.tables import metadata
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_simulators.held_port import HeldPort
from tests.conftest import ROOT
from tests.waiting import PATIENCE, until

_AFTER = "9999"
_BEFORE = "0001"


def test_the_newest_schema_is_that_of_the_migrations() -> None:
    assert migrations.head(ROOT / "migrations") == schema.NEWEST


def test_the_oldest_schema_has_every_column_of_the_code(empty_database_url: str) -> None:
    """A release that starts on a schema without a column would answer 500 where the column is used."""
    engine = connect(empty_database_url, pool_size=1)
    migrations.upgrade(engine, ROOT / "migrations", schema.OLDEST)
    with engine.connect() as connection:
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        found = {tuple(row) for row in connection.exec_driver_sql(query)}
    engine.dispose()

    assert {(table.name, column.name) for table in metadata.sorted_tables for column in table.columns} <= found


@pytest.mark.parametrize(
    ("applied", "reason"),
    [
        pytest.param(None, "the database has no schema: run `shipyard db upgrade`", id="none"),
        pytest.param(_BEFORE, rf"has schema 0001, and this release needs {schema.supported()}: run", id="older"),
        pytest.param(
            _AFTER, rf"has schema 9999, and this release knows only {schema.supported()}: install", id="newer"
        ),
    ],
)
def test_an_unknown_schema_is_refused(applied: str | None, reason: str) -> None:
    with pytest.raises(UnsuitableDatabase, match=reason):
        schema.check(applied)


@pytest.mark.parametrize(("usable_from", "works"), [(schema.NEWEST, True), ("0001", True), (_AFTER, False)])
def test_a_newer_schema_says_which_programs_it_serves(database_url: str, usable_from: str, works: bool) -> None:
    with psycopg2.connect(database_url) as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE alembic_version SET version_num = %s", [_AFTER])
        cursor.execute("COMMENT ON TABLE alembic_version IS %s", [usable_from])
    connection.close()
    engine = connect(database_url, pool_size=1)
    store = Store(engine, ProcrastinateWakeup())

    for check in (store.check_schema, lambda: check_database(database_url)):
        with nullcontext() if works else pytest.raises(UnsuitableDatabase, match="knows only"):
            check()
    assert schema_of(database_url) == (_AFTER, usable_from)
    store.dispose()


def test_a_running_program_sees_that_its_schema_was_replaced(database_url: str) -> None:
    engine = connect(database_url, pool_size=1)
    store = Store(engine, ProcrastinateWakeup())
    store.check_schema()
    check_database(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{_AFTER}'")
        connection.exec_driver_sql("COMMENT ON TABLE alembic_version IS NULL")

    for check in (store.check_schema, lambda: check_database(database_url, any_schema=True)):
        with pytest.raises(UnsuitableDatabase, match="knows only"):
            check()
    store.dispose()


def test_a_database_without_a_schema_can_be_upgraded(empty_database_url: str) -> None:
    check_database(empty_database_url, any_schema=True)

    with pytest.raises(UnsuitableDatabase, match="no schema"):
        check_database(empty_database_url)


def test_a_database_that_stores_no_unicode_is_refused(database_url: str) -> None:
    name = f"ascii_{os.getpid()}"
    with closing(psycopg2.connect(database_url)) as connection, connection.cursor() as cursor:
        connection.autocommit = True
        cursor.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        try:
            with pytest.raises(UnsuitableDatabase, match="text as SQL_ASCII, and documents need UTF8: create one"):
                check_database(str(make_dsn(database_url, dbname=name)), any_schema=True)
        finally:
            cursor.execute(f"DROP DATABASE {name}")


Pooler = Callable[[str], str]


@pytest.fixture
def pooler(database_url: str, tmp_path: Path) -> Iterator[Pooler]:
    """Start a PgBouncer in front of the database, in a mode; return the URL through it."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed (Debian: apt install pgbouncer)")
    started: list[subprocess.Popen[bytes]] = []
    held: list[HeldPort] = []

    def start(mode: str) -> str:
        address = parse_dsn(database_url)
        held.append(HeldPort())
        port = held[-1].number
        configuration = tmp_path / f"{mode}.ini"
        configuration.write_text(
            f"[databases]\nsite = {make_dsn(**address)}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
        )
        command = [program, "-q", str(configuration)]
        if os.geteuid() == 0:  # it refuses to run as root
            tmp_path.chmod(0o755)
            command[1:1] = ["-u", "nobody"]
        started.append(subprocess.Popen(command, preexec_fn=die_with_parent))
        url = str(make_dsn(**{**address, "host": "127.0.0.1", "port": str(port), "dbname": "site"}))
        until(lambda: psycopg2.connect(url).close() is None, every=0.05, but=psycopg2.OperationalError)
        return url

    yield start
    for process in started:
        process.terminate()
        process.wait(PATIENCE)
    for port in held:
        port.close()


def test_a_pooler_in_transaction_mode_is_refused(pooler: Pooler) -> None:
    with pytest.raises(UnsuitableDatabase, match=r"pooler in transaction mode.*use session mode"):
        check_database(pooler("transaction"))


def test_a_pooler_in_session_mode_will_do(pooler: Pooler) -> None:
    url = pooler("session")

    check_database(url)
    engine = connect(url, pool_size=1)
    Store(engine, ProcrastinateWakeup()).check_schema()
    engine.dispose()
