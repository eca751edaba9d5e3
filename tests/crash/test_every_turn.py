"""Every action, stopped wherever it touches the world: each run ends like the calm one, and does no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shipyard_api.ports.errors import Refused
from tests.crash.calm import Calm, Plan
from tests.fakes.provisioner import Breakage
from tests.world import SETTLE, Checkpoints, World


def calm_ending(worlds: Callable[..., World]) -> Any:
    world = worlds()
    world.run(world.worker())
    return world.ending()


def test_the_calm_run_is_what_the_design_says(worlds: Callable[..., World]) -> None:
    state, steps, groups, nodes, submissions = calm_ending(worlds)
    assert state.value == "success"
    assert [state.value for _step, state in steps] == ["success"] * len(steps)
    assert [(name, status, reason) for name, status, reason, _phases in groups] == [
        ("first", "success", None),
        ("second", "failed", "timeout"),
        ("third", "failed", "dependency"),
        ("empty", "success", None),
    ]
    assert [(name, status.value, reason) for name, status, reason, _group in nodes] == [
        ("n0", "success", None),
        ("n1", "failure", "prepare"),
        ("n2", "success", None),
        ("n3", "success", None),
        ("n4", "failure", "timeout"),
        ("n5", "success", None),
    ]
    assert [nodes for operation, nodes in submissions if nodes] == [
        ("n0", "n1", "n2", "n3"),
        ("n0", "n2", "n3"),
        ("n4", "n5"),
        ("n4", "n5"),
    ]


@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.crash)], ids=["some", "every"])
def test_killed_at_every_checkpoint_it_ends_like_the_calm_run(calm: Calm, plan: Plan, stride: int) -> None:
    different = [(moment, one) for moment, one in zip(calm.moments, enumerate(calm.names), strict=True) if moment]
    for moment, (chosen, name) in different[::stride]:
        world = calm.world.at(moment)
        world.clock.advance(1.0)
        world.run(world.worker())
        assert plan.ending(world) == calm.ending, f"killed at checkpoint {chosen}, {name}"


def test_delivered_twice_every_turn_ends_like_the_calm_run(calm: Calm, plan: Plan) -> None:
    world, _chosen = calm.before(0)
    first, second = world.worker(), world.worker()
    for _ in range(400):
        first.turn(world.action)
        second.turn(world.action)
        ended, wait = world.stands()
        if ended:
            break
        world.clock.advance(wait)
    assert plan.ending(world) == calm.ending


@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=pytest.mark.crash)], ids=["some", "every"])
def test_a_worker_that_was_taken_for_dead_is_fenced_wherever_it_stood(calm: Calm, plan: Plan, stride: int) -> None:
    """It stops for longer than ``settle``, another one goes on, and then it wakes up and wants to finish its turn."""
    # Before a commit it holds the row, so nobody can take over. And between the last look at the clock and a submission
    # no fence is possible: that gap is named in the adapter's docstring.
    for chosen, name in [one for one in enumerate(calm.names) if not one[1].startswith("before ")][::stride]:
        world, number = calm.before(chosen)

        def another_takes_over(world: World = world) -> None:
            world.clock.advance(3 * SETTLE)
            world.worker().run(world.action)

        points = Checkpoints(number, another_takes_over)
        world.run(world.worker(points))
        assert points.names[number] == name
        assert plan.ending(world) == calm.ending, f"overtaken at checkpoint {chosen}, {name}"


@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=pytest.mark.crash)], ids=["some", "every"])
@pytest.mark.parametrize("breakage", list(Breakage), ids=lambda one: one.value)
def test_every_call_that_breaks_once_changes_nothing(calm: Calm, plan: Plan, breakage: Breakage, stride: int) -> None:
    calls = [one for one in enumerate(calm.names) if one[1].startswith("before ") and one[1] != "before commit"]
    for chosen, name in calls[::stride]:
        call = name.removeprefix("before ")
        world, number = calm.before(chosen)

        def breaks(world: World = world, call: str = call) -> None:
            world.provisioner.break_next(call, breakage)

        points = Checkpoints(number, breaks)
        world.run(world.worker(points))
        assert points.names[number] == name
        assert plan.ending(world) == calm.ending, f"{name} at checkpoint {chosen} broke {breakage.value} its effect"


def test_the_journal_shows_every_turn_once(worlds: Callable[..., World]) -> None:
    world = worlds()
    world.run(world.worker())
    with world.store().begin() as tx:
        entries = tx.journal.entries(world.action)
    owners: dict[int, set[str]] = {}
    for entry in entries:
        owners.setdefault(entry.epoch, set()).add(entry.worker)
    assert all(len(workers) == 1 for workers in owners.values())
    assert [entry.epoch for entry in entries] == sorted(entry.epoch for entry in entries)
    started = [entry.step for entry in entries if entry.kind == "step_started"]
    assert len(started) == len(set(started))


@pytest.mark.parametrize("call", ["report", "submit"])
def test_a_turn_that_always_breaks_fails_its_step_and_the_action_ends(
    worlds: Callable[..., World], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    world = worlds()

    def bug(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(world.provisioner, call, bug)
    world.run(world.worker())
    state, steps, *_rest = world.ending()
    assert state.value == "failed"
    states = {step: state.value for step, state in steps}
    assert states["drydock_build.verify_site"] == "failed"
    assert states["drydock_build.prepare_site"] == "upstream_failed"
    assert states["create_action_tag"] == "success"
    with world.store().begin() as tx:
        details = [step.detail for step in tx.actions.steps([world.action])[world.action]]
    assert "internal error: ZeroDivisionError; the worker's log has the rest" in details


def test_overtaken_while_it_looks_for_a_lost_submission_it_does_not_submit_after_all(
    worlds: Callable[..., World],
) -> None:
    """Looking may take long; whoever took over meanwhile has looked too, found nothing, and sent the work."""
    expected = calm_ending(worlds)
    world = worlds()
    world.provisioner.break_next("submit", Breakage.BEFORE_EFFECT)

    class Overtaken(Checkpoints):
        def passed(self, name: str) -> None:
            first = name == "after find" and name not in self.names
            super().passed(name)
            if first:
                world.clock.advance(3 * SETTLE)
                world.worker().run(world.action)

    points = Overtaken()
    world.run(world.worker(points))
    assert "after find" in points.names
    assert world.ending() == expected


def test_a_peer_that_refuses_to_be_looked_at_has_not_refused_the_work(worlds: Callable[..., World]) -> None:
    expected = calm_ending(worlds)
    world = worlds()
    world.provisioner.break_next("submit", Breakage.AFTER_EFFECT)
    world.provisioner.fail_next("find", Refused("Fake", "find", "403 Forbidden"))
    world.run(world.worker())
    # One look before each submission, the one that was refused, and the one for the answer that was lost.
    assert world.provisioner.calls.count("find") == len(world.provisioner.submissions) + 2
    assert world.ending() == expected
