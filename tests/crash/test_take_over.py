"""How long nothing happens at default settings when a worker is killed, or the database fails over.

``./dev crash tests/crash/test_take_over.py -n 0 -s`` prints the seconds. The simulated site is fast; all times of
Shipyard are those that ship.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import requests
import yaml

from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.steps import Broke, Intended, Waiting
from shipyard_api.storage import migrations
from shipyard_api.storage.unit_of_work import connect
from shipyard_simulators.embedded_postgres.server import temporary
from tests.conftest import ROOT
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.stand import Stand
from tests.standby import Pair, pair
from tests.supervisor import Supervisor
from tests.waiting import until

pytestmark = pytest.mark.crash

BOUND = 10.0  # seconds, as all times here
USUAL_START = 2.0
SCALE = 0.01
NO_PROGRESS = (Broke.kind, Intended.kind, Noted.kind, Waiting.kind)


def design(groups: int) -> bytes:
    """A site of groups in a row, so that there is always one thing to do next."""
    names = [f"group-{at:02}" for at in range(groups)]
    limits = {f"{phase}_timeout": 30_000 for phase in ("verify", "prepare_site", "prepare_node", "deploy")}
    limits |= {f"{phase}_interval": 30 for phase in ("prepare_node", "deploy")}
    entries = [
        group_entry(name, critical=True, depends_on=names[:at][-1:], selectors=[{"node_tags": [name]}])
        for at, name in enumerate(names)
    ]
    configuration = {"armada": {"manifest": "full-site"}, "physical_provisioner": limits}
    return yaml.safe_dump_all([
        layering_policy(),
        document("drydock/Region/v1", "region", {}),
        document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", configuration),
        strategy_document(*entries),
        *(node_document(f"{name}-{at}", tags=[name]) for name in names for at in range(2)),
    ]).encode()  # fmt: skip


@dataclass
class Journal:
    """The journal of the only action, read beside the run."""

    url: str

    def progress(self) -> dict[int, float]:
        """Lines that show progress: their moments as Unix time, by number."""
        lines = self._read("SELECT id, at FROM journal WHERE kind <> ALL(%s) ORDER BY id", list(NO_PROGRESS))
        return {number: at.timestamp() for number, at in lines}

    def await_progress(self, lines: int) -> None:
        before = len(self.progress())
        until(lambda: len(self.progress()) >= before + lines)

    def await_work_of(self, pid: int, lines: int) -> None:
        """Wait for further progress of one worker."""
        own = "SELECT count(*) FROM journal WHERE kind <> ALL(%s) AND worker LIKE %s"
        count = lambda: self._read(own, list(NO_PROGRESS), f"%:{pid}")[0][0]  # noqa: E731
        before = count()
        until(lambda: count() >= before + lines)

    def await_submission(self) -> None:
        """Wait for the next intent; what it is for is being sent when this returns."""
        newest = "SELECT max(id) FROM journal WHERE kind = %s"
        before = self._read(newest, Intended.kind)
        with self._connected() as cursor:

            def intended() -> bool:
                cursor.execute(newest, [Intended.kind])
                return cursor.fetchall() != before

            until(intended, every=0.001)

    def quiet_after(self, moment: float) -> float:
        """Seconds from a moment to the next line of progress; waits for it."""
        until(lambda: max(self.progress().values()) > moment)
        return min(at for at in self.progress().values() if at > moment) - moment

    def _read(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._connected() as cursor:
            cursor.execute(query, values)
            return cursor.fetchall()

    @contextmanager
    def _connected(self) -> Iterator[psycopg2.extensions.cursor]:
        with closing(psycopg2.connect(self.url, connect_timeout=5)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                yield cursor


@dataclass
class Caller:
    """Reads the action all the time, as a client does; ``answered`` are the moments of answers."""

    stand: Stand
    action: str

    def __enter__(self) -> Caller:
        self.answered: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def silent_after(self, moment: float) -> float:
        """Seconds from a moment to the next answer; waits for it."""
        until(lambda: self.answered[-1] > moment)
        return min(at for at in self.answered if at > moment) - moment

    def _ask(self) -> None:
        headers = {"X-Auth-Token": self.stand.token}
        while not self._ended.wait(0.1):
            with suppress(requests.RequestException):
                url = f"{self.stand.url}/api/v1.0/actions/{self.action}"
                if requests.get(url, headers=headers, timeout=2).status_code == 200:
                    self.answered.append(time.time())


def migrate(url: str) -> None:
    engine = connect(url)
    migrations.upgrade(engine, ROOT / "migrations")
    engine.dispose()


@contextmanager
def deploying(directory: Path, url: str, groups: int) -> Iterator[tuple[Stand, Supervisor, Journal, str]]:
    """A site that is being deployed; at the end it must be, without anything done twice or lost."""
    migrate(url)
    with Stand(directory, url, scale=SCALE, times={}) as stand:
        stand.commit(design(groups))
        with Supervisor(stand) as worker:
            action, journal = stand.deploy_site(), Journal(url)
            yield stand, worker, journal, action
            assert stand.wait(action)["verdict"] == "success"
        judge(stand, groups)


def judge(stand: Stand, groups: int) -> None:
    """Raise unless Drydock's own record says that each node of ``design`` was prepared and deployed once."""
    events = stand.events()
    started = Counter((event["phase"], event["node"]) for event in events if event["event"] == "node_started")
    assert set(started.values()) == {1}
    assert len(started) == 2 * 2 * groups
    submitted = Counter(
        (event["action"], *event["node_filter"]["filter_set"][0]["node_names"])
        for event in events
        if event["event"] == "task_requested" and event["node_filter"]
    )
    assert set(submitted.values()) == {1}


