"""A database that loses the end of its history: it is copied, and the copy used in its place.

The copy knows nothing of what was done meanwhile, as after a fail-over to an asynchronous standby, or with a restored
dump. ``Loss`` says what it shows of that.
"""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from random import Random
from typing import Any

import psycopg2
import sqlalchemy as sa

from shipyard_api.domain.actions import ENDED
from shipyard_api.domain.histories import Position
from shipyard_api.storage import histories
from shipyard_api.storage.unit_of_work import connect
from tests.one_action import seconds_until_due
from tests.redeploy_world import RedeployWorld
from tests.software_world import SoftwareWorld
from tests.torture.history import TorturedHistory
from tests.torture.judge import breaches
from tests.world import SETTLE

_numbers = itertools.count(1)
_FAR = 1 << 48  # bytes of the write-ahead log: more than any server of a test writes


class Loss(Enum):
    """How the end of a history is lost; the value says what is used in its place."""

    DUMP = "a dump in a database of its own"
    BASE = "a base backup, started plainly"
    COPY = "a copy of the stopped directory"
    BACK = "the old primary"
    CLEAN = "a dump in the living database"


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


def lose(world: Any, dice: Random, copies: list[str], history: TorturedHistory, loss: Loss, *, living: bool) -> str:
    """Play to a checkpoint, and then some turns that are lost; return what was done."""
    kept = sum(1 for _ in range(dice.randint(0, 12)) if deliver(world, history))
    keep(world, copies)
    numbers = history.numbers
    lost = sum(1 for _ in range(dice.randint(0, 30)) if deliver(world, history))
    world.clock.advance(0.001)  # the loss has a time of its own, after what was read before it
    history.losing()
    forget(world, copies, loss, living=living)
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


def forget(world: Any, copies: list[str], loss: Loss = Loss.DUMP, *, living: bool = True) -> None:
    """Go on with the last copy. ``living``: whether the process that worked with the lost end goes on, too."""
    world.url = copies[-1]
    _disguise(world.url, loss, living=living)
    if isinstance(world, SoftwareWorld):
        world.engine.dispose()
        world.engine = connect(world.url, pool_size=3)
    with _engine(world).begin() as connection:
        # Rows of the creation have times of the database's clock, which runs; the world's stands still.
        for table, column in (("journal", "at"), ("actions", "created_at")):
            values = {"start": world.clock.now() - timedelta(hours=6), "now": world.clock.now()}
            connection.execute(sa.text(f"UPDATE {table} SET {column} = :start WHERE {column} > :now"), values)


def _disguise(url: str, loss: Loss, *, living: bool) -> None:
    """Let the copy, and what this process remembers, show what they would after such a loss."""
    if loss is Loss.DUMP:
        return  # it is another database
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        own = "(SELECT oid FROM pg_database WHERE datname = current_database())"
        table = "pg_relation_filenode('actions')::bigint" + (" + 1" if loss is Loss.CLEAN else "")
        # The server of a copy was started after the last look of whoever used the original.
        cursor.execute(
            f"UPDATE histories SET database = {own}, relation = {table}, "
            "noticed_at = pg_postmaster_start_time() - interval '1 hour'"
        )
    for system, seen in [*histories.HIGHEST.items()]:
        if not living:
            del histories.HIGHEST[system]
        elif loss is Loss.BACK:
            histories.HIGHEST[system] = Position(seen.timeline + 1, seen.place)
        elif loss is not Loss.CLEAN:
            histories.HIGHEST[system] = Position(seen.timeline, seen.place + _FAR)


def play(world: Any, dice: Random, copies: list[str], loss: Loss = Loss.DUMP, *, living: bool = True) -> str:
    """Lose the end of the history once or twice, and go on to the end; return what was done.

    Anyone's checker judges the history of the run, unless its database came to have another time than its peers.
    """
    history = TorturedHistory(_engine(world), world.clock)
    said = "; ".join(lose(world, dice, copies, history, loss, living=living) for _ in range(dice.choice((1, 1, 1, 2))))
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
