"""update_site with on-change before simulated peers: changed servers are installed again, group by group."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.errors import NodesHeld, TooManyReinstalls
from shipyard_api.domain.holds import HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.usecases.configdocs.versions import committed_revision
from tests.factories import group_entry
from tests.redeploy_world import RedeployWorld
from tests.refusals import refuses
from tests.simulated_peers import PEERS
from tests.world import SETTLE, KilledError

UPDATE = ActionName("update_site")
SERVERS = tuple(f"n{number}" for number in range(1, 10))
GROUPS = {"control": SERVERS[:3], "store": SERVERS[3:5], "edge": SERVERS[5:7], "work": SERVERS[7:]}


def chained() -> list[dict[str, Any]]:
    """Four groups, each after the one before."""
    before: list[str] = []
    groups = []
    for name, nodes in GROUPS.items():
        every = {"percent_successful_nodes": 100}
        selectors = [{"node_names": list(nodes)}]
        groups.append(group_entry(name, critical=True, selectors=selectors, depends_on=before, success_criteria=every))
        before = [name]
    return groups


@pytest.fixture
def world(request: pytest.FixtureRequest, database_url: str) -> Iterator[RedeployWorld]:
    found = RedeployWorld.deployed(database_url, request.param)
    yield found
    found.close()


@pytest.fixture
def fleet(request: pytest.FixtureRequest, database_url: str) -> Iterator[RedeployWorld]:
    found = RedeployWorld.deployed(database_url, request.param, chained(), names=SERVERS)
    yield found
    found.close()


def change(world: RedeployWorld, nodes: Sequence[str], **fields: Any) -> None:
    """Commit the design with other documents of these nodes."""
    documents: Mapping[str, Mapping[str, Any]] = world.site.nodes
    world.site = replace(world.site, nodes={**documents, **{node: {**documents[node], **fields} for node in nodes}})
    world._commit([dict(group) for group in world.site.groups])
    revision = committed_revision(world.designs().heads())
    assert revision
    world.peer.publish(revision, world._documents)


def act(world: RedeployWorld, **parameters: Any) -> list[str]:
    """Update the site, and return what the logs of all peers say of it."""
    world.create(UPDATE, **parameters)
    world.run(world.worker())
    return world.story()


def drained(story: Sequence[str]) -> list[str]:
    return [line.split()[1] for line in story if line.startswith("cordoned ")]


def destroyed(story: Sequence[str]) -> list[str]:
    return [line.split()[1] for line in story if line.startswith("destroy ")]


@pytest.mark.parametrize("world", PEERS, indirect=True)
def test_changed_servers_are_taken_down_and_deployed_again(world: RedeployWorld) -> None:
    change(world, ["n1", "n3"], platform={"image": "noble"})
    with refuses(TooManyReinstalls, match="2 servers again, and max-reinstalls allows 1: node n1, n3"):
        world.create(UPDATE, **{"on-change": "reinstall", "max-reinstalls": "1"})
    story = act(world, **{"on-change": "reinstall", "max-reinstalls": "2"})
    assert world.state() is RunState.SUCCESS, world.told()
    # Both have a member of one etcd cluster: the second is only begun when the first is back.
    assert destroyed(story) == ["n1", "n3"]
    assert story.index("ready n1") < story.index("cordoned n3")
    assert not any(line.split()[-1] == "n2" and line.startswith(("cordoned", "destroy")) for line in story)
    assert destroyed(act(world, **{"on-change": "reinstall"})) == []
    assert world.state() is RunState.SUCCESS, world.told()


def overlapping(story: Sequence[str], groups: Mapping[str, Sequence[str]] = GROUPS) -> list[str]:
    """Return the lines at which a server is drained while a server of another group is away."""
    of = {node: group for group, nodes in groups.items() for node in nodes}
    away: set[str] = set()
    found = []
    for line in story:
        node = line.split()[-1]
        if line.startswith("cordoned"):
            if any(of[other] != of[node] for other in away):
                found.append(f"{line} while {sorted(away)} are away")
            away.add(node)
        elif line.startswith("ready"):
            away.discard(node)
    return found


@pytest.mark.parametrize("fleet", PEERS, indirect=True)
def test_a_fleet_is_installed_again_group_by_group(fleet: RedeployWorld) -> None:
    change(fleet, SERVERS, platform={"image": "noble"})
    story = act(fleet, **{"on-change": "reinstall"})
    assert fleet.state() is RunState.SUCCESS, fleet.told()
    assert sorted(destroyed(story)) == list(SERVERS)
    assert overlapping(story) == []
    assert destroyed(story)[:3] == list(GROUPS["control"])  # one member of etcd after another


@pytest.mark.parametrize("fleet", ["maas"], indirect=True)
def test_after_a_failed_group_no_further_server_is_touched_and_a_retry_goes_on(fleet: RedeployWorld) -> None:
    change(fleet, SERVERS, platform={"image": "noble"})
    fleet.fates(n4={"deploy": "fail"})
    story = act(fleet, **{"on-change": "reinstall"})
    assert fleet.state() is RunState.FAILED, fleet.told()
    assert sorted(destroyed(story)) == list(SERVERS[:5])
    assert not [line for line in story if line.split()[-1] in SERVERS[5:] and not line.startswith("evicted")]
    fleet.fates()
    fleet.since = fleet.clock.now()
    fleet.retry()
    fleet.run(fleet.worker())
    assert fleet.state() is RunState.SUCCESS, fleet.told()
    # n4 is taken down no second time, and n5 was deployed: a group goes on until its criteria are judged.
    assert drained(fleet.story()) == list(SERVERS[5:])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.crash) for seed in range(1, 12))])
@pytest.mark.parametrize("fleet", PEERS, indirect=True)
def test_a_worker_killed_again_and_again_erases_each_server_once(fleet: RedeployWorld, seed: int) -> None:
    change(fleet, SERVERS, platform={"image": "noble"})
    fleet.create(UPDATE, **{"on-change": "reinstall"})
    lives = random.Random(seed)
    for _ in range(300):
        try:
            fleet.run(fleet.worker(points=fleet.ticks(lives.randint(5, 90), die)))
            break
        except KilledError:
            fleet.clock.advance(SETTLE + 1)
    assert fleet.state() is RunState.SUCCESS, fleet.told()
    story = fleet.story()
    assert sorted(destroyed(story)) == list(SERVERS)
    assert overlapping(story) == []
    assert story.count("member removed: 200") == 3


def die() -> None:
    raise KilledError


@pytest.mark.parametrize("fleet", ["ironic"], indirect=True)
def test_a_held_server_fails_its_group_before_another_one_of_it_is_destroyed(fleet: RedeployWorld) -> None:
    """All servers of a move are drained before one of them leaves the cluster."""
    change(fleet, ["n8", "n9"], platform={"image": "noble"})
    fleet.create(UPDATE, **{"on-change": "reinstall"})
    held: list[str] = []

    def hold() -> None:
        if not held and "cordoned n8" in fleet.story():
            held.append("n8")
            with fleet.store().begin() as tx:
                tx.holds.place(NewHold(NodeName("n8"), HoldKind.OPERATOR, "fans", "ann"))

    fleet.run(fleet.worker(), hold)
    assert fleet.state() is RunState.FAILED, fleet.told()
    assert destroyed(fleet.story()) == []
    nodes = fleet.nodes()
    assert "fans" in nodes["n8"].detail
    assert "cannot meet its criteria" in nodes["n9"].detail
    with refuses(NodesHeld, match="fans"):
        fleet.create(UPDATE, **{"on-change": "reinstall"})
