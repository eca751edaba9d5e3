"""Work items, stopped wherever they touch the world: each run ends like the calm one, and submits nothing twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, Control, RunState, StepState
from shipyard_api.domain.holds import HoldKind
from shipyard_api.domain.items import ItemState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.storage import tables
from tests.databases import one_after_another
from tests.fan_out import STEP, ItemWorld
from tests.world import SETTLE, Checkpoints, KilledError

Worlds = Callable[..., ItemWorld]

CALM = (
    RunState.SUCCESS,
    [(STEP, StepState.SUCCESS, "all done")],
    [("a", "success", "a", True), ("b", "success", "b", True), ("c", "success", "c", True)],
    ["a", "b", "c"],
)


@pytest.fixture
def item_worlds(database_url: str) -> Iterator[Worlds]:
    with one_after_another(database_url, ItemWorld) as make:
        yield make


@pytest.fixture(params=[17, pytest.param(1, marks=pytest.mark.crash)], ids=["some", "every"])
def stride(request: pytest.FixtureRequest) -> int:
    """How many checkpoints a test goes on at a time; the long tests take every one."""
    step: int = request.param
    return step


@pytest.fixture(scope="module")
def names(module_database_url: str) -> list[str]:
    """The checkpoints of the calm run."""
    points = Checkpoints()
    with closing(ItemWorld(module_database_url)) as world:
        world.run(world.worker(points))
        assert world.ending() == CALM
    return points.names


def die() -> None:
    raise KilledError


def test_killed_at_every_checkpoint_it_ends_like_the_calm_run(
    item_worlds: Worlds, names: list[str], stride: int
) -> None:
    # Before something nothing has been done since the checkpoint before it.
    for chosen, name in [one for one in enumerate(names) if not one[1].startswith("before ")][::stride]:
        world = item_worlds()
        with pytest.raises(KilledError):
            world.run(world.worker(Checkpoints(chosen, die)))
        world.clock.advance(1.0)
        world.run(world.worker())
        assert world.ending() == CALM, f"killed at checkpoint {chosen}, {name}"


def test_a_run_whose_delivery_is_lost_leaves_its_items_to_the_sweep(item_worlds: Worlds, names: list[str]) -> None:
    # Killed while it held an item: the delivery never comes again, and another run takes the item.
    chosen = names.index("after submit")
    world = item_worlds()
    with pytest.raises(KilledError):
        world.run(world.worker(Checkpoints(chosen, die)))
    worker = world.worker()
    worker.sweep(grace=0)
    world.clock.advance(1.0)
    world.run(worker, holders=("run-9",))
    assert world.ending() == CALM


def test_two_workers_share_the_items_of_one_action(item_worlds: Worlds) -> None:
    world = item_worlds(waves=(tuple("abcdefgh"),))
    workers = world.worker(), world.worker()
    world.run(*workers)
    state, steps, items, targets = world.ending()
    assert (state, steps[0][1], targets) == (RunState.SUCCESS, StepState.SUCCESS, list("abcdefgh"))
    assert {item[1] for item in items} == {"success"}


def test_a_worker_that_was_taken_for_dead_is_fenced_wherever_it_stood(
    item_worlds: Worlds, names: list[str], stride: int
) -> None:
    """It stops for longer than ``settle``, its run is delivered to another worker, and then it wakes up."""
    for chosen, name in list(enumerate(names))[::stride]:
        if name.startswith("before "):
            continue  # before a commit it holds the row; before a call no fence is possible
        world = item_worlds()

        def another_takes_over(world: ItemWorld = world) -> None:
            world.clock.advance(3 * SETTLE)
            world.deliver(world.worker())

        world.run(world.worker(Checkpoints(chosen, another_takes_over)))
        assert world.ending() == CALM, f"overtaken at checkpoint {chosen}, {name}"


@pytest.mark.parametrize("after", [False, True], ids=["before its effect", "after its effect"])
def test_every_call_that_breaks_once_changes_nothing(
    item_worlds: Worlds, names: list[str], after: bool, stride: int
) -> None:
    calls = [name.removeprefix("before ") for name in names if name.startswith("before ") and name != "before commit"]
    for number, call in list(enumerate(calls))[::stride]:
        world = item_worlds()
        nth = calls[:number].count(call)

        class BreakNth(Checkpoints):
            def passed(self, name: str, world: ItemWorld = world, call: str = call, nth: int = nth) -> None:
                if name == f"before {call}" and self.names.count(name) == nth:
                    world.peer.break_next(call, after=after)
                super().passed(name)

        world.run(world.worker(BreakNth()))
        assert world.ending() == CALM, f"{call} number {nth} broke"


def test_a_stop_at_every_checkpoint_leaves_every_submitted_job_ended_or_a_straggler(
    item_worlds: Worlds, names: list[str], stride: int
) -> None:
    for chosen, name in list(enumerate(names))[::stride]:
        if name == "before commit":
            continue  # the row is locked: the stop comes after it
        world, accepted = item_worlds(), list[bool]()

        def stop(world: ItemWorld = world, accepted: list[bool] = accepted) -> None:
            accepted.append(world.control(Control.STOP))

        world.run(world.worker(Checkpoints(chosen, stop)))
        state, steps, items, _targets = world.ending()
        where = f"stopped at checkpoint {chosen}, {name}"
        if accepted == [False]:
            assert world.ending() == CALM, where
            continue
        ended_itself = steps == CALM[1]
        assert state is RunState.FAILED, where
        assert ended_itself or steps[0][1] is StepState.FAILED, where
        assert all(gathered or outcome == "stopped" for _, outcome, _, gathered in items), where
        with world.store().begin() as tx:
            left = {one.job for one in tx.stragglers.open()}
        submitted = {target: f"job-{number}" for number, (_, target) in enumerate(world.peer.log, 1)}
        open_jobs = {
            submitted[target] for target, outcome, _, _ in items if target in submitted and outcome == "stopped"
        }
        # Every accepted job has ended, or is a straggler.
        assert left == open_jobs, where


def test_what_a_run_that_died_had_submitted_is_left_behind_by_a_stop(item_worlds: Worlds, names: list[str]) -> None:
    chosen = names.index("after submit")
    world = item_worlds()
    with pytest.raises(KilledError):
        world.run(world.worker(Checkpoints(chosen, die)))
    assert world.control(Control.STOP)
    world.run(world.worker())

    with world.store().begin() as tx:
        assert [one.job for one in tx.stragglers.open()] == ["job-1"]


def test_a_stop_takes_an_item_from_a_run_that_only_reads(item_worlds: Worlds, names: list[str]) -> None:
    """The call may hang for as long as the peer likes; nobody else would deliver that run again."""
    chosen = names.index("before poll")
    world = item_worlds()
    with pytest.raises(KilledError):
        world.run(world.worker(Checkpoints(chosen, die)))
    assert world.control(Control.STOP)
    worker = world.worker()
    for _ in range(5):
        world.deliver(worker, "run-2")

    assert world.state() is RunState.FAILED


def test_a_pause_at_every_checkpoint_starts_nothing_and_resumes_to_the_calm_end(
    item_worlds: Worlds, names: list[str], stride: int
) -> None:
    for chosen, name in list(enumerate(names))[::stride]:
        if name == "before commit":
            continue
        world = item_worlds()
        submitted: list[int] = []

        def pause(world: ItemWorld = world, submitted: list[int] = submitted) -> None:
            world.control(Control.PAUSE)
            submitted.append(len(world.peer.log))

        worker = world.worker(Checkpoints(chosen, pause))
        for _ in range(60):
            world.deliver(worker)
            if submitted and world.state() is RunState.PAUSED and not world.ended:
                break
            if world.ended:
                break
            world.clock.advance(world.wait())
        if not world.ended:
            for _ in range(10):
                world.deliver(worker)
                world.clock.advance(10.0)
            # What was intended before the pause is brought to its end; nothing else starts.
            assert len(world.peer.log) <= submitted[0] + 1, f"started while paused at {chosen}, {name}"
            world.control(Control.UNPAUSE)
            world.run(worker)
        assert world.ending() == CALM, f"paused at checkpoint {chosen}, {name}"


def test_a_silent_peer_stalls_its_own_item_only(item_worlds: Worlds) -> None:
    world = item_worlds(waves=(("a", "b"),))
    world.peer.broken = {"submit": []}
    world.peer.break_next("submit", after=True)
    worker = world.worker()
    for _ in range(20):
        world.deliver(worker)
        if any(row[1] == "success" for row in world.ending()[2]):
            break
        world.clock.advance(2.0)  # less than ``settle``: the broken item waits
    items = {row[0]: row[1] for row in world.ending()[2]}
    assert sorted(items.values()) == ["running", "success"]


def test_an_item_on_a_held_node_fails_and_the_others_go_on(item_worlds: Worlds) -> None:
    world = item_worlds()
    with world.store().begin() as tx:
        tx.holds.place(NewHold(NodeName("b"), HoldKind.OPERATOR, "no power", "ann"))
    world.run(world.worker())
    assert world.ending()[1] == [(STEP, StepState.FAILED, "failed: b")]
    assert sorted(target for _, target in world.peer.log) == ["a", "c"]


def test_an_item_that_fails_fails_the_step_and_a_retry_repeats_only_that(item_worlds: Worlds) -> None:
    world = item_worlds()
    world.peer.failing = frozenset({"b"})
    world.run(world.worker())
    state, steps, _, _ = world.ending()
    assert state is RunState.FAILED
    assert steps == [(STEP, StepState.FAILED, "failed: b")]
    with world.store().begin() as tx:
        kept = {step: list(done) for step, done in tx.items.succeeded(world.action).items()}
    assert kept == {STEP: ["a", "c"]}
    world.peer.failing = frozenset()
    before = len(world.peer.log)
    world.create(ActionId("1" * 26), {"kept_items": kept})
    world.run(world.worker())
    assert [target for _, target in world.peer.log[before:]] == ["b"]
    assert world.state() is RunState.SUCCESS


def test_an_item_whose_turns_always_break_fails_and_the_action_ends(
    item_worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = item_worlds(waves=(("a",),))

    def bug(*_: Any) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(world.peer, "poll", bug)
    world.run(world.worker())
    state, steps, items, _ = world.ending()
    assert (state, steps[0][1]) == (RunState.FAILED, StepState.FAILED)
    assert items == [("a", "failed", "internal error: ZeroDivisionError; the worker's log has the rest", True)]


def test_an_item_that_is_let_go_while_its_action_is_resumed_stays_due(item_worlds: Worlds) -> None:
    world = item_worlds(waves=(("a",),))
    worker = world.worker()
    worker.run(world.action)
    assert world.control(Control.PAUSE)
    with world.store().begin() as tx:
        claim = tx.items.claim(world.action, {STEP: 1}, holder="run-1", now=world.clock.now(), worker="slow")
        assert claim is not None
        assert claim.on_hold
        # The turn of the resumed action finds no item at rest.
        assert world.control(Control.UNPAUSE)
        worker.run(world.action)
        tx.items.rest(claim)
    with world.engine.connect() as connection:
        assert connection.execute(sa.select(tables.work_items.c.wake_at)).scalar_one() is not None


def test_a_stop_that_meets_the_end_of_an_item_is_tried_again(item_worlds: Worlds) -> None:
    world = item_worlds(waves=(("a",),))
    worker = world.worker()
    worker.run(world.action)
    assert world.control(Control.STOP)
    waiting = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with ThreadPoolExecutor(1) as pool:
        with world.store().begin() as tx:
            claim = tx.items.claim(world.action, {STEP: 1}, holder="run-1", now=world.clock.now(), worker="w")
            assert claim is not None
            stopping = pool.submit(worker.run, world.action)
            with world.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as other:
                while not other.execute(waiting).scalar():
                    assert not stopping.done(), "the stop waits for no lock"
                    time.sleep(0.01)
            tx.items.end(claim, ItemState.SUCCESS, "", (), now=world.clock.now())
        # Each waited for the other's row.
        with pytest.raises(StoreUnavailable, match="deadlock"):
            stopping.result()
    world.run(world.worker())
    assert world.ending()[:2] == (RunState.FAILED, [(STEP, StepState.FAILED, "stopped by ann")])
