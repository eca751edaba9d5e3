"""Random holds on the nodes of a running action: nothing is begun on a held node, judged by the log of the peer alone.

Each seed places and releases holds at random checkpoints, also while a worker commits, beside workers that die or are
overtaken and submissions that break. What was intended before a hold may still arrive once, from that very attempt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from random import Random
from threading import Thread

import pytest
import sqlalchemy as sa

from shipyard_api.domain.holds import OVERRIDDEN, HoldId, HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import connect
from tests.crash.calm import NODES, PLANS
from tests.databases import empty
from tests.fakes.provisioner import Breakage
from tests.waiting import PATIENCE
from tests.world import SETTLE, Checkpoints, KilledError, Moment, World

EVERY_DAY, ALL = 4, 1000
MOST_KILLS = 4
BASES = ("one after another", "all at once")

PLACING = {"before find": 0.4, "before submit": 0.15}
KILLING = {"before submit": 0.2, "before find": 0.2}
"""How likely something happens at a checkpoint where it matters most."""

Attempt = tuple[str, str]
"""The marker of an intent, and when it was last sent."""

SEEDS = [
    pytest.param(seed, marks=[pytest.mark.crash] if seed >= EVERY_DAY else [], id=f"seed-{seed}") for seed in range(ALL)
]


@dataclass
class Held:
    """A hold as its operator knows it: the submissions that had arrived when it was placed, and when it was released.

    ``intended``: the attempts that were stored by then.
    """

    id: HoldId
    node: NodeName
    placed: int
    intended: frozenset[Attempt]
    released: int | None = None


@dataclass
class Operator(Checkpoints):
    """Places and releases holds at random checkpoints, and lets workers die and be overtaken."""

    world: World = field(kw_only=True)
    dice: Random = field(kw_only=True)
    kills: int = MOST_KILLS
    holds: list[Held] = field(default_factory=list)
    attempts: dict[int, Attempt] = field(default_factory=dict)
    placing: Thread | None = None
    overtaking: bool = False

    def passed(self, name: str) -> None:
        super().passed(name)
        if name != "before commit" and self.placing is not None:
            self.placing.join(PATIENCE)
            assert not self.placing.is_alive(), f"placing a hold waits at {name}"
            self.placing = None
        if name == "before submit":
            ((marker, attempted_at),) = _intended(self.world.engine())
            self.attempts[len(self.world.provisioner.submissions)] = (marker, attempted_at)
        if self.placing is None and self.dice.random() < PLACING.get(name, 0.05):
            self.placing = Thread(target=self.place, args=(self.dice.choice(NODES),))
            self.placing.start()
            self.placing.join(0 if name == "before commit" else 20)
        if self.dice.random() < 0.03 and self.placing is None and name != "before commit":
            self.release()
        if self.placing is None and name.startswith("after ") and not self.overtaking and self.dice.random() < 0.01:
            self.overtaking = True
            self.world.clock.advance(3 * SETTLE)
            self.world.worker(self).run(self.world.action)
            self.overtaking = False
        if self.kills and self.placing is None and self.dice.random() < KILLING.get(name, 0.01):
            self.kills -= 1
            raise KilledError

    def place(self, node: NodeName) -> None:
        with self.world.store().begin() as tx:
            hold = tx.holds.place(NewHold(node, HoldKind.OPERATOR, f"number {len(self.holds)}", "ann")).hold
            # No intent is written while this transaction has the lock, and no submission is recorded.
            intended = frozenset(_intended(tx.holds._connection))
        self.holds.append(Held(hold.id, node, len(self.world.provisioner.submissions), intended))

    def release(self) -> None:
        if active := [one for one in self.holds if one.released is None]:
            chosen = self.dice.choice(active)
            chosen.released = len(self.world.provisioner.submissions)
            with self.world.store().begin() as tx:
                tx.holds.release(chosen.id, "ann")


def _intended(connection: sa.Engine | sa.Connection) -> Iterator[Attempt]:
    query = sa.select(t.steps.c.intent).where(t.steps.c.intent.is_not(None))
    if isinstance(connection, sa.Engine):
        with connection.connect() as own:
            rows = own.execute(query).all()
    else:
        rows = connection.execute(query).all()
    return ((row.intent["marker"], row.intent["attempted_at"]) for row in rows)


@cache
def begun(url: str, base: str) -> tuple[World, Moment]:
    """A world whose action is queued; made once for all seeds of a base."""
    empty(url)
    with connect(url, pool_size=1).begin() as connection:
        # Rows of one base are restored after those of the other: their ids must not meet the sequences again.
        start = 1_000_000 * (BASES.index(base) + 1)
        connection.execute(
            sa.text("SELECT setval(quote_ident(sequencename)::regclass, :start) FROM pg_sequences"), {"start": start}
        )
    world = World(url, **PLANS[base].world())
    return world, world.moment()


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_begun_on_a_held_node(module_database_url: str, seed: int) -> None:
    dice = Random(f"holds {seed}")
    made, moment = begun(module_database_url, dice.choice(BASES))
    world = made.at(moment)
    world.provisioner.now = world.clock.now
    operator = Operator(world=world, dice=dice)
    for _ in range(dice.randrange(3)):
        operator.place(dice.choice(NODES))
    overridden = {one.id for one in operator.holds if dice.random() < 0.3}
    _override(world, overridden)
    for breakage in Breakage:
        world.provisioner.break_next("submit", breakage, times=dice.randrange(3))

    play(world, operator)

    sent = world.provisioner.submissions
    violations = [
        f"{work.work.operation.value} of {hold.node} was submitted as number {number}, after {hold}"
        for hold in operator.holds
        for number, work in enumerate(sent)
        if hold.id not in overridden
        and hold.placed <= number < (len(sent) if hold.released is None else hold.released)
        and hold.node in (work.work.nodes or ())
        and operator.attempts[number] not in hold.intended
    ]
    assert violations == []
    with world.store().begin() as tx:
        nodes = tx.actions.nodes(world.action, status=(), group=(), after="", limit=99)
        assert not [entry for entry in tx.journal.entries(world.action) if entry.kind == "broke"]
    assert {one.name for one in nodes if one.reason == "held"} <= {one.node for one in operator.holds}


def play(world: World, operator: Operator) -> None:
    """Deliver turns until the action has ended, to a new worker whenever one has died."""
    worker = world.worker(operator)
    for _ in range(400):
        try:
            worker.run(world.action)
        except KilledError:
            world.clock.advance(1.0)
            worker = world.worker(operator)
        ended, wait = world.stands()
        if ended:
            return
        world.clock.advance(wait)
    raise AssertionError("the action does not end")


def _override(world: World, holds: set[HoldId]) -> None:
    """Let the action override these holds, as if it had been created with ``force``."""
    with world.store().begin() as tx:
        inputs = {**tx.actions.inputs(world.action), OVERRIDDEN: sorted(holds)}
        tx.holds._connection.execute(t.actions.update().values(inputs=inputs))
