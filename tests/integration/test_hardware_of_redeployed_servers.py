"""The hardware gate of servers that are installed again: by the logs of simulated peers, no wrong one is deployed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.findings import Level
from tests.changing_sites import ChangingWorld
from tests.daily import peers
from tests.factories import document, group_entry
from tests.integration.test_rolling_reinstall import act, change, destroyed
from tests.planted_hardware import PROFILE, SCHEMA
from tests.redeploy_world import NODES, RedeployWorld

DIFFERS = 'CPU model "Wrong" seen, "Right" expected'
LENIENT = [group_entry("all", selectors=[{"node_names": [*NODES]}], success_criteria={"minimum_successful_nodes": 1})]


@pytest.fixture
def world(request: pytest.FixtureRequest, database_url: str) -> Iterator[ChangingWorld]:
    """Return three servers of which n1 has the wrong processor, which their design does not know yet."""
    hardware = {node: {"cpu_model": "Wrong" if node == "n1" else "Right", "memory": 64} for node in NODES}
    found = ChangingWorld.deployed(database_url, request.param, LENIENT, members=NODES[2:], hardware=hardware)
    expected = document(SCHEMA, "servers", {"hardware_profiles": [PROFILE], "cpu": {"model": "Right"}})
    section, further = {"hardware": "fail"}, [*found.site.further, expected]
    found.site = replace(found.site, provisioner=section, further=further)
    yield found
    found.close()


def sent(story: Sequence[str], node: str) -> list[str]:
    """Return what the provisioner was asked to do with a server."""
    lines = (line.split() for line in story)
    return [words[0] for words in lines if words[-1] == node and words[0] in ("destroy", "prepare", "deploy")]


def end(world: RedeployWorld, node: str) -> tuple[str, Any, str]:
    record = world.nodes()[node]
    return record.status.value, record.reason, record.detail


@pytest.mark.parametrize("world", peers("ironic"), indirect=True)
def test_a_wrong_server_is_not_taken_down_by_a_reinstallation(world: RedeployWorld) -> None:
    change(world, NODES[:2], platform={"image": "noble"}, hardware_profile=PROFILE)
    story = act(world, **{"on-change": "reinstall", "max-reinstalls": "2"})

    assert (world.state(), end(world, "n1")) == (RunState.SUCCESS, ("failure", "hardware", DIFFERS)), world.told()
    assert (sent(story, "n1"), destroyed(story)) == ([], ["n2"])
    assert sent(story, "n2")[-1] == "deploy"


@pytest.mark.parametrize("world", peers("maas"), indirect=True)
def test_a_wrong_server_is_not_taken_down_by_a_redeployment(world: ChangingWorld) -> None:
    change(world, NODES[:2], hardware_profile=PROFILE)
    plan = world.plan(ActionName("redeploy_server"), target_nodes="n2,n1", **{"target-revision": "committed"})
    assert [finding.level for finding in plan.findings if finding.name == "HardwareDiffers"] == [Level.ERROR]
    assert plan.refusal is not None
    world.create(ActionName("redeploy_server"), target_nodes="n2,n1", **{"target-revision": "committed"})
    world.run(world.worker())

    assert world.state() is RunState.FAILED, world.told()
    # All batches are checked before the first one: n2 is right, and is left alone, too.
    assert {node: sent(world.story(), node) for node in ("n1", "n2")} == {"n1": [], "n2": []}
    assert f"n1: {DIFFERS}" in world.told()


@pytest.mark.parametrize("world", peers("maas"), indirect=True)
def test_a_wrong_server_is_redeployed_by_force_up_to_its_deployment(world: RedeployWorld) -> None:
    change(world, NODES[:2], hardware_profile=PROFILE)
    world.create(ActionName("redeploy_server"), target_nodes="n1", force="true", **{"target-revision": "committed"})
    world.run(world.worker())

    assert (world.state(), end(world, "n1")) == (RunState.FAILED, ("failure", "hardware", DIFFERS)), world.told()
    assert sent(world.story(), "n1") == ["destroy"]
