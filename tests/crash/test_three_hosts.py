"""What a site notices of a lost host: API and worker on three hosts, and one of them killed or cut off.

``python -B .ci/real_hosts.py -s`` prints the seconds. All times of Shipyard are those that ship.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg2
import pytest
import requests

from shipyard_api.wiring.settings import share_directory
from shipyard_simulators.embedded_postgres.server import temporary
from tests import hosts, run_histories
from tests.crash.test_take_over import Journal, design, judge, migrate
from tests.hosts import Host, Net
from tests.stand import Stand
from tests.waiting import until

pytestmark = [pytest.mark.crash, pytest.mark.skipif(bool(hosts.missing()), reason=hosts.missing() or "")]

# Seconds, as all times here. The product's figure is 10, on a quiet machine; what went wrong before cost 60 and 300.
BOUND = 30.0
GROUPS = 25
ACCESS = "local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all 10.0.0.0/8 scram-sha-256\n"


BLOWS: dict[str, Callable[[Host], None]] = {
    "killed": Host.kill,
    "cut off": lambda host: host.cut_off(*Net),
    "cut off from Postgres": lambda host: host.cut_off(Net.DATABASE),
    "cut off from Drydock": lambda host: host.cut_off(Net.SITE),
}
ROUNDS = 2


@dataclass
class Site:
    """Three hosts, and what they are connected to."""

    stand: Stand
    url: str
    all: list[Host] = field(default_factory=list)

    def tend(self) -> None:
        """Restart what has exited."""
        for host in self.all:
            host.tend()

    def at_work(self) -> Host:
        """The host whose worker wrote the newest line of the journal."""
        with closing(psycopg2.connect(self.url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT worker FROM journal WHERE worker <> '' ORDER BY id DESC LIMIT 1")
            (worker,) = cursor.fetchone() or ("",)
        return next(host for host in self.all if worker.endswith(f":{host.pid('worker')}"))


@contextmanager
def site(directory: Path) -> Iterator[Site]:
    """A site whose API and worker run on three hosts; Drydock asks a further API for designs."""
    addresses = f"127.0.0.1,{Net.DATABASE.gateway}"
    with ExitStack() as stack:
        # The account of the server cannot read the directories of tests.
        readable = Path(stack.enter_context(TemporaryDirectory()))
        readable.chmod(0o755)
        access = readable / "pg_hba.conf"
        access.write_text(ACCESS)
        access.chmod(0o644)
        hosts.lay_networks()
        stack.callback(hosts.remove_networks)
        server = stack.enter_context(temporary({"listen_addresses": addresses, "hba_file": str(access)}))
        migrate(server.url)
        stand = stack.enter_context(Stand(directory, server.url, scale=0.01, times={}))
        stand.commit(design(GROUPS))
        environment = environment_of(stand, server.url)
        made = Site(stand, server.url)
        for number in range(3):
            host = Host(number, directory, environment)
            stack.callback(host.close)
            made.all.append(host)
            host.start("worker", "shipyard_api.programs.worker")
            bind = f"{host.address(Net.SITE)}:9000"
            configuration = str(share_directory() / "etc" / "gunicorn.conf.py")
            host.start("api", "gunicorn", "-c", configuration, "-b", bind, "shipyard_api.programs.asgi:app")
        yield made


def environment_of(stand: Stand, url: str) -> dict[str, str]:
    """The settings of the hosts' programs."""
    port = hosts.relay(int(stand.simulator.rpartition(":")[2]))
    return {
        **stand.service(),
        "DATABASE_URL": url.replace("127.0.0.1", Net.DATABASE.gateway),
        "SHIPYARD_DRYDOCK_URL": f"http://{Net.SITE.gateway}:{port}/api/v1.0",
    }


def answers(stand: Stand, host: Host, path: str) -> bool:
    """Whether the API of a host answers."""
    try:
        url = f"http://{host.address(Net.SITE)}:9000{path}"
        return requests.get(url, headers={"X-Auth-Token": stand.token}, timeout=3).status_code in (200, 204)
    except requests.RequestException:
        return False


def test_a_lost_host_costs_seconds(tmp_path: Path) -> None:
    """Each blow meets the host that has just begun a submission."""
    quiet: dict[str, list[float]] = {}
    with site(tmp_path) as here:
        stand, journal = here.stand, Journal(here.url)
        until(lambda: all(answers(stand, host, "/health") for host in here.all))
        action = stand.deploy_site()
        for name, blow in list(BLOWS.items()) * ROUNDS:
            journal.await_progress(2)
            journal.await_submission()
            lost = here.at_work()
            blow(lost)
            quiet.setdefault(name, []).append(journal.quiet_after(time.time()))
            others = [host for host in here.all if host is not lost]
            # The API of a host that was lost before may still be starting.
            assert any(answers(stand, host, f"/api/v1.0/actions/{action}") for host in others)
            lost.boot()
        until(lambda: here.tend() or stand.action(action)["verdict"] is not None, every=0.5)
        assert stand.action(action)["verdict"] == "success"
        judge(stand, GROUPS)
        assert run_histories.of_processes("lost-hosts", here.url, {"drydock": stand.events()}, made_by="crash") == []
    print()
    for name, seconds in quiet.items():
        print(f"from a host that is {name} to progress: {', '.join(f'{one:.1f}' for one in sorted(seconds))} s")
    assert max(max(seconds) for seconds in quiet.values()) < BOUND
