"""Every action, paused or stopped at each checkpoint: no job is lost from view, and nothing new starts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.domain.actions import Control, RunState
from tests.crash.calm import Calm, Plan
from tests.world import SETTLE, Checkpoints, World

SLICES = 16


def each_checkpoint(calm: Calm) -> Iterator[tuple[int, str]]:
    """Yield the checkpoints at which a control verb can come between two changes, with their numbers.

    Before a commit the turn holds the action's row, so that the verb waits until after it.
    """
    for chosen, (name, moment) in enumerate(zip(calm.names, calm.moments, strict=True)):
        if moment is not None and name != "before commit":
            yield chosen, name


class Controlled(Checkpoints):
    """Lets one verb come at a checkpoint, and notes what was going on then.

    At every other one, the next submission is cut off before it arrives.
    """

    def __init__(self, chosen: int, world: World, verb: Control) -> None:
        super().__init__(chosen, self._control)
        self._world, self._verb = world, verb
        self._cuts = bool(chosen % 2)
        self.accepted = False
        self.latest = datetime.max.replace(tzinfo=UTC)  # when what was on its way has arrived
        self.allowed = 0  # submissions that may exist in the end: those made, and the one that is intended

    def _control(self) -> None:
        world = self._world
        self.accepted = world.control(self._verb)
        self.allowed = len(world.provisioner.submissions) + world.has_intent()
        if self.accepted:
            self.latest = world.clock.now() + timedelta(seconds=SETTLE)
            if self._cuts:
                world.provisioner.break_next("submit")

    def sent_late(self) -> list[str]:
        """Return the work that arrived although nothing more was to be sent."""
        late = (one for one in self._world.provisioner.submissions if one.created >= self.latest)
        return [f"{one.work.operation.value} at {one.created}" for one in late]


def open_jobs(world: World) -> set[str]:
    return {one.job for one in world.provisioner.submissions} - world.provisioner.finished


@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.crash)], ids=["some", "every"])
def test_a_stop_at_every_checkpoint_leaves_every_job_ended_or_a_straggler(calm: Calm, stride: int) -> None:
    tried = 0
    for chosen, name in list(each_checkpoint(calm))[::stride]:
        world, number = calm.before(chosen)
        points = Controlled(number, world, Control.STOP)
        world.run(world.worker(points))
        where = f"stopped at checkpoint {chosen}, {name}"
        assert points.names[number] == name
        state, steps, groups, *_rest = world.ending()
        if not points.accepted:
            assert calm.plan.ending(world) == calm.ending, where
            continue
        tried += 1
        assert state is RunState.FAILED, where
        assert "running" not in {step.value for _, step in steps}, where
        assert {status for _, status, *_ in groups} <= {"success", "failed", "not_started"}, where
        assert len(world.provisioner.submissions) <= points.allowed, f"{where}: new work was submitted"
        assert not points.sent_late(), where
        assert world.stragglers() == open_jobs(world), where
    assert tried > len(calm.names) / 4 / stride


@pytest.mark.parametrize(
    "slice_",
    [pytest.param(number, marks=[pytest.mark.crash] if number else []) for number in range(SLICES)],
    ids=lambda number: f"slice-{number}",
)
def test_a_pause_at_every_checkpoint_starts_nothing_and_resumes_to_the_calm_end(
    calm: Calm, plan: Plan, slice_: int
) -> None:
    for chosen, name in list(each_checkpoint(calm))[slice_::SLICES]:
        world, number = calm.before(chosen)
        points = Controlled(number, world, Control.PAUSE)
        worker = world.worker(points)
        where = f"paused at checkpoint {chosen}, {name}"
        while not points.accepted and not world.stands()[0]:
            worker.run(world.action)
            world.clock.advance(world.stands()[1])
        for _ in range(10):
            worker.run(world.action)
            world.clock.advance(10.0)
        if points.accepted and not world.stands()[0]:
            assert len(world.provisioner.submissions) <= points.allowed, f"{where}: new work was submitted"
            assert not points.sent_late(), where
            assert not world.has_intent(), where
            assert world.control(Control.UNPAUSE), where
            world.run(worker)
        assert plan.ending(world) == calm.ending, where
