"""The software stage, stopped wherever it touches the world: it ends like the calm run, and starts nothing twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.nodes import NodeName
from tests.contract.remote_task_sites import sshd
from tests.databases import empty, one_after_another
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.software_world import SoftwareWorld
from tests.task_graphs import group, task
from tests.world import SETTLE, Checkpoints, KilledError

Worlds = Callable[[], SoftwareWorld]

GRAPH = (
    group("web", role=["web"], fault_tolerance=1),
    group("db", role=["db"], requires=["web"]),
    task("one", groups=["web", "db"]),
    task("two", groups=["web", "db"], requires=["one"]),
)
SITE = {"w1": "web", "w2": "web", "d1": "db"}


def new_world(url: str) -> SoftwareWorld:
    tasks = FakeRemoteTasks(polls=1, failing={("run one", NodeName("w2"))})
    return SoftwareWorld(url, GRAPH, SITE, tasks=tasks)


@pytest.fixture
def worlds(database_url: str) -> Iterator[Worlds]:
    with one_after_another(database_url, new_world) as make:
        yield make


@pytest.fixture(params=[31, pytest.param(1, marks=pytest.mark.crash)], ids=["some", "every"])
def stride(request: pytest.FixtureRequest) -> int:
    """How many checkpoints a test goes on at a time; the long tests take every one."""
    step: int = request.param
    return step


@pytest.fixture(scope="module")
def calm(module_database_url: str) -> tuple[list[str], Any]:
    """The checkpoints of the calm run, and how it ends."""
    points = Checkpoints()
    with closing(new_world(module_database_url)) as world:
        world.run(world.worker(points))
        return points.names, world.ending()


def die() -> None:
    raise KilledError


def test_a_worker_killed_anywhere_starts_nothing_twice(
    worlds: Worlds, calm: tuple[list[str], Any], stride: int
) -> None:
    names, ending = calm
    # Before something nothing has been done since the checkpoint before it.
    for chosen, name in [one for one in enumerate(names) if not one[1].startswith("before ")][::stride]:
        world = worlds()
        with pytest.raises(KilledError):
            world.run(world.worker(Checkpoints(chosen, die)))
        world.clock.advance(1.0)
        world.run(world.worker())
        assert world.ending() == ending, f"killed at {chosen}, {name}"


def test_a_worker_that_was_taken_for_dead_starts_nothing_twice(
    worlds: Worlds, calm: tuple[list[str], Any], stride: int
) -> None:
    names, ending = calm
    # Before a commit it holds the row; before a call no fence is possible.
    for chosen, name in [one for one in enumerate(names) if not one[1].startswith("before ")][stride // 2 :: stride]:
        world = worlds()

        def another_takes_over(world: SoftwareWorld = world) -> None:
            world.clock.advance(3 * SETTLE)
            world.deliver(world.worker(), "run-9")

        world.run(world.worker(Checkpoints(chosen, another_takes_over)))
        assert world.ending() == ending, f"overtaken at {chosen}, {name}"


def test_a_call_that_fails_once_changes_nothing(worlds: Worlds, calm: tuple[list[str], Any]) -> None:
    _, ending = calm
    for method, after in (("start", False), ("start", True), ("look", True)):
        world = worlds()
        world.tasks.break_next(method, after=after)
        world.run(world.worker())
        assert world.ending() == ending, f"{method} failed {'after' if after else 'before'} its effect"


@pytest.mark.crash
def test_a_worker_killed_anywhere_runs_each_task_of_real_hosts_once(database_url: str, tmp_path: Path) -> None:
    with ExitStack() as cleanup:
        site = sshd(cleanup, tmp_path, count=3)
        roles = dict(zip((host.name for host in site.hosts), SITE.values(), strict=True))
        # Long enough for a look at it while it runs.
        run = {"parameters": {"cmd": site.command("sleep 0.4")}}
        entries = [entry if entry["type"] == "group" else {**entry, **run} for entry in GRAPH]
        hosts = {host.name: host for host in site.hosts}
        kills: list[int] = [-1]
        for number in itertools.count():
            # Hosts remember tasks by the action, so each run is an action of its own.
            action = ActionId(str(number).rjust(26, "0"))
            world = SoftwareWorld(database_url, entries, roles, tasks=site.tasks, hosts=hosts, action=action)
            points = Checkpoints(kills[number], die)
            try:
                world.run(world.worker(points), pace=0.1)
            except KilledError:
                world.clock.advance(1.0)
                world.run(world.worker(), pace=0.1)
            assert world.state() is RunState.SUCCESS, (points.names[-1], world.steps())
            assert {site.marks(host) for host in site.hosts} == {2 * (number + 1)}, points.names[-1]
            world.close()
            empty(database_url)
            if number == 0:
                kills += [at for at, name in enumerate(points.names) if not name.startswith("before ")][::3]
            if number + 1 == len(kills):
                break
