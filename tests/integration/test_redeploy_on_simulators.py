"""redeploy_server through the real adapters, before simulated peers: what their own logs tell afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_api.domain.actions import ActionName, Control, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.errors import InvalidParameters, NothingRelabels
from shipyard_api.usecases.actions.overview import OverviewAction
from shipyard_api.usecases.actions.report import Places, ReportAction
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.drift.find import FindDrift, Since
from shipyard_api.usecases.nodes.list import ListNodes
from tests.redeploy_world import RedeployWorld
from tests.refusals import refuses
from tests.simulated_peers import PEERS
from tests.world import SETTLE, KilledError

REDEPLOY = ActionName("redeploy_server")

# A machine that is Ready, or available, needs no preparation.
PREPARED = {"drydock": ["prepare"], "maas": [], "ironic": []}


@pytest.fixture
def world(request: pytest.FixtureRequest, database_url: str) -> Iterator[RedeployWorld]:
    found = RedeployWorld.deployed(database_url, request.param)
    yield found
    found.close()


def story(peer: str, node: str = "n1") -> list[str]:
    """What has to be in the logs, each of it once."""
    return [
        f"cordoned {node}",
        "evicted web: 201",
        f"cleared openstack {node}",
        "member removed: 200",
        f"to stop its kubelet {node}",
        f"kubelet stopped {node}",
        f"destroy {node}",
        f"node removed {node}",
        *(f"{one} {node}" for one in PREPARED[peer]),
        f"deploy {node}",
        f"node joined {node}",
        f"ready {node}",
    ]


# What a provisioner cannot do is refused before anything.
REFUSED = {
    "drydock": ({"preserve-local-storage": True}, {"mode": "rebuild"}),
    "maas": ({"mode": "rebuild"},),
    "ironic": (),
}


# What a provisioner can do beyond the plain way, each with the server that it is tried on.
FURTHER = {
    "drydock": {},
    "maas": {"n2": {"preserve-local-storage": True}},
    "ironic": {"n3": {"mode": "rebuild"}},
}


@pytest.mark.parametrize("world", PEERS, indirect=True)
def test_a_server_is_taken_down_in_order_and_joins_again(world: RedeployWorld) -> None:
    erased, events = world.peer.erased(), world.peer.events()
    for wish in REFUSED[world.peer.name]:
        with refuses(InvalidParameters):
            world.create(REDEPLOY, target_nodes="n1", **wish)
        assert (world.peer.events(), world.story()) == (events, []), wish
    world.create(REDEPLOY, target_nodes="n1")
    world.run(world.worker())

    assert world.state() is RunState.SUCCESS, world.told()
    assert world.story() == story(world.peer.name)
    assert world.peer.erased() == [*erased, "n1"]
    for node, wish in FURTHER[world.peer.name].items():
        events = world.peer.events()
        world.create(REDEPLOY, target_nodes=node, **wish)
        world.run(world.worker())
        assert world.state() is RunState.SUCCESS, world.told()
        left_out = [f"destroy {node}"] if "mode" in wish else []
        assert _without_evictions(world.story()) == [
            one for one in _without_evictions(story(world.peer.name, node)) if one not in left_out
        ]
        assert world.peer.erased() == [*erased, "n1"], wish
        if left_out:
            assert [one["verb"] for one in world.peer.events()[len(events) :] if one["event"] == "verb"] == ["rebuild"]
    _is_relabelled(world)


@pytest.mark.parametrize("action", [REDEPLOY, ActionName("remove_server")])
def test_members_of_a_cluster_that_is_committed_and_not_deployed_yet_leave_first(
    action: ActionName, database_url: str
) -> None:
    """Although the action works from the installed design, and was created before the commit."""
    world = RedeployWorld.deployed(database_url, "ironic", protected=False)
    try:
        world.create(action, target_nodes="n1")
        world.protect()
        world.run(world.worker())
        assert world.state() is RunState.SUCCESS, world.told()
        told = _without_evictions(world.story())
        assert told.index("member removed: 200") < told.index("destroy n1"), told
    finally:
        world.close()


def _without_evictions(story: list[str]) -> list[str]:
    """Where pods run depends on the servers before."""
    return [one for one in story if not one.startswith("evicted")]


def _is_relabelled(world: RedeployWorld) -> None:
    """By Drydock, or else in Kubernetes."""
    world.create(ActionName("relabel_nodes"), target_nodes="n1,n2")
    events = len(world.peer.events())
    world.run(world.worker())

    assert world.state() is RunState.SUCCESS, world.told()
    requested = [one for one in world.peer.events()[events:] if one["event"] in ("task_requested", "machine", "verb")]
    if world.peer.name == "drydock":
        tasks = [(one["action"], one["nodes"]) for one in requested if one["action"] != "validate_design"]
        assert (tasks, world.story()) == ([("relabel_nodes", ["n1", "n2"])], [])
        return
    assert (requested, world.story()) == ([], ["set rack n1", "set rack n2"])
    world.connected = False
    with refuses(NothingRelabels, match=r"MAAS|Ironic"):
        world.create(ActionName("relabel_nodes"), target_nodes="n1")
    world.connected = True


@pytest.mark.parametrize("world", ["drydock"], indirect=True)
def test_several_servers_go_in_batches_and_a_retry_finishes_what_failed(world: RedeployWorld) -> None:
    world.fates(n1={"deploy": "fail", "reason": "no luck"})
    world.create(REDEPLOY, target_nodes="n3,n1,n2", max_parallel_nodes=1)
    world.run(world.worker())

    nodes = world.nodes()
    assert {name for name in nodes if world.newest(name) != "success"} == {"n1"}, world.told()
    assert all(nodes[name].status.value == "success" or nodes[name].detail for name in nodes)
    assert [name for name in sorted(nodes) if nodes[name].reason == "skipped"] == ["n2"]
    world.fates()
    world.retry()
    world.run(world.worker())
    # Drydock's first deployment only releases a machine in Failed deployment; its preparation never would.
    assert world.nodes()["n1"].status.value == "failure"
    world.retry()
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()
    assert {world.newest(name) for name in nodes} == {"success"}
    order = [one.split() for one in world.story() if one.startswith(("node removed ", "ready "))]
    assert [one[-1] for one in order] == ["n3", "n3", "n1", "n1", "n2", "n2"]
    assert order[1::2] == [["ready", node] for node in ("n3", "n1", "n2")]


@pytest.mark.parametrize("world", ["drydock"], indirect=True)
def test_an_api_server_that_restarts_in_a_drain_is_waited_for_and_is_shown(world: RedeployWorld) -> None:
    """It answers 403 to everything while it loads its rights again."""
    world.create(REDEPLOY, target_nodes="n1")
    begun: list[float] = []
    shown: list[str] = []

    def restart() -> None:
        if not begun and "cordoned n1" in world.story():
            begun.append(world.clock.monotonic())
            world.refuse_at_kubernetes(403)
        if begun and len(shown) < 1:
            shown.extend(world.teardown_waits())
        elif begun and world.clock.monotonic() - begun[0] > 30:
            world.refuse_at_kubernetes(None)

    world.run(world.worker(), restart)

    assert world.state() is RunState.SUCCESS, world.told()
    assert world.story() == story("drydock")
    assert "answered 403" in shown[0]
    assert "it may be restarting" in shown[0]


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_a_server_that_a_stopped_redeploy_leaves_cordoned_is_drift_until_a_retry(world: RedeployWorld) -> None:
    world.create(REDEPLOY, target_nodes="n1")
    stopped = world.action

    def shown() -> list[tuple[str, str, str]]:
        rendered = RenderedDesigns(world.designs())
        client = KubernetesClient(Address(world.apiserver.url), first_pause=0.0)
        world.running.callback(client.close)
        machines = lambda revision: rendered.inventory(Revision(revision))  # noqa: E731  # as in the wiring
        drift = FindDrift(world.store(), world.provisioner, KubernetesCluster(client), machines, lambda _: {})
        rows = drift(Since.SUCCESSFUL_SITE_ACTION).differences
        return [(one.node, one.kind.value, one.seen) for one in rows["Kubernetes"]]

    def listed() -> list[str]:
        nodes = ListNodes(world.store(), lambda _job: None, lambda _node: None, lambda: None)
        (n1,) = nodes.page(status=(), prefix="n1", after="", limit=9)
        return list(n1.cordon.commands) if n1.cordon else []

    assert (shown(), listed()) == ([], [])

    def stop() -> None:
        if "cordoned n1" in world.story():
            with world.store().begin() as tx:
                tx.actions.control(stopped, Control.STOP, "tester")

    world.run(world.worker(), stop)
    assert world.state() is RunState.FAILED, world.told()
    why = f"cordoned by redeploy_server {stopped}, and not brought back: shipyard retry {stopped}"
    assert shown() == [("n1", "cordoned", why)]
    assert world.newest("n1") == "failure"
    assert listed() == [f"shipyard retry {stopped}", "shipyard node uncordon n1"]
    assert ReportAction(world.store(), world.clock, Places())(stopped).cordoned == ["n1"]
    world.retry()
    world.run(world.worker())
    assert (world.state(), shown(), listed()) == (RunState.SUCCESS, [], [])
    assert OverviewAction(world.store(), RenderedDesigns(world.designs()), world.clock.now)(world.action).cordoned == []


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("world", "mode"), [*((peer, "replace") for peer in PEERS), ("ironic", "rebuild")], indirect=["world"]
)
def test_a_worker_killed_again_and_again_does_nothing_twice(world: RedeployWorld, mode: str, seed: int) -> None:
    """A sample of what ``test_every_teardown`` does at each point, here with real adapters."""
    lives = random.Random(seed)
    world.create(REDEPLOY, target_nodes="n1", mode=mode)
    for _ in range(100):
        try:
            world.run(world.worker(points=world.ticks(lives.randint(5, 60), die)))
            break
        except KilledError:
            world.clock.advance(SETTLE + 1)
    assert world.state() is RunState.SUCCESS, world.told()
    expected = story(world.peer.name)
    assert world.story() == [one for one in expected if mode == "replace" or one != "destroy n1"]


def die() -> None:
    raise KilledError
