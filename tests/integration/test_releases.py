"""Workers of several releases beside each other: an older one leaves alone what only a newer one knows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepId
from shipyard_api.storage import tables
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.skipped_actions import FindSkippedActions
from shipyard_api.usecases.callers import Caller
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.turn import Engine
from tests.fan_out import STEP, FanOut, ItemWorld, SampleItem
from tests.world import SETTLE, Checkpoints, World

Worlds = Callable[..., World]
NODES = StepId("drydock_build.prepare_and_deploy_nodes")


def engine(world: World | ItemWorld, definitions: Mapping[ActionName, Definition], name: str = "older") -> Engine:
    return Engine(world.store(), definitions, world.clock, settle=SETTLE, worker=name)


def older(world: World) -> Engine:
    """A worker of a release without the last two steps."""
    definitions = world.definitions(Checkpoints())
    known = definitions[world.name]
    return engine(
        world, {**definitions, world.name: replace(known, steps_for=lambda given: known.steps_for(given)[:-2])}
    )


def rows(world: World) -> dict[str, bytes]:
    """Return everything but the queue."""
    return {table: content for table, content in world.rows().items() if "procrastinate" not in table}


def queued(connected: sa.Engine, queue: str) -> int:
    jobs = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name = :queue AND status = 'todo'"
    with connected.connect() as connection:
        return int(connection.execute(sa.text(jobs), {"queue": queue}).scalar_one())


def left_alone(caplog: pytest.LogCaptureFixture) -> list[str]:
    message = "left to a worker of another release"
    return [getattr(one, "unknown", "") for one in caplog.records if one.message == message]


def epoch(world: World) -> int:
    with world.store().begin() as tx:
        record = tx.actions.get(world.action)
    assert record is not None
    return record.epoch


def leaves(world: World, worker: Engine) -> None:
    """Deliver a turn to a worker, which must leave the action as it is and pass the turn on."""
    before, wakeups, at = rows(world), queued(world.engine(), "turns"), epoch(world)
    worker.run(world.action)
    assert (rows(world), epoch(world)) == (before, at)
    assert queued(world.engine(), "turns") == wakeups + 1


# --- Steps and actions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["older first", 0])
def test_beside_an_older_worker_an_action_ends_as_always(
    worlds: Worlds, caplog: pytest.LogCaptureFixture, order: str | int
) -> None:
    calm = worlds()
    calm.run(calm.worker())
    expected = calm.ending()
    world = worlds()
    old, new, random = older(world), world.worker(attempts=2), Random(order)
    for number in range(400):
        if world.stands()[0]:
            break
        chosen = number < 10 if order == "older first" else random.random() < 0.5
        if chosen:
            leaves(world, old)
        else:
            new.run(world.action)
            world.clock.advance(world.stands()[1])

    assert world.ending() == expected
    assert left_alone(caplog) == [f"step {NODES}"]
    assert not [one for one in caplog.records if one.message in ("turn fenced", "turn broke")]


def test_an_older_worker_that_comes_in_while_a_newer_one_works_does_not_fence_it(
    worlds: Worlds, caplog: pytest.LogCaptureFixture
) -> None:
    world = worlds(name=ActionName("update_software"))
    old, points = older(world), Checkpoints()

    class EachTime(Checkpoints):
        def passed(self, name: str) -> None:
            points.passed(name)
            if name != "before commit":  # the row is locked: the older one would wait
                old.run(world.action)

    world.run(world.worker(EachTime()))

    with world.store().begin() as tx:
        record = tx.actions.get(world.action)
    assert record is not None
    assert record.state is RunState.SUCCESS
    assert len(points.names) > 8
    assert not [one for one in caplog.records if one.message == "turn fenced"]


def test_an_action_without_a_definition_is_left_to_who_has_one(
    worlds: Worlds, caplog: pytest.LogCaptureFixture
) -> None:
    world = worlds(name=ActionName("update_software"))
    old = engine(world, {})

    leaves(world, old)
    leaves(world, old)

    assert left_alone(caplog) == ["action update_software"]
    world.run(world.worker())
    assert world.ending()[0] is RunState.SUCCESS


def test_what_an_older_release_created_runs_with_the_steps_that_it_has(worlds: Worlds) -> None:
    world = worlds(name=ActionName("update_software"))
    with world.engine().begin() as connection:
        connection.execute(tables.steps.delete().where(tables.steps.c.id == "deployment_configuration"))

    world.run(world.worker())

    assert world.ending()[0] is RunState.SUCCESS
    assert "deployment_configuration" not in dict(world.ending()[1])


def test_a_state_of_a_version_that_is_not_known_is_left_alone(worlds: Worlds, caplog: pytest.LogCaptureFixture) -> None:
    world = worlds(name=ActionName("update_software"))
    world.worker(attempts=1).turn(world.action)
    running = tables.steps.c.state == "running"

    def write(version: int) -> StepId:
        with world.engine().begin() as connection:
            step, memory = connection.execute(sa.select(tables.steps.c.id, tables.steps.c.memory).where(running)).one()
            connection.execute(tables.steps.update().where(running).values(memory={**memory, "v": version}))
        return StepId(step)

    for version in (2, 0):
        step = write(version)
        leaves(world, world.worker())
        assert left_alone(caplog)[-1] == f"version {version} of the state of step {step}"
    write(1)
    world.run(world.worker())
    assert world.ending()[0] is RunState.SUCCESS


def test_the_actions_that_are_left_alone_are_found(worlds: Worlds) -> None:
    world = worlds(name=ActionName("update_software"))
    known = world.definitions(Checkpoints())
    world.worker(attempts=1).turn(world.action)
    name = world.name
    shorter = replace(known[name], steps_for=lambda given: known[name].steps_for(given)[:-1])

    def found(definitions: Mapping[ActionName, Definition]) -> list[tuple[str, str]]:
        return [(one.action, one.unknown) for one in FindSkippedActions(world.store(), definitions)()]

    assert found(known) == []
    assert found({}) == [(world.action, f"action {name}")]
    assert found({name: shorter}) == [(world.action, "step create_action_tag")]
    with world.engine().begin() as connection:
        running = tables.steps.c.state == "running"
        connection.execute(tables.steps.update().where(running).values(memory={"v": 7}))
    ((_, unknown),) = found(known)
    assert unknown.startswith("version 7 of the state of step ")
    with world.engine().begin() as connection:
        connection.execute(tables.actions.update().values(state="failed", ended_at=world.clock.now()))
    assert found({}) == []


# --- Work items -------------------------------------------------------------------------------------------------------


@pytest.fixture
def items(database_url: str) -> Iterator[ItemWorld]:
    world = ItemWorld(database_url, waves=(("a", "b", "c"),))
    yield world
    world.close()


def test_an_item_of_a_newer_version_is_left_alone_and_asked_for_with_pauses(items: ItemWorld) -> None:
    worker = items.worker()
    worker.run(items.action)
    worker.items.run(items.action, "run-1")  # now all have begun
    own, memory = tables.work_items.c.id.in_(["a", "b"]), {"v": 2, "mission": "only the next release knows"}

    def write(values: dict[str, Any]) -> None:
        with items.engine.begin() as connection:
            connection.execute(tables.work_items.update().where(own).values(values))

    with items.engine.connect() as connection:
        query = sa.select(tables.work_items.c.memory, tables.work_items.c.id).where(own)
        known = {row.id: row.memory for row in connection.execute(query)}
    items.clock.advance(10.0)
    write({"memory": memory})
    with items.engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM procrastinate_jobs WHERE queue_name = 'items'"))

    for _ in range(3):
        worker.items.run(items.action, "run-1")

    assert {row[0]: row[1] for row in items.ending()[2]} == {"a": "running", "b": "running", "c": "success"}
    with items.engine.connect() as connection:
        stored = connection.execute(sa.select(tables.work_items.c.memory).where(own)).scalars().all()
        due = sa.text("SELECT scheduled_at FROM procrastinate_jobs WHERE queue_name = 'items'")
        runs = connection.execute(due).scalars().all()
    assert stored == [memory, memory]
    assert [(at - items.clock.now()).total_seconds() for at in runs] == [SETTLE / 2]
    for item, one in known.items():
        own = tables.work_items.c.id == item
        write({"memory": one})
    items.run(worker)
    assert items.ending()[0] is RunState.SUCCESS


# --- Steps that follow from the inputs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class FanOutTo(FanOut):
    """One of several steps: it fans out to its own target only."""

    target: str = ""

    def begin(self, inputs: ActionInputs) -> Any:
        return super().begin({"kept_items": inputs.kept_items, "waves": [[self.target]]})


def one_step_each(world: ItemWorld) -> Definition:
    def steps_for(inputs: ActionInputs) -> tuple[FanOutTo, ...]:
        kind = SampleItem(world.peer)
        return tuple(FanOutTo(kind, StepId(f"{STEP}.{name}"), target=name) for name in inputs.labels or ())

    return Definition(ActionName("test_site"), steps_for, read=ActionInputs.from_json)


def steps(world: ItemWorld) -> list[tuple[str, str]]:
    with world.store().begin() as tx:
        found = tx.actions.steps([world.action])[world.action]
    return [(step.id.removeprefix(f"{STEP}."), step.state.value if step.state else "") for step in found]


def test_steps_that_follow_from_the_inputs_run_in_their_order_and_so_does_a_retry(items: ItemWorld) -> None:
    definition = one_step_each(items)
    definitions = {definition.name: definition}
    worker = engine(items, definitions)
    inputs = {"labels": {"x": {}, "y": {}, "z": {}}}
    items.peer.failing = frozenset({"y"})
    items.create(ActionId("1" * 26), inputs, definition.step_ids(definition.read(inputs)))
    items.run(worker)

    assert steps(items) == [("x", "success"), ("y", "failed"), ("z", "upstream_failed")]
    assert [target for _, target in items.peer.log] == ["x", "y"]
    items.peer.failing = frozenset()
    caller = Caller("ann", frozenset({"admin"}), str(uuid.uuid4()))
    items.action = (
        ControlAction(items.store(), definitions, lambda: "2" * 26).retry(items.action, caller, force=False).id
    )
    with items.engine.begin() as connection:  # the database's clock runs, the world's stands still
        connection.execute(tables.actions.update().values(wake_at=items.clock.now()))
    items.run(worker)

    assert steps(items) == [("x", "success"), ("y", "success"), ("z", "success")]
    assert [target for _, target in items.peer.log] == ["x", "y", "y", "z"]
