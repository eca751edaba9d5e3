"""Servers and owners that are killed, in every way that we know of."""

import contextlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg2
import pytest

from shipyard_simulators.embedded_postgres import binaries, tcp_port
from shipyard_simulators.embedded_postgres.account import choose
from shipyard_simulators.embedded_postgres.server import PostgresError, start, stop_orphan
from shipyard_simulators.tests.embedded_postgres.servers import (
    AS_ROOT,
    QUICK,
    announced_by,
    ask,
    is_alive,
    nodes,
    owner_of,
    remember,
)
from shipyard_simulators.tests.waiting import until


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
        orphan, url = announced_by(owner)
        remember(url, "n2")
    assert is_alive(orphan)
    with start(used, settings=QUICK) as postgres:
        assert not is_alive(orphan)
        assert (postgres.url, nodes(postgres)) == (url, ["n1", "n2"])


def test_owner_and_server_killed_together_are_recovered(used: Path) -> None:
    with owner_of(used) as owner:
        orphan, url = announced_by(owner)
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
        announced_by(owner)
        with pytest.raises(PostgresError, match=rf"process {owner.pid}\)"):
            start(used)


def test_stop_orphan_stops_what_a_killed_owner_left_and_nothing_else(used: Path) -> None:
    assert stop_orphan(used) is None
    with owner_of(used) as owner:
        orphan, _ = announced_by(owner)
    assert stop_orphan(used) == orphan
    assert not is_alive(orphan)
    assert stop_orphan(used) is None


def test_a_server_started_by_hand_is_left_alone(used: Path) -> None:
    account = choose(used)
    programs = binaries.within_reach(binaries.find(used, None), account, used.with_name("postgres.binaries"))
    control = [programs.program("pg_ctl"), "-s", "-w"]
    with tempfile.TemporaryFile() as log:
        options = f"-k '' -h 127.0.0.1 -p {tcp_port.free()}"
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
def test_the_server_starts_with_any_content_of_postmaster_pid(used: Path, noted: str) -> None:
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
