"""Two Postgres servers that Patroni keeps, with the etcd and the programs that ``.ci/real_patroni.py`` provides."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psycopg2
import yaml

from shipyard_simulators.embedded_postgres import binaries, tcp_port
from shipyard_simulators.embedded_postgres.cluster import Cluster
from tests.sshd import children, signal_if_there
from tests.waiting import until

PASSWORD = "only-here"
# The shortest that Patroni accepts: a lost host is replaced when its key in etcd expires.
TIMES = {"ttl": 20, "loop_wait": 1, "retry_timeout": 3}


def missing() -> str:
    """Return why these tests cannot run here; empty if they can."""
    return "" if os.environ.get("PATRONI_BIN") else "no Patroni: run .ci/real_patroni.py"


@dataclass
class Member:
    """A server with its Patroni, as on one host."""

    name: str
    directory: Path
    port: int
    rest: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.directory / self.name / "data"

    def postgres(self) -> list[int]:
        """The processes of the server, the parent first."""
        with suppress(FileNotFoundError, ValueError):
            pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            return [pid, *children(pid)]
        return []


@dataclass
class Patroni:
    """A cluster of two members."""

    directory: Path
    synchronous: bool
    members: dict[str, Member] = field(default_factory=dict)

    def begin(self) -> None:
        """Start both members, and return when one follows the other."""
        found = binaries.find(self.directory, None)
        self._account = Cluster.at(self.directory / "one" / "data").account
        self._programs = binaries.within_reach(found, self._account, self.directory / "binaries")
        for name in ("one", "two"):
            member = self.members[name] = Member(name, self.directory, tcp_port.free(), tcp_port.free())
            member.data.parent.mkdir()
            os.chown(member.data.parent, self._account.uid, self._account.gid)
            self.start(member)
            if name == "one":
                self._wait(lambda: self.leader() is not None, "no leader")
        self.await_standby()
        with closing(psycopg2.connect(self._url([self.leader() or member], "postgres"))) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("CREATE DATABASE shipyard")

    @property
    def url(self) -> str:
        """The address that names both."""
        return self._url(list(self.members.values()), "shipyard")

    def start(self, member: Member) -> None:
        """Start the Patroni of a member, which starts its server."""
        path = member.data.parent / "patroni.yml"
        path.write_text(yaml.safe_dump(self._configuration(member)))
        lent = os.geteuid() == 0
        with (member.data.parent / "patroni.log").open("ab") as log:
            member.process = subprocess.Popen(
                [f"{os.environ['PATRONI_BIN']}/patroni", str(path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                user=self._account.uid if lent else None,
                group=self._account.gid if lent else None,
                extra_groups=[] if lent else None,
            )

    def leader(self) -> Member | None:
        """The member that accepts writes, as Patroni says."""
        return next((self.members[one["name"]] for one in self._states() if _leads(one)), None)

    def await_standby(self) -> Member:
        """Wait until the other member follows the leader; return the leader."""
        role = "sync_standby" if self.synchronous else "replica"

        def follows() -> bool:
            states = self._states()
            following = [one for one in states if one["role"] == role and one["state"] == "streaming"]
            return any(map(_leads, states)) and bool(following)

        self._wait(follows, "no standby follows")
        found = self.leader()
        assert found is not None
        return found

    def await_leader_after(self, before: Member) -> None:
        """Wait until another member than before accepts writes."""

        def accepts() -> bool:
            leader = self.leader()
            if leader in (None, before):
                return False
            with suppress(psycopg2.OperationalError):
                psycopg2.connect(self._url([leader], "postgres")).close()
                return True
            return False

        self._wait(accepts, "no other leader")

    def switch_over(self, leader: Member) -> None:
        """Let the standby take the place of the leader, as for maintenance."""
        other = next(name for name in self.members if name != leader.name)
        body = json.dumps({"leader": leader.name, "candidate": other}).encode()
        with urlopen(Request(f"http://127.0.0.1:{leader.rest}/switchover", body, method="POST"), timeout=60) as answer:
            assert answer.status == 200

    def kill_server(self, leader: Member) -> None:
        """Kill every process of the server; its Patroni lives."""
        for pid in leader.postgres():
            signal_if_there(pid, signal.SIGKILL)

    def kill_host(self, leader: Member) -> None:
        """Kill the server and its Patroni."""
        assert leader.process is not None
        leader.process.kill()
        leader.process.wait()
        self.kill_server(leader)

    def stop_sending(self, leader: Member) -> None:
        """Let the leader send nothing more to its standby: what it commits from now on is lost with it."""
        with closing(psycopg2.connect(self._url([leader], "postgres"))) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT pid FROM pg_stat_replication")
            for (pid,) in cursor.fetchall():
                signal_if_there(pid, signal.SIGSTOP)

    def tend(self) -> None:
        """Start every Patroni that has ended."""
        for member in self.members.values():
            if member.process is not None and member.process.poll() is not None:
                self.start(member)

    def close(self) -> None:
        """Stop all."""
        for member in self.members.values():
            if member.process is not None:
                member.process.kill()
                member.process.wait()
            self.kill_server(member)

    def _states(self) -> list[Mapping[str, Any]]:
        for member in self.members.values():
            with suppress(OSError, ValueError), urlopen(f"http://127.0.0.1:{member.rest}/cluster", timeout=2) as answer:
                found: list[Mapping[str, Any]] = json.loads(answer.read())["members"]
                return found
        return []

    def _wait(self, happened: Callable[[], bool], why: str) -> None:
        def logs() -> str:
            found = "".join((one.data.parent / "patroni.log").read_text()[-3000:] for one in self.members.values())
            return f"{why}: {self._states()}\n{found}"

        until(happened, logs, every=0.1)

    def _url(self, members: list[Member], database: str) -> str:
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in members)
        return f"postgresql://postgres:{PASSWORD}@{hosts}/{database}?target_session_attrs=read-write"

    def _configuration(self, member: Member) -> dict[str, Any]:
        host, account = "127.0.0.1", {"username": "postgres", "password": PASSWORD}
        certificates = Path(os.environ["PATRONI_ETCD_CERTS"])
        return {
            "scope": self.directory.name,
            "name": member.name,
            "restapi": {"listen": f"{host}:{member.rest}", "connect_address": f"{host}:{member.rest}"},
            "etcd3": {
                "hosts": os.environ["PATRONI_ETCD"],
                "protocol": "https",
                "cacert": str(certificates / "ca.crt"),
                "cert": str(certificates / "client.crt"),
                "key": str(certificates / "client.key"),
            },
            "bootstrap": {
                "dcs": {
                    **TIMES,
                    "synchronous_mode": self.synchronous,
                    "primary_start_timeout": 0,  # a killed server is replaced, and not started again
                    "postgresql": {"parameters": {"max_connections": 100, "fsync": "off", "max_wal_senders": 5}},
                },
                "initdb": [{"encoding": "UTF8"}, "no-sync"],
            },
            "postgresql": {
                "listen": f"{host}:{member.port}",
                "connect_address": f"{host}:{member.port}",
                "data_dir": str(member.data),
                "bin_dir": str(Path(self._programs.program("postgres")).parent),
                "pgpass": str(member.data.parent / "pgpass"),
                "authentication": {"superuser": account, "replication": account},
                "parameters": {"unix_socket_directories": str(member.data.parent)},
                "pg_hba": [f"host {what} all {host}/32 scram-sha-256" for what in ("all", "replication")]
                + ["local all all scram-sha-256"],
                "basebackup": [{"checkpoint": "fast"}, "no-sync"],
                # Without pg_rewind: a former leader is copied anew.
                "remove_data_directory_on_diverged_timelines": True,
            },
        }


def _leads(state: Mapping[str, Any]) -> bool:
    return state["role"] == "leader" and state["state"] == "running"


@contextmanager
def patroni(*, synchronous: bool) -> Iterator[Patroni]:
    """Run a cluster below a temporary directory, which is removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="shipyard-patroni-"))
    directory.chmod(0o755)  # the account of the servers must pass
    cluster = Patroni(directory, synchronous)
    try:
        cluster.begin()
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(directory, ignore_errors=True)
