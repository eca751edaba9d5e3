"""redeploy_server with a runbook, through the real adapters, before a simulated Ironic: what its own log tells."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from shipyard_api.domain.actions import ENDED, ActionName, RunState
from shipyard_api.domain.errors import InvalidParameters
from tests.databases import one_after_another
from tests.redeploy_world import RedeployWorld
from tests.refusals import refuses
from tests.runbooks import RUN, call, with_runbook
from tests.world import SETTLE, KilledError

REDEPLOY = ActionName("redeploy_server")
FIRMWARE = "firmware-2026"
Worlds = Callable[..., RedeployWorld]


@pytest.fixture
def worlds(database_url: str) -> Iterator[Worlds]:
    with one_after_another(database_url, RedeployWorld.deployed) as make:
        yield make


def cleaned(world: RedeployWorld) -> list[tuple[str, str]]:
    """The verbs and the steps of cleanings that Ironic was sent for nodes that were deleted before, in order."""
    found: list[tuple[str, str]] = []
    for one in world.peer.events():
        if one.get("verb") in ("deleted", "active") and (found or one["verb"] == "deleted"):
            found.append((one["node"], one["verb"]))
        elif one.get("kind") == "manual clean":
            found.append((one["node"], one["step"]))
    return found


def whole(*nodes: str) -> list[tuple[str, str]]:
    return [(node, what) for node in nodes for what in ("deleted", *RUN, "active")]


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(2))
def test_servers_are_cleaned_one_after_the_other_whoever_is_killed(worlds: Worlds, seed: int) -> None:
    world = worlds()
    runbook = with_runbook(world.peer.url, FIRMWARE, "n1", "n3")
    world.create(REDEPLOY, runbook=FIRMWARE, target_nodes="n1,n3")
    call(world.peer.url, "DELETE", f"/v1/runbooks/{runbook}")
    lives, killed = random.Random(seed), 0
    while world.state() not in ENDED:
        try:
            points = world.ticks(lives.randint(60, 140), die) if killed < 2 else None
            world.run(world.worker(points))
        except KilledError:
            killed += 1
            world.clock.advance(SETTLE + 1)

    assert (world.state(), killed) == (RunState.SUCCESS, 2), world.told()
    assert cleaned(world) == whole("n1", "n3")


def test_a_server_that_fails_a_step_is_not_deployed_stops_the_others_and_a_retry_goes_on(worlds: Worlds) -> None:
    world = worlds(n1={"steps": "fail", "reason": "no such image"})
    runbook = with_runbook(world.peer.url, FIRMWARE, "n1", "n3")
    world.create(REDEPLOY, runbook=FIRMWARE, target_nodes="n1,n3")
    call(world.peer.url, "DELETE", f"/v1/runbooks/{runbook}")  # it is run as it was
    world.run(world.worker())

    assert world.state() is RunState.FAILED, world.told()
    assert cleaned(world) == whole("n1")[:-1]
    assert "no such image" in world.nodes()["n1"].detail
    assert world.nodes()["n3"].reason == "skipped"

    world.fates()
    before = len(cleaned(world))
    world.retry()
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()
    assert cleaned(world)[before:] == [*whole("n1")[1:], *whole("n3")]


REFUSED = (
    ({"runbook": "nothing"}, "Ironic has no runbook nothing that we may see"),
    ({"runbook": FIRMWARE, "target_nodes": "n1,n2"}, f"n2: no trait of the runbook {FIRMWARE} is on"),
    ({"runbook": "wrong"}, "n1: runbook wrong: bios.wash is not a clean step that Ironic runs on this"),
    ({"runbook": FIRMWARE, "mode": "rebuild"}, "A runbook may erase disks, which mode=rebuild and"),
    ({"runbook": FIRMWARE, "preserve-local-storage": "true"}, "A runbook may erase disks, which mode"),
)


@pytest.mark.parametrize(
    ("peer", "rows"),
    [
        ("ironic", REFUSED),
        ("drydock", [({"runbook": FIRMWARE}, "Drydock cannot run steps on servers before it deploys them")]),
    ],
    ids=["ironic", "drydock"],
)
def test_a_runbook_that_cannot_clean_is_refused_before_anything(
    worlds: Worlds, peer: str, rows: Sequence[tuple[dict[str, str], str]]
) -> None:
    world = worlds(peer)
    if peer == "ironic":
        with_runbook(world.peer.url, FIRMWARE, "n1")
        with_runbook(world.peer.url, "wrong", "n1", step="wash")
    for parameters, message in rows:
        with refuses(InvalidParameters) as refused:
            world.create(REDEPLOY, **{"target_nodes": "n1", **parameters})
        assert message in " ".join(one.message for one in refused.value.findings), parameters
        assert world.story() == []


def die() -> None:
    raise KilledError