def check(worker: Supervisor, found: Mapping[str, list[float]]) -> None:
    """Print the seconds, and compare them with the bound: longer by as much as a start takes here."""
    start = worker.slowest_start()
    print(f"\na worker starts within {start:.1f} s")
    for what, seconds in found.items():
        print(f"{what}: {', '.join(f'{one:.1f}' for one in sorted(seconds))} s")
    assert max(max(seconds) for seconds in found.values()) < BOUND - USUAL_START + max(start, USUAL_START)


def test_a_killed_worker_costs_seconds(tmp_path: Path) -> None:
    pick, quiet = random.Random(12), []
    with temporary() as server, deploying(tmp_path, server.url, 30) as (_stand, worker, journal, _action):
        for kill in range(12):
            journal.await_progress(pick.randint(1, 3))
            if kill % 3:
                journal.await_submission()
            else:
                time.sleep(pick.uniform(0, 1))
            worker.kill()
            if kill % 3 == 2:
                worker.await_ready()
                time.sleep(pick.uniform(0, 0.5))
                worker.kill()
            quiet.append(journal.quiet_after(time.time()))
    check(worker, {"from a kill to progress": quiet})


Blow = Callable[[Pair], None]


@pytest.mark.parametrize(
    ("blow", "pause"),
    [
        pytest.param(Pair.kill_primary, 0.0, id="killed-promoted-at-once"),
        pytest.param(Pair.kill_primary, 12.0, id="killed-promoted-later"),
        pytest.param(Pair.freeze_primary, 3.0, id="frozen-promoted-soon"),
        pytest.param(Pair.freeze_primary, 12.0, id="frozen-promoted-later"),
    ],
)
def test_a_fail_over_costs_seconds(tmp_path: Path, blow: Blow, pause: float) -> None:
    """Twice: the former primary comes back as standby, and is promoted in its turn."""
    quiet, silent = [], []
    with pair() as servers, deploying(tmp_path, servers.url, 16) as (stand, worker, journal, action):
        with Caller(stand, action) as caller:
            for comes_back in (False, True):
                if comes_back:
                    servers.follow()
                journal.await_progress(4)
                journal.await_submission()
                known = journal.progress()
                blow(servers)
                time.sleep(pause)
                servers.promote()
                promoted = time.time()
                journal.url = servers.primary_url
                assert known.items() <= journal.progress().items()
                quiet.append(journal.quiet_after(promoted))
                silent.append(caller.silent_after(promoted))
        assert set(worker.codes) == {1}
    check(worker, {"from the promotion to progress": quiet, "from the promotion to an answer of the API": silent})
