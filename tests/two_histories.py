"""A database that loses the end of its history: it is copied, and the copy used in its place.

The copy knows nothing of what was done meanwhile, as after a fail-over to an asynchronous standby, or with a restored
dump. Without a ``sign`` it has the identity of the one that it replaces: a base backup or a snapshot that is started
plainly, a copy of the directory, the old primary.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

import psycopg2
import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED
from shipyard_api.storage.unit_of_work import connect
from tests.one_action import seconds_until_due
from tests.redeploy_world import RedeployWorld
from tests.software_world import SoftwareWorld
from tests.torture.history import TorturedHistory
from tests.torture.judge import breaches
from tests.world import SETTLE

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


def _engine(world: Any) -> sa.Engine:
    found: sa.Engine = world.engine() if callable(world.engine) else world.engine
    return found


def deliver(world: Any, history: TorturedHistory | None = None) -> bool:
    """Deliver what is due next, and read what it left; return whether the action goes on."""
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
    if history:
        history.read()
    if not ended:
        world.clock.advance(max(pause, 0.01))
    return not ended


def lose(world: Any, dice: Random, copies: list[str], history: TorturedHistory, *, sign: bool) -> str:
    """Play to a checkpoint, and then some turns that are lost; return what was done."""
    kept = sum(1 for _ in range(dice.randint(0, 12)) if deliver(world, history))
    keep(world, copies)
    numbers = history.numbers
    lost = sum(1 for _ in range(dice.randint(0, 30)) if deliver(world, history))
    world.clock.advance(0.001)  # the loss has a time of its own, after what was read before it
    history.losing()
    forget(world, copies, sign=sign)
    history.moved(_engine(world))
    history.restored(numbers)
    ahead = dice.choice((0, 0, 3600, -3600))
    later = dice.choice((0, 0, 0, 3600))
    world.clock.advance(later)  # peers go on meanwhile
    if ahead:
        world.clock = Shifted(world.clock, ahead)
    return (
        f"after {kept} deliveries, {lost} were lost; a copy that is {later} s old is restored, "
        f"and the clock of the new host is {ahead} s ahead"
    )


def keep(world: Any, copies: list[str]) -> None:
    """Copy the database as it is now."""
    _engine(world).dispose()
    copies.append(copied(world.url))


def forget(world: Any, copies: list[str], *, sign: bool = True) -> None:
    """Go on with the last copy."""
    world.url = copies[-1]
    if not sign:
        with closing(psycopg2.connect(world.url)) as connection, connection, connection.cursor() as cursor:
            own = "(SELECT oid FROM pg_database WHERE datname = current_database())"
            cursor.execute(f"UPDATE histories SET database = {own}, relation = pg_relation_filenode('actions')")
    if isinstance(world, SoftwareWorld):
        world.engine.dispose()
        world.engine = connect(world.url, pool_size=3)
    with _engine(world).begin() as connection:
        # Rows of the creation have times of the database's clock, which runs; the world's stands still.
        for table, column in (("journal", "at"), ("actions", "created_at")):
            values = {"start": world.clock.now() - timedelta(hours=6), "now": world.clock.now()}
            connection.execute(sa.text(f"UPDATE {table} SET {column} = :start WHERE {column} > :now"), values)


def play(world: Any, dice: Random, copies: list[str], *, sign: bool = True) -> str:
    """Lose the end of the history once or twice, and go on to the end; return what was done.

    Anyone's checker judges the history of the run, unless its database came to have another time than its peers.
    """
    history = TorturedHistory(_engine(world), world.clock)
    said = "; ".join(lose(world, dice, copies, history, sign=sign) for _ in range(dice.choice((1, 1, 1, 2))))
    for _ in range(800):
        if not deliver(world, history):
            if not isinstance(world.clock, Shifted):
                found = _breaches(world, history)
                assert not found, "\n".join([said, *found])
            return said
    raise AssertionError(f"{said}: the action does not end")


def _breaches(world: Any, history: TorturedHistory) -> list[str]:
    peer = getattr(world, "peer", None)
    return breaches(history.text({"settle": SETTLE}, {peer.name: peer.events()} if peer else {}, frozenset()))
