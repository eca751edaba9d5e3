"""A server on a data directory: start, stop, restart, ports, passwords and settings."""

import contextlib
import os
import signal
import stat
import tempfile
from pathlib import Path

import psycopg2
import pytest

from shipyard_simulators.embedded_postgres import control, server
from shipyard_simulators.embedded_postgres.server import PostgresError, start
from shipyard_simulators.tests.embedded_postgres.servers import (
    QUICK,
    ask,
    is_alive,
    listening,
    nodes,
    remember,
    siblings,
)
from shipyard_simulators.tests.waiting import until


def test_data_url_and_durability_outlive_a_stop(data: Path) -> None:
    data.mkdir(parents=True)  # an empty directory is as good as none
    with start(data) as postgres:
        url, pid = postgres.url, postgres.pid
        assert url.startswith("postgresql://shipyard:")
        assert ask(postgres, "SHOW fsync") == ask(postgres, "SHOW synchronous_commit") == [("on",)]
        assert ask(postgres, "SHOW server_encoding") == [("UTF8",)]
        assert ask(postgres, "SHOW listen_addresses") == [("127.0.0.1",)]
        remember(postgres, "n1")
    assert not is_alive(pid)
    with start(data, settings=QUICK | {"max_connections": "7"}) as postgres:
        assert postgres.url == url
        assert nodes(postgres) == ["n1"]
        assert ask(postgres, "SHOW max_connections") == [("7",)]
    # The programs are there as well if the account cannot reach them where they were installed.
    assert siblings(data) - {".binaries"} == {"", ".password", ".log", ".lock", ".owner"}
    password = data.with_name("postgres.password").stat()
    assert (stat.S_IMODE(password.st_mode), password.st_uid) == (0o600, os.geteuid())


def test_restart_keeps_url_and_data_and_stop_may_be_repeated(used: Path) -> None:
    postgres = start(used, settings=QUICK)
    url, pid = postgres.url, postgres.pid
    postgres.restart()
    assert (postgres.url, nodes(postgres)) == (url, ["n1"])
    assert postgres.pid != pid
    postgres.stop()
    postgres.stop()
    assert not postgres.is_running()
    with pytest.raises(PostgresError, match="was stopped"):
        postgres.restart()


def test_a_port_taken_meanwhile_is_replaced_by_start_and_waited_for_by_restart(used: Path) -> None:
    with listening(_port_of(used)) as other:
        postgres = start(used, settings=QUICK)
        assert f":{other.getsockname()[1]}/" not in postgres.url
    with postgres:
        url = postgres.url
        os.kill(postgres.pid, signal.SIGKILL)
        until(lambda: not is_alive(postgres.pid))
        taken = rf"taken its port, 127\.0\.0\.1:{_port_of(used)}"
        with listening(_port_of(used)), pytest.raises(PostgresError, match=taken):
            postgres.restart(timeout=0.5)
        postgres.restart()
        assert postgres.url == url


def test_a_frozen_server_is_stopped_within_seconds(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_FAST_SECONDS", 0.1)
    monkeypatch.setattr(control, "_IMMEDIATE_SECONDS", 0.1)
    with start(used, settings=QUICK) as postgres, contextlib.closing(psycopg2.connect(postgres.url)) as connection:
        child = connection.info.backend_pid
        for frozen in (child, postgres.pid):
            os.kill(frozen, signal.SIGSTOP)
        postgres.stop()
        assert not is_alive(postgres.pid)
        until(lambda: not is_alive(child))
    with start(used, settings=QUICK) as postgres:
        assert nodes(postgres) == ["n1"]


def test_only_the_password_opens_the_server(used: Path) -> None:
    with start(used, settings=QUICK) as postgres:
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            ask(postgres.url.replace("shipyard:", "shipyard:x"), "SELECT 1")
        assert b"shipyard.word=" in Path(f"/proc/{postgres.pid}/cmdline").read_bytes()
        assert postgres.url.split(":")[2].split("@")[0] not in Path(f"/proc/{postgres.pid}/cmdline").read_text()


def test_a_lost_or_foreign_password_is_said_so(used: Path) -> None:
    with start(used, settings=QUICK) as postgres:
        pid = postgres.pid
    password = used.with_name("postgres.password")
    password.write_text("another\n")
    with pytest.raises(PostgresError, match=r"password in .*postgres\.password does not match the data"):
        start(used, settings=QUICK)
    assert not is_alive(pid)
    password.unlink()
    with pytest.raises(PostgresError, match=r"postgres\.password, is missing"):
        start(used, settings=QUICK)


def test_a_server_that_does_not_start_shows_its_log_and_frees_the_directory(used: Path) -> None:
    with pytest.raises(PostgresError, match=r"postgres\.log:\n(?s:.*)shared_buffers"):
        start(used, settings=QUICK | {"shared_buffers": "many potatoes"})
    with start(used, settings=QUICK | {"application_name": "it's $HOME; true"}) as postgres:
        assert ask(postgres, "SHOW shared_buffers") == [("32MB",)]


def test_a_setting_that_is_ours_is_refused(data: Path) -> None:
    with pytest.raises(PostgresError, match="'port'"):
        start(data, settings={"port": "5432"})


def test_data_of_another_version_is_not_touched(used: Path) -> None:
    (used / "PG_VERSION").write_text("12\n")
    with pytest.raises(PostgresError, match=r"created by PostgreSQL 12.*pg_dump.*pg_upgrade"):
        start(used)


def test_a_directory_with_other_files_is_not_touched(data: Path) -> None:
    data.mkdir(parents=True)
    (data / "thesis.tex").write_text("for years")
    with pytest.raises(PostgresError, match="no PostgreSQL data"):
        start(data)
    assert [path.name for path in data.iterdir()] == ["thesis.tex"]


def test_temporary_leaves_no_process_and_no_file(monkeypatch: pytest.MonkeyPatch, parent: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(parent))
    with server.temporary(QUICK) as postgres:
        assert ask(postgres, "SELECT current_database(), current_user") == [("shipyard", "shipyard")]
        assert [path.name.startswith("shipyard-postgres-") for path in parent.iterdir()] == [True]
    assert not is_alive(postgres.pid)
    assert list(parent.iterdir()) == []


def _port_of(data: Path) -> int:
    return int(data.with_name("postgres.owner").read_text().partition('"port": ')[2].partition(",")[0])
