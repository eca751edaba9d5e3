"""Random sites, random trouble: the promises that no run may break, judged by the log of the peer alone.

Each seed is a site, the fates of its nodes, and everything that goes wrong beside them: a service that fails, hangs up
or loses its memory, workers that die, are overtaken, or are delivered the same turn twice, and an operator who pauses,
stops and retries. It can be played again from its number.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, Control
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import Overtaken, WorkUnderWay
from shipyard_api.domain.facts.phases import PhaseStarted
from shipyard_api.domain.facts.steps import Intended
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.storage import tables
from shipyard_api.storage.run_history import Entry
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.stragglers import WatchStragglers
from tests import run_histories
from tests.crash.judge import Judge, going_on, unwatched
from tests.crash.random_plans import Plan, plan_of
from tests.simulated_peers import PEERS
from tests.simulated_world import SimulatedWorld
from tests.world import SETTLE, Checkpoints, KilledError

ALL = 1000
# Two with Ironic, two with MAAS, one with Drydock: deaths, one overtaken, a stumble, lost memory, controls, retries.
EVERY_DAY = frozenset({0, 1, 5, 7, 40})
MOST_KILLS = 6
READ_EVERY = 10  # turns, after which an observer reads the journal
AT_ONCE = 0.001  # seconds that are none
OPERATOR = Caller("ann", frozenset({"admin"}), "00000000-0000-4000-8000-000000000000")
AFTERWARDS = 3000.0  # seconds in which whatever is still going on at the peer comes to its end

SEEDS = [
    pytest.param(seed, marks=[] if seed in EVERY_DAY else [pytest.mark.crash], id=f"seed-{seed}") for seed in range(ALL)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_run_keeps_every_promise(module_database_url: str, seed: int) -> None:
    plan = plan_of(seed)
    with played(module_database_url, plan) as run:
        world, peer = run.world, run.world.peer
        verdict, _steps, groups, nodes = world.ending()
        journal = world.told()
        judge = Judge(
            plan,
            peer.begun(),
            peer.ended(),
            peer.touched(),
            forgot=run.forgot,
            rolled_out=" rollout_ended " in journal,
            verdict=verdict,
            groups=groups,
            nodes=nodes,
            stopped=run.stopped_at is not None,
            settled=run.stopped_at and run.stopped_at + timedelta(seconds=SETTLE),
        )
        complaints = [*judge.complaints(), *run.complaints]
        if " broke " in journal:
            complaints.append("a turn broke: a bug, whatever came of it")
        if not complaints and plan.retried and verdict == "failed":
            complaints = run.retry()
            journal = f"{journal}\n-- the journal of the retry\n{world.told()}"
            if not complaints and world.ending()[0] == "failed" and not world.straggling_nodes():
                complaints = run.retry_first()
                journal = f"{journal}\n-- the journal of the second retry of the first\n{world.told()}"
        complaints = complaints or run.breaches()
        assert not complaints, report(plan, complaints, journal, peer.events())


@contextmanager
def played(url: str, plan: Plan) -> Iterator[Run]:
    """Play a plan to its end and beyond."""
    random.seed(plan.seed)  # what adapters leave to chance
    make_peer = partial(PEERS[plan.peer], ahead=plan.ahead, **plan.options)
    world = SimulatedWorld.in_emptied(url, site=plan.site, make_peer=make_peer)
    try:
        run = Run(world, plan)
        try:
            run.play()
        except Exception as error:
            raise AssertionError(report(plan, [f"{error!r}"], world.told(), world.peer.events())) from error
        yield run
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
    """A plan being played in a world. ``forgot``: the peer lost jobs. ``stopped_at``: when an operator stopped it."""

    world: SimulatedWorld
    plan: Plan
    forgot: bool = False
    stopped_at: datetime | None = None
    complaints: list[str] = field(default_factory=list)
    passed: int = 0
    kills_left: int = MOST_KILLS

    def __post_init__(self) -> None:
        self.dice = Random(f"kills of {self.plan.seed}")
        ahead: list[tuple[float, str, Any]] = []
        for episode in self.plan.episodes:
            ahead += [(episode.begins, "play", episode.faults), (episode.ends, "play", ())]
        ahead += [(at, "control", verb) for at, verb in self.plan.controls]
        self.ahead = sorted([*ahead, *((at, what, None) for at, what in self.plan.losses)], key=lambda one: one[0])
        self._intended: int | None = None  # effects that were intended before the pause
        self._history = run_histories.in_virtual_time(self.world.engine())
        self._happened: list[Entry] = []

    def play(self) -> None:
        """Deliver turns when they are due, or earlier, until the action has ended; then let time pass."""
        workers = self._workers()
        for turn in range(3000):
            self._happen()
            if turn % READ_EVERY == 0:
                self._history.read(self.world.clock.now())
            try:
                for worker in workers:
                    worker.run(self.world.action)
            except KilledError:
                self._note("fault", "kill", {"what": "a worker"})
                self.world.bury()
                self.world.clock.advance(1.0)
                workers = self._workers()
            ended, wait = self.world.stands()
            if ended:
                self._ended()
                return
            ahead = [at - self.world.clock.monotonic() for at, *_ in self.ahead]
            rests = self._intended is not None and wait == 0.0  # paused, and nothing is under way
            self.world.clock.advance(
                min([*([] if rests else [wait]), *(seconds for seconds in ahead if seconds > AT_ONCE)], default=1.0)
            )
        raise AssertionError("the action does not end")

    def retry(self) -> list[str]:
        """Retry the failed action once its stragglers have ended; return every promise that was broken."""
        self._first = self.world.action
        try:
            return self._retried(self._first, "1" * 26, force=False)
        except Conflict as refused:
            if refused.kind is not WorkUnderWay:
                raise
            return []  # a node of it never comes to its end

    def retry_first(self) -> list[str]:
        """Retry the first action once more, after the failed retry: refused if that touched a node, unless forced."""
        with self.world.store().begin() as tx:
            nodes = tx.actions.nodes(self.world.action, status=(), group=(), after="", limit=99)
        touched = [one.name for one in nodes if one.status is not NodeStatus.NOT_STARTED and "kept" not in one.detail]
        try:
            complaints = self._retried(self._first, "2" * 26, force=False)
        except Conflict as refused:
            if refused.kind is WorkUnderWay:
                return []
            if refused.kind is not Overtaken:
                raise
            return self._retried(self._first, "3" * 26, force=True)
        return [*complaints, *(f"{node}: the first action was retried over a newer one" for node in touched)]

    def _retried(self, failed: ActionId, new: str, *, force: bool) -> list[str]:
        """Play a retry of an action; no node may be begun whose newest record says that it is deployed."""
        world, began = self.world, self.world.clock.now()
        with world.store().begin() as tx:
            kept = tx.nodes.deployed([NodeName(name) for name in self.plan.site.nodes])
        controls = ControlAction(world.store(), world.definitions(Checkpoints()), lambda: new)
        world.action = controls.retry(failed, OPERATOR, force=force).id
        world.make_due()
        self.ahead = [one for one in self.ahead if one[1] != "control"]
        self.play()
        sent = [(one.phase, one.node) for one in world.peer.begun() if one.at >= began]
        return [
            *self.complaints,
            *(f"{node}: {phase} was begun, although it was deployed before" for phase, node in sent if node in kept),
        ]

    def _ended(self) -> None:
        """Look what goes on although the action has ended; let it come to its end, and Shipyard learn of it."""
        world, peer = self.world, self.world.peer
        held = {node for nodes in world.straggling_nodes() for node in nodes}
        if not self.forgot:
            self.complaints += unwatched(peer.begun(), peer.ended(), held | self._given_up())
        peer.play(())
        world.clock.advance(AFTERWARDS)
        if not held:
            return
        WatchStragglers(world.store(), world.provisioner, world.clock.now, 30.0, "watcher")()
        busy = {one.node for one in going_on(peer.begun(), peer.ended())}
        forgotten = [sorted(nodes) for nodes in world.straggling_nodes() if not nodes & busy]
        if forgotten and not self.forgot:
            self.complaints.append(f"{forgotten} are stragglers still, and the peer is done with all of them")

    def _given_up(self) -> set[str]:
        """Return the nodes of submissions whose outcome stayed unknown: there is no job of theirs to watch."""
        with self.world.store().begin() as tx:
            entries = tx.journal.entries(self.world.action)
        intended: dict[tuple[str, str, int], list[str]] = {}
        for entry in entries:
            if isinstance(entry.fact, Intended) and "group" in (effect := entry.fact.effect):
                intended[effect["group"], effect["phase"], effect["batch"]] = effect["nodes"]
            if isinstance(entry.fact, PhaseStarted):
                intended.pop((entry.fact.group, entry.fact.phase.value, entry.fact.batch), None)
        return {node for nodes in intended.values() for node in nodes}

    def _control(self, verb: Control) -> None:
        """Do what an operator asks for, if the action allows it."""
        intended = self.world.told().count("attempt=1,")
        if self._intended is not None and intended != self._intended:
            self.complaints.append(f"{intended - self._intended} effects were begun during a pause")
        if not self.world.control(verb):
            return
        self._intended = intended if verb is Control.PAUSE else None
        if verb is Control.STOP:
            self.stopped_at = self.stopped_at or self.world.clock.now()
        self._note("operator", verb.value, {"user": "ann"})

    def breaches(self) -> list[str]:
        """Return the rules that the history of the run breaks, as anyone would check it."""
        peer, plan = self.world.peer, self.plan
        return run_histories.breaches(
            f"random-run-{plan.seed}",
            self._history,
            self.world.clock.now(),
            {peer.name: peer.events()},
            more=self._happened,
            made_by="crash",
            provisioner=peer.name,
            seed=plan.seed,
            settle=SETTLE,
        )

    def _note(self, process: str, operation: str, value: dict[str, str]) -> None:
        kind = "info" if process == "fault" else "ok"
        of = {"process": process, "operation": operation, "type": kind, "action": self.world.action}
        self._happened.append({"at": self.world.clock.now(), **of, "value": value})

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
            elif what == "control":
                self._control(faults)
            elif self._undecided():
                continue
            else:
                getattr(self.world.peer, what)()
                self._note("fault", what, {"what": self.plan.peer})
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
    command = "test" if plan.seed in EVERY_DAY else "crash"
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
