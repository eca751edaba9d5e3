"""Random sites, random trouble: the promises that no run may break, judged by the log of the peer alone.

Each seed is a site, the fates of its nodes, and everything that goes wrong beside them: a service that fails, hangs up
or loses its memory, workers that die, are overtaken, or are delivered the same turn twice. It can be played again
from its number.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.storage import tables
from tests.crash.judge import Judge
from tests.crash.random_plans import Plan, plan_of
from tests.simulated_peers import PEERS
from tests.simulated_world import SimulatedWorld
from tests.world import SETTLE, Checkpoints, KilledError

EVERY_DAY, ALL = 40, 1000
MOST_KILLS = 6
AT_ONCE = 0.001  # seconds that are none
AFTERWARDS = 3000.0  # seconds in which whatever is still going on at the peer comes to its end

SEEDS = [
    pytest.param(seed, marks=[pytest.mark.crash] if seed >= EVERY_DAY else [], id=f"seed-{seed}") for seed in range(ALL)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_run_keeps_every_promise(module_database_url: str, seed: int) -> None:
    plan = plan_of(seed)
    with played(module_database_url, plan) as (world, forgot):
        verdict, _steps, groups, nodes = world.ending()
        peer = world.peer
        journal = world.told()
        judge = Judge(
            plan,
            peer.begun(),
            peer.ended(),
            peer.touched(),
            forgot=forgot,
            rolled_out=" rollout_ended " in journal,
            verdict=verdict,
            groups=groups,
            nodes=nodes,
        )
        complaints = judge.complaints()
        if " broke " in journal:
            complaints.append("a turn broke: a bug, whatever came of it")
        assert not complaints, report(plan, complaints, journal, peer.events())


@contextmanager
def played(url: str, plan: Plan) -> Iterator[tuple[SimulatedWorld, bool]]:
    """Play a plan to its end and beyond; yield the world, and whether the peer lost jobs on the way."""
    random.seed(plan.seed)  # what adapters leave to chance
    world = SimulatedWorld.in_emptied(url, site=plan.site, make_peer=partial(PEERS[plan.peer], **plan.options))
    try:
        run = Run(world, plan)
        try:
            run.play()
        except Exception as error:
            raise AssertionError(report(plan, [f"{error!r}"], world.told(), world.peer.events())) from error
        yield world, run.forgot
    finally:
        world.close()


@dataclass
class Mischief(Checkpoints):
    """Lets workers die at random, and once lets one be overtaken by another that takes it for dead."""

    run: Run = field(kw_only=True)

    def passed(self, name: str) -> None:
        run = self.run
        run.passed += 1
        if run.passed == run.plan.overtaken and name.startswith("after "):
            run.world.clock.advance(3 * SETTLE)
            run.world.worker().run(run.world.action)
        if run.kills_left and run.dice.random() < run.plan.kills:
            run.kills_left -= 1
            raise KilledError


@dataclass
class Run:
    """A plan being played in a world."""

    world: SimulatedWorld
    plan: Plan
    forgot: bool = False
    passed: int = 0
    kills_left: int = MOST_KILLS

    def __post_init__(self) -> None:
        self.dice = Random(f"kills of {self.plan.seed}")
        ahead: list[tuple[float, str, Any]] = []
        for episode in self.plan.episodes:
            ahead += [(episode.begins, "play", episode.faults), (episode.ends, "play", ())]
        self.ahead = sorted([*ahead, *((at, what, None) for at, what in self.plan.losses)], key=lambda one: one[0])

    def play(self) -> None:
        """Deliver turns when they are due, or earlier, until the action has ended; then let time pass."""
        workers = self._workers()
        for _ in range(3000):
            self._happen()
            try:
                for worker in workers:
                    worker.run(self.world.action)
            except KilledError:
                self.world.bury()
                self.world.clock.advance(1.0)
                workers = self._workers()
            ended, wait = self.world.stands()
            if ended:
                self.world.clock.advance(AFTERWARDS)
                return
            ahead = (at - self.world.clock.monotonic() for at, *_ in self.ahead)
            self.world.clock.advance(min([wait, *(seconds for seconds in ahead if seconds > AT_ONCE)]))
        raise AssertionError("the action does not end")

    def _workers(self) -> list[Any]:
        return [self.world.worker(Mischief(run=self)) for _ in range(self.plan.workers)]

    def _happen(self) -> None:
        """Let happen what is due, except that the peer forgets nothing while a submission is on its way.

        What became of work whose submission nobody knows of, and that is forgotten then, nobody can know: to send it
        once more is right. Only work that has a job must never be sent again.
        """
        now = self.world.clock.monotonic() + AT_ONCE
        for event in [event for event in self.ahead if event[0] <= now]:
            _, what, faults = event
            if what == "play":
                self.world.peer.play(faults)
            elif self._undecided():
                continue
            else:
                getattr(self.world.peer, what)()
                # Whatever is under way when Ironic's conductor falls is told as failed, and MAAS goes on with it.
                self.forgot |= what == "forget" or self.plan.peer == "drydock"
            self.ahead.remove(event)

    def _undecided(self) -> bool:
        """Whether a submission is on its way whose outcome is not known."""
        query = sa.select(sa.func.count()).where(tables.steps.c.intent.is_not(None))
        with self.world.engine().connect() as connection:
            return bool(connection.execute(query).scalar_one())


def report(plan: Plan, complaints: list[str], journal: str, events: list[dict[str, Any]]) -> str:
    """Return everything that is needed to understand what happened, and to see it again."""
    command = "test" if plan.seed < EVERY_DAY else "crash"
    where = f"tests/crash/test_random_runs.py::test_a_random_run_keeps_every_promise[seed-{plan.seed}]"
    log = [
        " ".join(f"{key}={value}" for key, value in event.items()) for event in events if event["event"] != "request"
    ]
    return "\n".join(
        [
            *complaints,
            f"to see it again: ./dev {command} '{where}'",
            str(plan),
            "-- the journal of the action",
            journal,
            f"-- the log of {plan.peer}, without requests",
            *log,
        ]
    )
