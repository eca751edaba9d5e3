"""redeploy_server, broken wherever it touches the world: each run ends like the calm one, and does nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from shipyard_api.domain.teardown.labels import Operator, Requirement
from shipyard_api.domain.teardown.pods import Budget
from tests.databases import empty
from tests.fakes.provisioner import Breakage
from tests.teardown_world import TeardownWorld, pod
from tests.world import SETTLE, Checkpoints, KilledError

_CALLS = {"submit": "provisioner", "find": "provisioner", "report": "provisioner", "select_nodes": "provisioner"}
_EFFECTS = frozenset(
    {"cordon", "evict", "remove_labels", "transfer_leadership", "remove", "set_labels", "submit", "delete_node"}
)
_ETCD = ("transfer_leadership", "remove")
_PLANS: dict[str, dict[str, Any]] = {
    "one server": {},
    "two at a time": {"targets": ("n1", "n2"), "inputs": {"max_parallel_nodes": 2}},
}


@dataclass
class Calm(Checkpoints):
    """The run in which nothing goes wrong, with a snapshot before each of its deliveries."""

    deliveries: list[tuple[int, Any]] = field(default_factory=list)
    world: TeardownWorld = field(init=False)
    ending: Any = None

    @classmethod
    def of(cls, url: str, plan: dict[str, Any]) -> Calm:
        self = cls()
        self.world = TeardownWorld(url, **plan)
        self.world.cluster.pods[next(iter(self.world.cluster.pods))].append(pod("web", labels={"app": "web"}))
        selector = (Requirement("app", Operator.IN, ("web",)),)
        self.world.cluster.budgets = [Budget("default", "web", selector, 1, 1, 2, 2)]
        self.world.run(self.world.worker(self), each_time=self._delivered)
        self.ending = self.world.ending()
        return self

    def _delivered(self) -> None:
        self.deliveries.append((len(self.names), self.world.moment()))

    def before(self, chosen: int) -> tuple[TeardownWorld, int]:
        """Return the world before the delivery in which this checkpoint is passed, and its number there."""
        passed, moment = max((one for one in self.deliveries if one[0] <= chosen), key=lambda one: one[0])
        return self.world.at(moment), chosen - passed


@pytest.fixture(
    scope="module",
    params=[name if not at else pytest.param(name, marks=pytest.mark.crash) for at, name in enumerate(_PLANS)],
)
def calm(request: pytest.FixtureRequest, module_database_url: str) -> Iterator[Calm]:
    empty(module_database_url)
    calm = Calm.of(module_database_url, _PLANS[request.param])
    yield calm
    calm.world.close()


@pytest.fixture(params=["effects", pytest.param("all", marks=pytest.mark.crash)])
def chosen_points(request: pytest.FixtureRequest, calm: Calm) -> list[tuple[int, str]]:
    """The checkpoints of a test: those right after the first of each effect; or all of them, in the long tests."""
    points = list(enumerate(calm.names))
    if request.param == "all":
        return points
    first = {name: (at, name) for at, name in reversed(points) if name.removeprefix("after ") in _EFFECTS}
    return sorted(first.values())


def die() -> None:
    raise KilledError


def test_the_calm_run_takes_the_server_down_and_up(calm: Calm) -> None:
    state, steps, changes, removed, least, sent = calm.ending
    assert state.value == "success"
    assert set(steps.values()) == {"success"}
    assert ("evict", "default/web") in changes
    assert len(removed) == len(calm.world.targets)
    assert least >= 0
    assert len(sent) == 3 * len(calm.world.targets) or len(calm.world.targets) > 1


def test_killed_at_every_checkpoint_it_ends_like_the_calm_run(calm: Calm, chosen_points: list[tuple[int, str]]) -> None:
    for chosen, name in chosen_points:
        if name.startswith("before "):
            continue  # nothing has been done since the checkpoint before it
        world, number = calm.before(chosen)
        with pytest.raises(KilledError):
            world.run(world.worker(Checkpoints(number, die)))
        world.clock.advance(1.0)
        world.run(world.worker())
        assert world.ending() == calm.ending, f"killed at checkpoint {chosen}, {name}"


def test_a_worker_that_was_taken_for_dead_is_fenced_wherever_it_stood(
    calm: Calm, chosen_points: list[tuple[int, str]]
) -> None:
    for chosen, name in chosen_points[::2] if len(chosen_points) < len(calm.names) else chosen_points:
        if name.startswith("before "):
            continue
        world, number = calm.before(chosen)

        def another_takes_over(world: TeardownWorld = world) -> None:
            world.clock.advance(3 * SETTLE)
            other = world.worker()
            other.run(world.action)
            other.items.run(world.action, "run-2")

        world.run(world.worker(Checkpoints(number, another_takes_over)))
        assert world.ending() == calm.ending, f"overtaken at checkpoint {chosen}, {name}"


@pytest.mark.crash
@pytest.mark.parametrize("after", [False, True], ids=["before its effect", "after its effect"])
def test_every_call_that_breaks_once_changes_nothing(calm: Calm, after: bool) -> None:
    for chosen, name in enumerate(calm.names):
        call = name.removeprefix("before ")
        if call in (name, "commit"):
            continue
        world, number = calm.before(chosen)

        def breaks(world: TeardownWorld = world, call: str = call) -> None:
            if call in _CALLS:
                breakage = Breakage.AFTER_EFFECT if after else Breakage.BEFORE_EFFECT
                world.provisioner.break_next("report" if call == "reports" else call, breakage)
            elif call in _ETCD:
                world.etcd.break_next(call, after=after)
            else:
                world.cluster.break_next(call, after=after)

        world.run(world.worker(Checkpoints(number, breaks)))
        assert world.ending() == calm.ending, f"{name} at checkpoint {chosen} broke"
