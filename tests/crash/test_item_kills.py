"""Work items on real workers that are killed, frozen and revived: everything ends, and nothing is submitted twice."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.child_processes import die_with_parent
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage import tables
from shipyard_api.storage.unit_of_work import Store, connect
from tests.fan_out import STEP
from tests.item_worker import PEER

TARGETS = [f"t{number:03}" for number in range(120)]
PATIENCE = 180  # seconds; reached only by a failure

pytestmark = pytest.mark.crash


class Workers:
    """Worker processes on one database."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.item_worker", self.url]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        self.running.append(process)
        return process

    def stop(self) -> None:
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(30)


@pytest.fixture
def workers(empty_database_url: str) -> Iterator[Workers]:
    from shipyard_api.storage import migrations
    from tests.conftest import ROOT

    engine = connect(empty_database_url, pool_size=1)
    migrations.upgrade(engine, ROOT / "migrations")
    with engine.begin() as connection:
        connection.execute(sa.text(PEER))
    engine.dispose()
    made = Workers(empty_database_url)
    yield made
    made.stop()


def until(condition: Callable[[], bool]) -> None:

    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never comes to that"
        time.sleep(0.05)


def test_killed_and_frozen_workers_lose_and_repeat_nothing(workers: Workers) -> None:
    engine = connect(workers.url, pool_size=2)
    store = Store(engine, ProcrastinateWakeup())
    action = ActionId("0" * 26)

    def ended() -> int:
        with engine.connect() as connection:
            items = tables.work_items.c
            return int(connection.execute(sa.select(sa.func.count()).where(items.ended_at.is_not(None))).scalar_one())

    def state() -> RunState:
        with store.begin() as tx:
            record = tx.actions.get(action)
        assert record is not None
        return record.state

    inputs = {"v": 1, "waves": [TARGETS]}
    with store.begin() as tx:
        tx.actions.create(
            NewAction(
                action,
                ActionName("test_site"),
                {},
                "ann",
                str(uuid.uuid4()),
                None,
                None,
                inputs,
                [STEP],
                exclusive=False,
            )
        )
    killed, frozen = workers.start(), workers.start()
    until(lambda: ended() >= 10)
    killed.kill()
    until(lambda: ended() >= 30)
    frozen.send_signal(signal.SIGSTOP)
    survivor = workers.start()
    until(lambda: ended() >= 80)
    frozen.send_signal(signal.SIGCONT)
    until(lambda: ended() >= 100)
    survivor.kill()
    workers.start()
    until(lambda: state() in ENDED)

    assert state() is RunState.SUCCESS
    with engine.connect() as connection:
        submitted = [row[0] for row in connection.execute(sa.text("SELECT target FROM sample_jobs ORDER BY target"))]
    engine.dispose()
    assert submitted == TARGETS
