"""A database that loses the end of its history: nothing is done twice, judged by the log of the peer alone.

Each run is played to a checkpoint, where the database is copied; it goes on for some turns, and then with the copy,
which knows nothing of them, as after a fail-over to an asynchronous standby, or with a restored dump.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import psycopg2
import pytest
import sqlalchemy as sa

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import ENDED, ActionName, RunState
from shipyard_api.ports.state.errors import UnsuitableDatabase
from shipyard_api.storage import migrations
from shipyard_api.storage.rivals import check_old_primary
from shipyard_api.storage.unit_of_work import SqlStore, connect
from tests.conftest import ROOT
from tests.factories import group_entry
from tests.one_action import seconds_until_due
from tests.redeploy_world import NODES, RedeployWorld
from tests.simulated_peers import PEERS, scenario
from tests.simulated_world import SimulatedWorld, Site
from tests.software_world import SoftwareWorld
from tests.standby import pair

ALL = 100
PROVISIONERS = ("drydock", "maas", "ironic")
MODES: tuple[dict[str, Any], ...] = ({}, {"max_parallel_groups": 2, "deploy_as_prepared": True})
_numbers = itertools.count(1)


def copied(url: str) -> str:
    """Return the address of a copy of this database: whoever was connected to it is hung up on."""
    base, _, name = url.rpartition("/")
    copy = f"{name}_{next(_numbers)}"
    with closing(psycopg2.connect(f"{base}/postgres")) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,))
            cursor.execute(f"CREATE DATABASE {copy} TEMPLATE {name} STRATEGY file_copy")
    return f"{base}/{copy}"


def dropped(url: str) -> None:
    """Drop a copy."""
    base, _, name = url.rpartition("/")
    with closing(psycopg2.connect(f"{base}/postgres")) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@dataclass
class Shifted:
    """The clock of a site whose database is on another host now, which is so many seconds ahead of the peers."""

    clock: Any
    ahead: float

    def now(self) -> datetime:
        moment: datetime = self.clock.now() + timedelta(seconds=self.ahead)
        return moment

    def __getattr__(self, name: str) -> Any:
        return getattr(self.clock, name)


def deliver(world: Any) -> bool:
    """Deliver what is due next; return whether the action goes on."""
    worker = world.worker()
    worker.run(world.action)
    if isinstance(world, SoftwareWorld):
        worker.items.run(world.action, "run-1")
        ended, pause = world.state() in ENDED, seconds_until_due(world.engine, world.action, world.clock.now())
    elif isinstance(world, RedeployWorld):
        worker.items.run(world.action, "run-1")
        world._let_join()
        ended, pause = world.state() in ENDED, world.pause()
    else:
        ended, pause = world.stands()
    if not ended:
        world.clock.advance(max(pause, 0.01))
    return not ended


def lose(world: Any, dice: Random, copies: list[str]) -> str:
    """Play to a checkpoint, and then some turns that are lost; return what was done."""
    kept = sum(1 for _ in range(dice.randint(0, 12)) if deliver(world))
    world.engine().dispose() if callable(world.engine) else world.engine.dispose()
    copies.append(copied(world.url))
    lost = sum(1 for _ in range(dice.randint(0, 30)) if deliver(world))
    world.url = copies[-1]
    if isinstance(world, SoftwareWorld):
        world.engine.dispose()
        world.engine = connect(world.url, pool_size=3)
    with (world.engine() if callable(world.engine) else world.engine).begin() as connection:
        # Rows of the creation have times of the database's clock, which runs; the world's stands still.
        for table, column in (("journal", "at"), ("actions", "created_at")):
            values = {"start": world.clock.now() - timedelta(hours=6), "now": world.clock.now()}
            connection.execute(sa.text(f"UPDATE {table} SET {column} = :start WHERE {column} > :now"), values)
    ahead = dice.choice((0, 0, 3600, -3600))
    if ahead:
        world.clock = Shifted(world.clock, ahead)
    return f"after {kept} deliveries, {lost} were lost; the new host's clock is {ahead} s ahead"


def play(world: Any, dice: Random, copies: list[str]) -> str:
    """Lose the end of the history once or twice, and go on to the end; return what was done."""
    said = [lose(world, dice, copies) for _ in range(dice.choice((1, 1, 1, 2)))]
    for _ in range(800):
        if not deliver(world):
            return "; ".join(said)
    raise AssertionError(f"{said}: the action does not end")


def twice(things: Any) -> dict[Any, int]:
    """Return what is there more than once."""
    return {thing: count for thing, count in Counter(things).items() if count > 1}


@pytest.fixture
def copies() -> Iterator[list[str]]:
    """The addresses of copies, which are dropped at the end."""
    made: list[str] = []
    yield made
    for copy in made:
        dropped(copy)


@pytest.mark.crash
def test_a_promoted_standby_tells_another_history() -> None:
    """On two real servers; the old primary goes on accepting writes."""
    with pair() as servers:
        made = connect(servers.primary_url, pool_size=1)
        migrations.upgrade(made, ROOT / "migrations")
        made.dispose()
        url = servers.url

        def state() -> tuple[int, str, str]:
            engine = connect(url, pool_size=1)
            with SqlStore(engine, ProcrastinateWakeup()).begin() as tx:
                history, replication = tx.measures.history(), tx.measures.replication()
            engine.dispose()
            return history.number, history.difference, replication.finding

        assert state() == (1, "", "")
        servers._ask(servers.primary, "ALTER SYSTEM RESET synchronous_standby_names")
        servers._ask(servers.primary, "SELECT pg_reload_conf()")
        assert state()[2].startswith("replication is asynchronous")
        check_old_primary(url)

        servers.promote()
        with pytest.raises(UnsuitableDatabase, match="two database servers accept writes"):
            check_old_primary(url)
        check_old_primary(url)  # the newer one is preferred from now on

        number, difference, _ = state()
        assert (number, difference) == (
            2,
            "a standby became the primary, or a backup was restored (timeline 2 after 1)",
        )


def seeds(every_day: int) -> list[Any]:
    """Return the seeds, each with a provisioner."""
    return [
        pytest.param(
            seed,
            PROVISIONERS[seed % len(PROVISIONERS)],
            marks=[pytest.mark.crash] if seed >= every_day else [],
            id=f"{PROVISIONERS[seed % len(PROVISIONERS)]}-{seed}",
        )
        for seed in range(ALL)
    ]


@pytest.mark.parametrize(("seed", "kind"), seeds(9))
def test_a_deployment_is_sent_once_whatever_the_database_forgets(
    database_url: str, copies: list[str], seed: int, kind: str
) -> None:
    dice = Random(f"histories {seed}")
    mode = MODES[seed // len(PROVISIONERS) % len(MODES)]
    names = [f"n{number}" for number in range(1, dice.choice((2, 3, 6)) + 1)]
    half = len(names) // 2
    groups = [
        group_entry("first", selectors=[{"node_names": names[:half]}]),
        group_entry("second", selectors=[{"node_names": names[half:]}]),
    ]
    site = Site({name: {} for name in names}, scenario({}, {}), groups, mode)
    world = SimulatedWorld.in_emptied(database_url, site=site, make_peer=partial(PEERS[kind]))
    with closing(world):
        said = play(world, dice, copies)

        again = twice((one.phase, one.node) for one in world.peer.begun())
        assert not again, f"{said}\n{world.told()}"
        if " -3600 " not in said and " 3600 " not in said:  # times of phases may be over
            assert world.ending()[0] == "success", f"{said}\n{world.told()}"


@pytest.mark.parametrize(("seed", "kind"), seeds(6))
def test_a_server_is_erased_once_whatever_the_database_forgets(
    database_url: str, copies: list[str], seed: int, kind: str
) -> None:
    dice = Random(f"histories of {seed}")
    world = RedeployWorld.deployed(database_url, kind)
    with closing(world):
        targets = NODES[: dice.choice((1, 1, 2))]
        if seed % 8 == 7:
            world.leave(*targets)
            world.create(ActionName("remove_server"), target_nodes=",".join(targets))
        else:
            world.create(ActionName("redeploy_server"), target_nodes=",".join(targets))
        said = play(world, dice, copies)

        since = [one for one in (*world.peer.begun(), *world.peer.destroyed()) if one.at > world.since]
        again = twice((one.phase, one.node) for one in since)
        assert not again, f"{said}\n{world.told()}\n{world.story()}"
        if " -3600 " not in said and " 3600 " not in said:
            assert world.state() is RunState.SUCCESS, f"{said}\n{world.told()}"


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.crash] if seed >= 6 else []) for seed in range(ALL)]
)
def test_a_task_is_started_once_whatever_the_database_forgets(database_url: str, copies: list[str], seed: int) -> None:
    dice = Random(f"histories of tasks {seed}")
    world = SoftwareWorld(database_url)
    with closing(world):
        said = play(world, dice, copies)

        world.started()
        assert world.state() is RunState.SUCCESS, f"{said}\n{world.steps()}"
