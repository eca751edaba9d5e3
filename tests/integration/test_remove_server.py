"""remove_server through the real adapters, before simulated peers: what their own logs tell afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.errors import UnknownNodes
from tests.redeploy_world import RedeployWorld
from tests.simulated_peers import PEERS

REMOVE = ActionName.REMOVE_SERVER


@pytest.fixture
def world(request: pytest.FixtureRequest, database_url: str) -> Iterator[RedeployWorld]:
    found = RedeployWorld.deployed(database_url, request.param)
    yield found
    found.close()


each_peer = pytest.mark.parametrize("world", PEERS, indirect=True)


def of_node(node: str) -> list[str]:
    """What has to be in the logs of a server that held etcd members, without its pods."""
    return [
        f"cordoned {node}",
        f"cleared openstack {node}",
        "member removed: 200",
        f"to stop its kubelet {node}",
        f"kubelet stopped {node}",
        f"destroy {node}",
        f"node removed {node}",
    ]


@each_peer
def test_servers_that_left_the_design_are_taken_down_for_good_one_after_another(world: RedeployWorld) -> None:
    world.leave("n1", "n3")
    world.create(REMOVE, target_nodes="n3,n1")
    world.run(world.worker())

    assert world.state() is RunState.SUCCESS, world.told()
    story = [one for one in world.story() if not one.startswith("evicted")]
    assert story == [*of_node("n3"), *of_node("n1")]


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_what_cannot_be_removed_is_refused_before_anything(world: RedeployWorld) -> None:
    with pytest.raises(UnknownNodes):
        world.create(REMOVE, target_nodes="n1,n9")
    world.create(REMOVE, target_nodes="n1,n2,n3")
    world.run(world.worker())

    assert world.state() is RunState.FAILED
    state, detail = world.steps()["check_teardown"]
    assert (state, "has no healthy member" in detail) == ("failed", True), detail
    assert world.story() == []
