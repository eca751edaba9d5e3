"""power_cycle through the real adapters, before simulated MAAS, Ironic and Kubernetes: judged by their own logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from shipyard_api.domain.actions import ENDED, ActionName, RunState
from shipyard_api.domain.errors import InvalidParameters, InvalidTargets, UnknownNodes
from tests.databases import one_after_another
from tests.redeploy_world import CONTROL_AND_COMPUTE, RedeployWorld
from tests.refusals import refuses
from tests.simulated_peers import time_of
from tests.world import SETTLE, KilledError

POWER_CYCLE = ActionName("power_cycle")
Worlds = Callable[..., RedeployWorld]


@pytest.fixture
def worlds(database_url: str) -> Iterator[Worlds]:
    with one_after_another(database_url, partial(RedeployWorld.deployed, groups=CONTROL_AND_COMPUTE)) as make:
        yield make


def power(world: RedeployWorld) -> list[tuple[Any, str]]:
    """Return each change of power since the action was created, with its time, by the provisioner's own log."""
    changes = []
    for event in world.peer.events():
        state = event.get("to") if event.get("kind") == "power" else event.get("power_state")
        if state and time_of(event) > world.since:
            node = event.get("machine") or event["node"]
            changes.append((time_of(event), f"{str(state).removeprefix('power ')} {node}"))
    return changes


def told(world: RedeployWorld) -> list[str]:
    """Return cordons and power in the order of time, by the logs of Kubernetes and of the provisioner."""
    words = ("cordoned", "uncordoned")
    cordons = [
        (time_of(event), f"{'cordoned' if event['cordoned'] else 'uncordoned'} {event['node']}")
        for event in world.apiserver.events()
        if event.get("event") == "node_changed" and event.get("cordoned") is not None and time_of(event) > world.since
    ]
    assert all(what.split()[0] in words for _, what in cordons)
    return [what for _, what in sorted([*power(world), *cordons])]


def cycle(*nodes: str) -> list[str]:
    return [f"{what} {node}" for node in nodes for what in ("cordoned", "off", "on", "uncordoned")]


def killed_often(world: RedeployWorld, calls: Sequence[int]) -> None:
    """Run the action; workers die at these calls, counted from the start of each, one worker after another."""
    left = list(calls)
    while world.state() not in ENDED:
        try:
            world.run(world.worker(points=world.ticks(left.pop(0), die)) if left else world.worker())
        except KilledError:
            world.clock.advance(SETTLE + 1)


@pytest.mark.parametrize("peer", ["maas", "ironic"])
def test_servers_are_drained_and_power_cycled_one_after_another_each_once(worlds: Worlds, peer: str) -> None:
    world = worlds(peer)
    erased = world.peer.erased()
    world.create(POWER_CYCLE, target_nodes="n1,n2,n3")
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()
    assert told(world) == cycle("n1", "n2", "n3")
    assert world.peer.erased() == erased

    world.create(POWER_CYCLE, target_nodes="n2", drain="false")
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()
    assert told(world) == ["off n2", "on n2"]


@pytest.mark.parametrize("peer", ["maas", pytest.param("ironic", marks=pytest.mark.crash)])
def test_a_server_is_switched_off_once_whatever_kills_the_workers(worlds: Worlds, peer: str) -> None:
    world = worlds(peer)
    world.create(POWER_CYCLE, target_nodes="n2,n3", max_parallel_nodes="2", force="true")
    killed_often(world, range(3, 40, 2))
    assert world.state() is RunState.SUCCESS, world.told()
    assert sorted(what for _, what in power(world)) == ["off n2", "off n3", "on n2", "on n3"]


FAILURES = {
    "the last": (["n3"], RunState.SUCCESS, ["n3"], ["n1", "n2"]),
    "the first": (["n1"], RunState.FAILED, ["n1"], []),
    "all": (["n1", "n2", "n3"], RunState.FAILED, ["n1"], []),
}


@pytest.mark.parametrize("peer", [pytest.param("maas", marks=pytest.mark.crash), "ironic"])
def test_a_server_whose_power_cannot_be_switched_fails_and_its_group_is_judged(worlds: Worlds, peer: str) -> None:
    world = worlds(peer)
    for row, (failing, state, failed, done) in FAILURES.items():
        world.fates(**{node: {"bmc": "fail"} for node in failing})
        world.create(POWER_CYCLE, target_nodes="n1,n2,n3", drain="false")
        world.run(world.worker())
        assert world.state() is state, (row, world.told())
        statuses = {name: node.status.value for name, node in world.nodes().items()}
        assert {name for name, status in statuses.items() if status == "failure"} >= set(failed), (row, statuses)
        assert all("power" in world.nodes()[node].detail for node in failed), (row, world.nodes())
        changes = [what for _, what in power(world) if not what.startswith("error")]
        assert changes == [f"{what} {node}" for node in done for what in ("off", "on")], row


def test_what_cannot_be_power_cycled_is_refused_before_anything(worlds: Worlds) -> None:
    world = worlds("ironic")
    for parameters, message in (
        ({}, ""),
        ({"target_nodes": "n1,n9"}, "has the node n9"),
        ({"target_nodes": "n1", "drain": "perhaps"}, "drain is wrong: it is either true or false"),
        ({"target_nodes": "n1", "max_parallel_nodes": "0"}, "it is a whole number from 1 to"),
    ):
        with refuses(InvalidParameters, InvalidTargets, UnknownNodes) as refused:
            world.create(POWER_CYCLE, **parameters)
        assert message in " ".join(one.message for one in refused.value.findings), parameters
    assert told(world) == []


def die() -> None:
    raise KilledError
