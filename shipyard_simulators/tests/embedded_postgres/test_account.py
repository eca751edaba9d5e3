"""The account of the server, for root and for an ordinary user."""

import os
import stat
from pathlib import Path

import pytest

from shipyard_simulators.embedded_postgres import binaries
from shipyard_simulators.embedded_postgres.account import SystemAccount
from shipyard_simulators.embedded_postgres.server import PostgresError, start
from shipyard_simulators.tests.embedded_postgres.servers import OWNER, QUICK, announced_by, only_root, owner_of


@only_root
def test_a_data_directory_out_of_reach_is_named_and_nothing_is_opened(parent: Path) -> None:
    closed = parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(PostgresError, match=rf"{closed.name} denies access.*/var/lib or /opt"):
        start(closed / "site" / "postgres")
    assert list(closed.iterdir()) == []
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@only_root
def test_root_uses_the_requested_account_and_keeps_the_owner_of_the_data(
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
        announced_by(owner)
        assert owner.wait() == 0
    assert {path.stat().st_uid for path in parent.rglob("*")} == {nobody.uid}
