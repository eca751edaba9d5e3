"""service_server through the real adapters, before a simulated Ironic and Kubernetes: what their own logs tell."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from shipyard_api.actions.service_server import CHECK_SERVICE
from shipyard_api.domain.actions import ENDED, ActionName, RunState
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.errors import InvalidParameters, UnknownNodes
from shipyard_api.domain.facts.steps import Waiting
from shipyard_api.ports.state.deploy_templates import TemplateId
from tests.combinations.budgets import budget_of, kept_pod
from tests.databases import one_after_another
from tests.redeploy_world import CONTROL_AND_COMPUTE, RedeployWorld
from tests.refusals import refuses
from tests.runbooks import RUN, call, with_runbook
from tests.world import SETTLE, KilledError

SERVICE = ActionName("service_server")
BIOS = DeployTemplate(
    TraitName("CUSTOM_BIOS"),
    (
        DeployStep(Interface.BIOS, "factory_reset", {}, 10),
        DeployStep(Interface.BIOS, "apply_configuration", {"settings": [{"name": "vt", "value": "on"}]}, 20),
    ),
)
STEPS = ("bios.apply_configuration", "bios.factory_reset")
IMAGE = DeployTemplate(TraitName("CUSTOM_IMAGE"), (DeployStep(Interface.DEPLOY, "write_image", {}, 80),))

Worlds = Callable[..., RedeployWorld]


@pytest.fixture
def worlds(database_url: str) -> Iterator[Worlds]:
    def new(*names: str, **fates: Any) -> RedeployWorld:
        world = RedeployWorld.deployed(*names, groups=CONTROL_AND_COMPUTE, **fates)
        with world.store().begin() as tx:
            for number, template in enumerate((BIOS, IMAGE)):
                tx.deploy_templates.create(TemplateId(str(uuid.UUID(int=number))), template, {})
        return world

    with one_after_another(database_url, new) as make:
        yield make


def whole(world: RedeployWorld) -> list[str]:
    """The story without evictions, which depend on where pods run."""
    return [one for one in world.story() if not one.startswith("evicted")]


def ran(world: RedeployWorld) -> list[tuple[str, str]]:
    """The service steps that Ironic ran, in order."""
    return [(one["node"], one["step"]) for one in world.peer.events() if one.get("kind") == "service"]


@pytest.mark.parametrize(
    "seed", [None, *(pytest.param(seed, marks=pytest.mark.crash) for seed in range(2))], ids=["", "killed", "killed 2"]
)
def test_groups_are_drained_serviced_and_judged_in_their_order(worlds: Worlds, seed: int | None) -> None:
    world = worlds(n3={"service": "fail"})
    erased = world.peer.erased()
    world.create(SERVICE, template="CUSTOM_BIOS", force="true")  # two of three etcd members are away at once
    lives, killed = random.Random(seed), 0
    while world.state() not in ENDED:
        try:
            dies = seed is not None and killed < 2
            world.run(world.worker(points=world.ticks(lives.randint(15, 45), die)) if dies else world.worker())
        except KilledError:
            killed += 1
            world.clock.advance(SETTLE + 1)

    assert (world.state(), killed) == (RunState.SUCCESS, 0 if seed is None else 2), world.told()
    story = whole(world)
    assert story[:3] == ["cordoned n1", "service n1", "uncordoned n1"], world.told()
    assert sorted(story[3:]) == ["cordoned n2", "cordoned n3", "service n2", "service n3", "uncordoned n2"]
    assert max(map(story.index, ("cordoned n2", "cordoned n3"))) < min(map(story.index, ("service n2", "service n3")))
    assert ran(world) == [(node, step) for node in ("n1", "n2") for step in STEPS]
    assert world.peer.erased() == erased
    with world.store().begin() as tx:
        groups = tx.actions.groups(world.action, status=(), group=(), after=-1, limit=9)
        nodes = tx.actions.nodes(world.action, status=(), group=(), after="", limit=9)
        assert tx.stragglers.open() == []
    assert {one.name: one.status for one in groups} == {"control": "success", "compute": "success"}
    assert {one.name: one.status.value for one in nodes} == {"n1": "success", "n2": "success", "n3": "failure"}
    assert "service failed" in nodes[2].detail


def test_what_etcd_or_a_budget_forbids_is_not_serviced_and_says_why(worlds: Worlds) -> None:
    world = worlds()
    world.apiserver.add(*kept_pod("n3", for_ever=True))
    world.clock.advance(60)  # its pod has to run
    for parameters, why in (
        ({}, "While group compute (n2, n3) is serviced, etcd cluster kubernetes-etcd has no quorum: 1 healthy"),
        ({"target_nodes": "n3"}, f"n3 cannot be drained: default/{budget_of('n3')}"),
    ):
        world.create(SERVICE, template="CUSTOM_BIOS", **parameters)
        world.run(world.worker())

        assert world.state() is RunState.FAILED
        assert why in world.steps()[CHECK_SERVICE][1], world.told()
        assert whole(world) == []


def test_dependents_of_a_failed_group_are_neither_drained_nor_serviced(worlds: Worlds) -> None:
    world = worlds(n1={"service": "fail"})
    world.create(SERVICE, template="CUSTOM_BIOS", force="true")
    world.run(world.worker())

    assert world.state() is RunState.FAILED
    assert whole(world) == ["cordoned n1", "service n1"]
    with world.store().begin() as tx:
        waits = [one.fact for one in tx.journal.entries(world.action) if isinstance(one.fact, Waiting)]
    works = [(one.who, one.what.partition(",")[0]) for one in waits if "group control" in one.what]
    expected = [("Kubernetes", "drain of group control"), ("Ironic", "service of group control")]
    assert list(dict.fromkeys(works)) == expected


def test_only_named_nodes_are_serviced_a_failed_one_again_and_a_runbook_runs_as_it_was(worlds: Worlds) -> None:
    world = worlds(n3={"service": "fail", "times": 1})
    for expected in (["cordoned n3", "service n3"], ["service n3", "uncordoned n3"]):
        world.create(SERVICE, template="CUSTOM_BIOS", target_nodes="n3")
        world.run(world.worker())
        assert world.state() is RunState.SUCCESS, world.told()  # the group is not critical
        assert whole(world) == expected

    # A runbook of Ironic runs as it was when the action began.
    before = len(ran(world))
    runbook = with_runbook(world.peer.url, "firmware-2026", "n1", "n3")
    world.create(SERVICE, runbook="firmware-2026", target_nodes="n1,n3")
    call(world.peer.url, "DELETE", f"/v1/runbooks/{runbook}")
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()
    assert ran(world)[before:] == [(node, step) for node in ("n1", "n3") for step in RUN]


REFUSED = {
    "a runbook whose trait a node does not have": (
        {"runbook": "firmware-2026", "target_nodes": "n2,n3"},
        "n2: no trait of the runbook firmware-2026 is on the nodes",
    ),
    "a runbook that hides an argument": (
        {"runbook": "hiding", "target_nodes": "n3"},
        "hides arguments of bios.apply_configuration",
    ),
    "a runbook with an unknown step": (
        {"runbook": "wrong", "target_nodes": "n3"},
        "runbook wrong: bios.reset_all is not a deploy step",
    ),
    "an unknown runbook": ({"runbook": "nothing"}, "Ironic has no runbook nothing that we may see"),
    "two things": ({"runbook": "a", "template": "CUSTOM_BIOS"}, "runbook is given, too"),
    "no name": ({"runbook": ""}, "it is the name of a runbook of the provisioner, not ''"),
    "an unknown template": ({"template": "CUSTOM_NONE"}, "There is no deploy template CUSTOM_NONE"),
    "a template that installs": (
        {"template": "CUSTOM_IMAGE"},
        "n1, n2, n3: template CUSTOM_IMAGE: deploy.write_image is part of",
    ),
    "an unknown node": ({"template": "CUSTOM_BIOS", "target_nodes": "n1,n9"}, "has the node n9"),
}


@pytest.mark.parametrize(
    ("peer", "rows"),
    [("ironic", REFUSED), ("maas", {"any": ({"runbook": "a"}, "MAAS cannot run steps on deployed servers")})],
    ids=["ironic", "maas"],
)
def test_what_cannot_be_serviced_is_refused_before_anything(
    worlds: Worlds, peer: str, rows: Mapping[str, tuple[dict[str, str], str]]
) -> None:
    world = worlds(peer)
    if peer == "ironic":
        with_runbook(world.peer.url, "firmware-2026", "n3")
        with_runbook(world.peer.url, "hiding", "n3", args={"settings": [], "password": "secret"})
        with_runbook(world.peer.url, "wrong", "n3", step="reset_all")
    for row, (parameters, message) in rows.items():
        with refuses(InvalidParameters, UnknownNodes) as refused:
            world.create(SERVICE, **parameters)
        assert message in " ".join(one.message for one in refused.value.findings), row
        assert world.story() == [], row


def die() -> None:
    raise KilledError
