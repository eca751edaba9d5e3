"""remove_server through the real adapters, before simulated peers: what their own logs tell afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.errors import EtcdForbids, NodesDown, Overtaken, UnknownNodes, WrongState
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.usecases.actions.design_changes import design_changes
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.drift.find import FindDrift, Since
from tests.redeploy_world import NODES, RedeployWorld
from tests.refusals import refuses

REMOVE = ActionName("remove_server")


@pytest.fixture
def world(request: pytest.FixtureRequest, database_url: str) -> Iterator[RedeployWorld]:
    found = RedeployWorld.deployed(database_url, request.param)
    yield found
    found.close()


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


@pytest.mark.parametrize("world", ["maas"], indirect=True)
def test_servers_that_left_the_design_are_taken_down_for_good_one_after_another(world: RedeployWorld) -> None:
    world.leave("n1", "n3")
    world.create(REMOVE, target_nodes="n3,n1")
    world.run(world.worker())

    assert world.state() is RunState.SUCCESS, world.told()
    story = [one for one in world.story() if not one.startswith("evicted")]
    assert story == [*of_node("n3"), *of_node("n1")]
    assert [machine.name for machine in world.provisioner.conditions()] == ["n2"]
    with world.store().begin() as tx:
        assert tx.nodes.deployed([NodeName(name) for name in NODES]) == {"n2"}
        assert [one.node.name for one in tx.nodes.latest(status=(), prefix="", after="", limit=9)] == ["n2"]
    with refuses(WrongState):  # its servers are gone, not failed
        world.retry()


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_a_server_that_left_the_design_is_shown_until_it_is_taken_down(world: RedeployWorld) -> None:
    with refuses(UnknownNodes):
        world.create(REMOVE, target_nodes="n1,n9")
    with refuses(EtcdForbids) as refused:
        world.create(REMOVE, target_nodes="n1,n2,n3")
    assert "has no healthy member" in refused.value.findings[0].message
    assert world.story() == []
    world.leave("n1")
    rendered = RenderedDesigns(world.designs())

    def shown() -> tuple[list[tuple[str, str]], Any]:
        inventory = lambda one: rendered.inventory(Revision(one))  # noqa: E731  # as in the wiring
        drift = FindDrift(world.store(), world.provisioner, None, inventory, lambda _: {})
        rows = drift(Since.SUCCESSFUL_SITE_ACTION).differences["design"]
        planner = world.check().plan_steps
        changes = design_changes(planner.specifications, Revision(2), {}, None, services=True)
        assert changes
        assert changes.added == changes.changed == []
        return [(one.node, one.kind.value) for one in rows], list(changes.removed)

    assert shown() == ([], ["n1"])  # the new design has not been used yet
    world.create(ActionName("update_site"))
    world.run(world.worker())
    assert shown() == ([("n1", "not-in-design")], ["n1"])
    world.create(REMOVE, target_nodes="n1")
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()
    assert shown() == ([], [])
    assert [machine.name for machine in world.provisioner.conditions()] == ["n2", "n3"]


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_every_server_of_the_site_that_is_not_up_is_named_whoever_took_it_down(world: RedeployWorld) -> None:
    rendered = RenderedDesigns(world.designs())

    def shown() -> list[tuple[str, str, str]]:
        inventory = lambda one: rendered.inventory(Revision(one))  # noqa: E731  # as in the wiring
        committed = rendered.committed_nodes
        drift = FindDrift(world.store(), world.provisioner, None, inventory, lambda _: {}, committed=committed)
        rows = drift(Since.SUCCESSFUL_SITE_ACTION).differences[world.provisioner.name]
        return [(one.node, one.kind.value, one.seen.partition(": ")[2]) for one in rows]

    assert shown() == []
    world.fates(n1={"deploy": "fail", "reason": "no luck"})
    world.create(ActionName("redeploy_server"), target_nodes="n1")
    world.run(world.worker())
    failed = ("n1", "not-deployed", f"failed in redeploy_server {world.action}: shipyard retry {world.action}")
    assert shown() == [failed]
    world.create(REMOVE, target_nodes="n2")
    world.run(world.worker())
    removed = f"taken down by remove_server {world.action}: shipyard create action update_site"
    assert shown() == [failed, ("n2", "not-deployed", removed)]
    with refuses(NodesDown) as refused:
        world.create(ActionName("relabel_nodes"), target_nodes="n1,n2,n3")
    assert [one.message for one in refused.value.findings] == [
        f"Node n1 is down, {failed[2]}.",
        f"Node n2 is down, {removed}.",
    ]
    world.leave("n2")
    assert shown() == [failed]  # it is no server of the site any more


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_no_retry_of_an_older_action_brings_a_removed_server_back(world: RedeployWorld) -> None:
    world.fates(n1={"deploy": "fail", "reason": "no luck"})
    world.create(ActionName("redeploy_server"), target_nodes="n1")
    world.run(world.worker())
    assert world.nodes()["n1"].status is NodeStatus.FAILURE, world.told()
    older = world.action
    world.leave("n1")
    world.create(REMOVE, target_nodes="n1")
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()
    removal, world.action = world.action, older

    with refuses(Overtaken) as refused:
        world.retry(force=True)

    assert {"newer": removal, "nodes": ["n1"], "removed": True}.items() <= refused.value.data.items()
