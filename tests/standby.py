"""Two Postgres servers: a primary, and a synchronous standby that a test promotes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2

from shipyard_simulators.embedded_postgres import binaries
from shipyard_simulators.embedded_postgres.cluster import Cluster
from shipyard_simulators.embedded_postgres.server import RunningPostgres, start
from tests.sshd import children, signal_if_there
from tests.waiting import until


@dataclass
class Pair:
    """A primary and its standby, by their names below ``directory``; a promotion swaps them."""

    directory: Path
    primary: str = "one"
    standby: str = "two"
    _servers: dict[str, RunningPostgres] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address that names both, the first primary first."""
        urls = [self._servers[name].url for name in ("one", "two")]
        hosts = ",".join(url.rpartition("@")[2].partition("/")[0] for url in urls)
        return f"{urls[0].rpartition('@')[0]}@{hosts}/shipyard?target_session_attrs=read-write"

    @property
    def primary_url(self) -> str:
        """The address of the primary alone."""
        return self._servers[self.primary].url

    def begin(self) -> None:
        """Start both."""
        self._servers[self.primary] = start(self._data(self.primary))
        self.follow()

    def follow(self) -> None:
        """Make the other server a new standby of the primary; commits wait for it from now on."""
        primary, standby = self._servers[self.primary], Cluster.at(self._data(self.standby))
        if self.standby in self._servers:
            self._stop(self.standby)
            shutil.rmtree(standby.data)
        standby.make_parents()
        standby.data.mkdir(mode=0o700)
        os.chown(standby.data, standby.account.uid, standby.account.gid)
        shutil.copy2(Cluster.at(self._data(self.primary)).beside("password"), standby.beside("password"))
        copy = ["pg_basebackup", "--pgdata", str(standby.data), "--dbname", primary.url]
        _run(standby, *copy, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        self._servers[self.standby] = start(standby.data)
        # After the copy: the standby waits for no other when it is the primary.
        self._ask(self.primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        self._ask(self.primary, "SELECT pg_reload_conf()")
        state = "SELECT sync_state FROM pg_stat_replication"
        until(lambda: self._ask(self.primary, state) == [("sync",)], lambda: "the standby does not follow", every=0.05)

    def kill_primary(self) -> None:
        """Kill every process of the primary: its port refuses connections."""
        self._signal(self.primary, signal.SIGKILL)

    def freeze_primary(self) -> None:
        """Let the primary hang: its connections stay open, it accepts new ones, and answers none."""
        self._signal(self.primary, signal.SIGSTOP)

    def promote(self) -> None:
        """Make the standby the primary, and return when it accepts writes."""
        self.primary, self.standby = self.standby, self.primary
        assert self._ask(self.primary, "SELECT pg_promote(true, 60)") == [(True,)]

    def unlink(self) -> None:
        """Let no commit wait for the standby any more."""
        self._ask(self.primary, "ALTER SYSTEM RESET synchronous_standby_names")
        self._ask(self.primary, "SELECT pg_reload_conf()")

    def cut_standby(self) -> None:
        """Stop the standby: it knows nothing of what comes after."""
        self._stop(self.standby)

    def promote_cut(self) -> None:
        """Lose the primary; make the standby that was cut the primary, without what came after."""
        self._stop(self.primary)
        self._servers[self.standby] = start(self._data(self.standby))
        self.promote()

    def lose_primary(self) -> None:
        """Stop the primary after the standby has all of it, and make that the primary."""
        self._stop(self.primary)
        self.promote()

    def keep(self, *, plain_copy: bool) -> Path:
        """Copy the files of the primary: by a base backup, or plainly while it is stopped."""
        cluster, kept = Cluster.at(self._data(self.primary)), self.directory / "kept"
        if plain_copy:
            self._stop(self.primary)
            subprocess.run(["cp", "--archive", str(cluster.data), str(kept)], check=True)
            self._servers[self.primary] = start(cluster.data)
        else:
            kept.mkdir(mode=0o700)
            os.chown(kept, cluster.account.uid, cluster.account.gid)
            _run(cluster, "pg_basebackup", "--pgdata", str(kept), "--dbname", self.primary_url, "--checkpoint=fast")
        return kept

    def go_back(self, kept: Path | None) -> None:
        """Lose the primary; start its files of before, or without any the old primary."""
        data = self._data(self.primary)
        self._stop(self.primary)
        if kept is None:
            self.primary, self.standby = self.standby, self.primary
        else:
            shutil.rmtree(data)
            kept.rename(data)
        self._servers[self.primary] = start(self._data(self.primary))

    def close(self) -> None:
        """Stop both, hanging or not."""
        for name in list(self._servers):
            self._stop(name)

    def _data(self, name: str) -> Path:
        return self.directory / name / "data"

    def _stop(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)
        server = self._servers.pop(name)
        was_killed = not server.is_running()
        server.stop()
        if was_killed:
            # Recovers without a port, and removes the shared memory that the killed server left.
            cluster = Cluster.at(self._data(name))
            _run(cluster, "postgres", "--single", "-D", str(cluster.data), "postgres")

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self._servers[name].pid
        for one in (pid, *children(pid)):
            signal_if_there(one, number)

    def _ask(self, name: str, statement: str) -> list[tuple[Any, ...]]:
        with closing(psycopg2.connect(self._servers[name].url)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []


def _run(cluster: Cluster, program: str, *arguments: str) -> None:
    found = binaries.find(cluster.data, None)
    programs = binaries.within_reach(found, cluster.account, cluster.beside("binaries"))
    ran = cluster.account.run([programs.program(program), *arguments])
    assert ran.returncode == 0, ran.stdout


@contextmanager
def pair() -> Iterator[Pair]:
    """Run two servers below a temporary directory, which is removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="shipyard-postgres-"))
    directory.chmod(0o755)  # the account of the servers must pass
    servers = Pair(directory)
    try:
        servers.begin()
        yield servers
    finally:
        servers.close()
        shutil.rmtree(directory, ignore_errors=True)
