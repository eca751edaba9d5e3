"""A rolling reinstallation whose worker is killed at every step: each server is erased once, and etcd keeps its quorum.

The judge reads the logs of the provisioner, of Kubernetes and of etcd, and nothing of ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import RunState
from tests.integration.test_rolling_reinstall import (
    GROUPS,
    SERVERS,
    UPDATE,
    chained,
    change,
    destroyed,
    overlapping,
    without_quorum,
)
from tests.redeploy_world import RedeployWorld, Ticks
from tests.simulated_peers import PEERS
from tests.unit.tables import every_row
from tests.world import SETTLE, KilledError

MEMBERS = SERVERS[:5]  # of etcd, in two groups
# What is read may be read again: a worker that dies after it has done nothing since the step before.
_STEPS = frozenset(
    {
        "commit",
        "cordon",
        "evict",
        "remove_labels",
        "transfer_leadership",
        "remove",
        "set_labels",
        "submit",
        "delete_node",
    }
)
_STATE = """
SELECT md5(string_agg(row, '|' ORDER BY row)) FROM (
  SELECT concat_ws(' ', id, state, memory::text) AS row FROM steps WHERE action_id = :action
  UNION ALL
  SELECT concat_ws(' ', step_id, id, state, memory::text) FROM work_items WHERE action_id = :action
) AS rows
"""


@dataclass
class Dying(Ticks):
    """Kills the worker at each step of a delivery, one life after another, as often as a delivery finds a new state.

    What an intent writes is no state: a worker that died after it writes it again.
    """

    state: str = ""
    number: int = 0
    died_at: set[tuple[str, int, str]] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)

    def passed(self, name: str) -> None:
        super().passed(name)
        step = name.removeprefix("after ")
        if step == name or step not in _STEPS:
            return
        self.number += 1
        place = self.state, self.number, step
        if place not in self.died_at:
            self.died_at.add(place)
            self.deaths[step] += 1
            raise KilledError


def run_killed_at_every_step(world: RedeployWorld) -> Counter[str]:
    """Run the action; kill its worker after each commit and each effect. Return how often it died after which."""
    points = Dying(clock=world.clock)

    def begins() -> None:
        points.state, points.number = _state(world), 0

    for _ in range(20_000):
        try:
            world.run(world.worker(points), begins)
        except KilledError:
            world.clock.advance(SETTLE + 1)
            world._let_join()
        else:
            return points.deaths
    raise AssertionError(f"the action does not end\n{world.told()}")


def _state(world: RedeployWorld) -> str:
    with world.engine().connect() as connection:
        return str(connection.execute(sa.text(_STATE), {"action": world.action}).scalar())


STORIES = {
    "one after another": ("cordoned n1|member removed: 200|destroy n1|ready n1|cordoned n2|member removed: 200", ""),
    "three of five": (
        "destroy n1|destroy n2|destroy n3",
        "destroy n3: only ['n4', 'n5'] of ['n1', 'n2', 'n3', 'n4', 'n5']",
    ),
    "a member of nobody": ("member removed: 200", "member removed: 200: of []"),
    "a server without a member": ("cordoned n9|destroy n9|destroy n1|destroy n2", ""),
}


@every_row(STORIES)
def test_the_judge_sees_a_lost_quorum(story: str, expected: str) -> None:
    assert "|".join(without_quorum(story.split("|"), MEMBERS)) == expected


@pytest.fixture
def fleet(request: pytest.FixtureRequest, database_url: str) -> Iterator[RedeployWorld]:
    found = RedeployWorld.deployed(database_url, request.param, chained(), names=SERVERS, members=MEMBERS)
    yield found
    found.close()


def judge(world: RedeployWorld, servers: Sequence[str]) -> None:
    """Hold the run against the peers' own logs."""
    assert world.state() is RunState.SUCCESS, world.told()
    story = world.story()
    assert Counter(destroyed(story)) == Counter(servers)
    begun = Counter((one.phase, one.node) for one in world.peer.begun() if one.at > world.since)
    assert {count for (phase, _), count in begun.items() if phase == "deploy"} == {1}
    assert story.count("member removed: 200") == len(set(servers) & set(world.with_members))
    assert without_quorum(story, world.with_members) == []
    assert overlapping(story) == []


@pytest.mark.crash
@pytest.mark.parametrize("fleet", PEERS, indirect=True)
def test_a_fleet_is_installed_again_by_workers_that_die_at_every_step(fleet: RedeployWorld) -> None:
    change(fleet, SERVERS, platform={"image": "noble"})
    fleet.create(UPDATE, **{"on-change": "reinstall"})
    deaths = run_killed_at_every_step(fleet)
    judge(fleet, SERVERS)
    assert deaths["submit"] >= 20
    assert deaths["remove"] >= len(MEMBERS)
    assert deaths["cordon"] >= len(SERVERS)
    assert sum(deaths.values()) > 500


@pytest.mark.crash
@pytest.mark.parametrize("fleet", ["maas"], indirect=True)
def test_two_servers_of_it_are_installed_again_by_workers_that_die_at_every_step(fleet: RedeployWorld) -> None:
    """Two groups with a member of etcd in each."""
    servers = [*GROUPS["control"][:1], *GROUPS["store"][:1]]
    change(fleet, servers, platform={"image": "noble"})
    fleet.create(UPDATE, **{"on-change": "reinstall"})
    assert run_killed_at_every_step(fleet)["submit"] >= 3 * len(servers)
    judge(fleet, servers)
