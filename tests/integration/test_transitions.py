"""Every declared transition happens: what the page of states draws can be reached."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from shipyard_api.domain.actions import ActionName, Control
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Refused
from shipyard_api.ports.state.actions import StepRecord
from shipyard_api.storage import tables
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.callers import Caller
from tests import transitions
from tests.fakes.provisioner import Fate
from tests.world import Checkpoints, World

ANN = Caller("ann", frozenset({"admin"}), str(uuid.uuid4()))


def control(world: World) -> ControlAction:
    return ControlAction(world.store(), world.definitions(Checkpoints()), lambda: "2" * 26)


def steps(world: World) -> Sequence[StepRecord]:
    with world.store().begin() as tx:
        return tx.actions.steps([world.action])[world.action]


def due(world: World) -> None:
    """Let the action be due: the database's clock runs, the world's stands still."""
    with world.store().begin() as tx:
        tx.turns._connection.execute(tables.actions.update().values(wake_at=world.clock.now()))


def paused_at_the_end(world: World) -> None:
    """Run the action, and pause it between its last step and its own end."""
    worker = world.worker()
    for _ in range(400):
        worker.turn(world.action)
        if all(step.ended_at for step in steps(world)):
            break
        world.clock.advance(30)
    control(world)(world.action, Control.PAUSE, ANN)
    worker.turn(world.action)


def test_every_declared_transition_happens(worlds: Callable[..., World], database_url: str) -> None:
    with transitions.recorded(database_url) as changes:
        # A failure in each phase, a timeout, a dependency; then a retry that keeps what is deployed.
        world = worlds()
        world.provisioner.fates = {NodeName(name): Fate.FAILS_DEPLOY for name in ("n0", "n1", "n2")}
        world.run(world.worker())
        world.provisioner.fates = {}
        world.action = control(world).retry(world.action, ANN, force=False).id
        due(world)
        world.run(world.worker())
        calm = worlds()
        calm.provisioner.fates[NodeName("n0")] = calm.provisioner.fates[NodeName("n2")] = Fate.FAILS_PREPARE
        calm.run(calm.worker())

        skipping = worlds(parameters={"continue-on-fail": "true"})
        skipping.provisioner.fail_next("check_health", Refused("Fake", "check_health", "the database is gone"))
        skipping.run(skipping.worker())

        stopped = worlds(name=ActionName("update_software"))
        worker = stopped.worker()
        worker.turn(stopped.action)
        control(stopped)(stopped.action, Control.PAUSE, ANN)
        control(stopped)(stopped.action, Control.UNPAUSE, ANN)
        due(stopped)
        while not steps(stopped)[0].ended_at:
            worker.turn(stopped.action)
        control(stopped)(stopped.action, Control.STOP, ANN)
        stopped.run(worker)

        paused_at_the_end(worlds(name=ActionName("update_software")))
        failing = worlds()
        failing.provisioner.fail_next("check_health", Refused("Fake", "check_health", "the database is gone"))
        paused_at_the_end(failing)

    # Work items have tests of their own in the crash suite.
    assert changes == {one for one in transitions.declared() if one[0] != "work_items"}
