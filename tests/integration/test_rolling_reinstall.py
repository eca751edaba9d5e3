"""update_site with on-change before simulated peers: changed servers are installed again, group by group."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.errors import NodesHeld, NothingDrains, TooManyReinstalls
from shipyard_api.domain.facts.nodes import NodesLeft
from shipyard_api.domain.holds import HoldKind
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.state.deploy_templates import TemplateId
from shipyard_api.ports.state.holds import NewHold
from shipyard_api.usecases.actions.approve import ApproveAction
from shipyard_api.usecases.actions.overview import OverviewAction
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.configdocs.versions import committed_revision
from tests.combinations.model import OPTIONS
from tests.combinations.site import Site
from tests.daily import peers
from tests.factories import document, group_entry
from tests.redeploy_world import NODES, RedeployWorld
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


def full_budgets(world: RedeployWorld) -> list[str]:
    """Return the budgets without room in the overview of the action, each with the reason."""
    survey = OverviewAction(world.store(), None, world.clock.now)(world.action).policy  # type: ignore[arg-type]
    return [f"{use.domain}: {use.full}" for use in survey.budgets if use.full] if survey else []


def drained(story: Sequence[str]) -> list[str]:
    return [line.split()[1] for line in story if line.startswith("cordoned ")]


def destroyed(story: Sequence[str]) -> list[str]:
    return [line.split()[1] for line in story if line.startswith("destroy ")]


@pytest.mark.parametrize("world", peers("maas"), indirect=True)
def test_changed_servers_are_taken_down_and_deployed_again(world: RedeployWorld) -> None:
    change(world, ["n1", "n3"], platform={"image": "noble"})
    with refuses(TooManyReinstalls, match="2 servers again, and max-reinstalls allows 1: node n1, n3"):
        world.create(UPDATE, **{"on-change": "reinstall", "max-reinstalls": "1"})
    world.create(UPDATE, **{"on-change": "reinstall", "max-reinstalls": "2"})
    full = set[str]()
    world.run(world.worker(), lambda: full.update(full_budgets(world)))
    story = world.story()
    # The overview shows what bounds the servers that are away, though the site has no policy.
    assert full == {"etcd cluster kubernetes-etcd: 1 nodes are in flight or lost, at most 1 allowed"}
    assert world.state() is RunState.SUCCESS, world.told()
    # Both have a member of one etcd cluster: the second is only begun when the first is back.
    assert destroyed(story) == ["n1", "n3"]
    assert story.index("ready n1") < story.index("cordoned n3")
    assert not any(line.split()[-1] == "n2" and line.startswith(("cordoned", "destroy")) for line in story)
    # Windows and forecasts count what it took.
    took = world.store().read(lambda tx: tx.nodes.teardown_history(actions=1))
    assert len(took.whole) == len(took.alone) == 2
    assert 0 < took.alone[-1] < took.whole[0]
    assert destroyed(act(world, **{"on-change": "reinstall"})) == []
    assert world.state() is RunState.SUCCESS, world.told()
    change(world, ["n2"], platform={"image": "plucky"})
    assert destroyed(act(world, **{"on-change": "reinstall"})) == ["n2"]
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


def without_quorum(story: Sequence[str], members: Sequence[str]) -> list[str]:
    """Return the lines of the story after which the cluster has no quorum.

    A member is away from the stop of its kubelet, or its destruction, until its server is ready again.
    """
    of_cluster, cordoned, away = set(members), set[str](), set[str]()
    found = []
    for line in story:
        node = line.split()[-1]
        if line == "member removed: 200":
            left = cordoned & of_cluster
            if len(left) != 1:
                found.append(f"{line}: of {sorted(left)}")
            of_cluster -= left
        elif node not in members:
            continue
        elif line.startswith("cordoned"):
            cordoned.add(node)
        elif line.startswith(("to stop its kubelet", "kubelet stopped", "destroy")):
            away.add(node)
        elif line.startswith("ready"):
            cordoned.discard(node)
            away.discard(node)
            of_cluster.add(node)
        if len(of_cluster - away) <= max(len(of_cluster), len(members) - 1) // 2:
            found.append(f"{line}: only {sorted(of_cluster - away)} of {sorted(of_cluster)}")
    return found


@pytest.mark.crash  # every day its worker is killed, see below
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
@pytest.mark.parametrize("fleet", peers("ironic"), indirect=True)
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


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_changed_steps_run_on_drained_servers_beside_one_that_is_installed_again(world: RedeployWorld) -> None:
    """n1 has another image and the template, n2 only the template: least leaves n1 alone."""
    bios = DeployTemplate(TraitName("CUSTOM_BIOS"), (DeployStep(Interface.BIOS, "factory_reset", {}, 10),))
    with world.store().begin() as tx:
        tx.deploy_templates.create(TemplateId(str(uuid.UUID(int=1))), bios, {})
    wants = {"selectors": [{"node_names": ["n1", "n2"]}], "traits": [bios.name], "requested_traits": [bios.name]}
    world.site = replace(world.site, further=[*world.site.further, document("shipyard/NodeTraits/v1", "pool", wants)])
    change(world, ["n1"], platform={"image": "noble"})
    story = act(world, **{"on-change": "least"})
    assert world.state() is RunState.SUCCESS, world.told()
    assert (drained(story), destroyed(story)) == (["n2"], [])
    assert "uncordoned n2" in story
    assert older(world) == ["n1"]
    story = act(world, **{"on-change": "reinstall"})
    assert world.state() is RunState.SUCCESS, world.told()
    assert (drained(story), destroyed(story), older(world)) == (["n1"], ["n1"], [])


def older(world: RedeployWorld) -> list[str]:
    """Return the servers that the action has left with an older specification."""
    with world.store().begin() as tx:
        facts = [entry.fact for entry in tx.journal.entries(world.action, (NodesLeft.kind,))]
    return [str(node) for fact in facts if isinstance(fact, NodesLeft) for node in fact.nodes]


@pytest.mark.parametrize("world", peers("drydock"), indirect=True)
def test_servers_that_have_left_the_design_are_removed_if_that_is_asked(world: RedeployWorld) -> None:
    world.leave("n3")
    revision = committed_revision(world.designs().heads())
    assert revision
    world.peer.publish(revision, world._documents)
    assert destroyed(act(world)) == []
    story = act(world, **{"on-removed": "remove"})
    assert world.state() is RunState.SUCCESS, world.told()
    assert (drained(story), destroyed(story)) == (["n3"], ["n3"])
    assert "node removed n3" in story
    assert destroyed(act(world, **{"on-removed": "remove"})) == []


@pytest.mark.parametrize("world", ["maas"], indirect=True)
def test_without_a_cluster_only_force_destroys_servers_as_they_are(world: RedeployWorld) -> None:
    change(world, ["n1"], platform={"image": "noble"})
    world.connected = False
    with refuses(NothingDrains):
        world.create(UPDATE, **{"on-change": "reinstall"})
    world.create(UPDATE, **{"on-change": "reinstall", "force": True})


@pytest.mark.parametrize("world", ["drydock"], indirect=True)
def test_a_window_that_closes_lets_what_has_begun_end_and_begins_nothing(world: RedeployWorld) -> None:
    opens = (world.clock.now() + timedelta(hours=3)).replace(minute=0, second=0, microsecond=0)
    window = {"zone": "UTC", "start": f"{opens:%H:%M}", "minutes": 10}
    policy = {
        "windows": {"open": [window], "fits": "server", "durations": {"prepare": 60, "deploy": 60, "teardown": 60}}
    }
    world.site = replace(world.site, provisioner={"policy": policy})
    change(world, ["n1", "n2"], platform={"image": "noble"})
    world.fates(n1={"deploy": "ok", "seconds": 1200})
    world.create(UPDATE, **{"on-change": "reinstall"})
    first: dict[str, datetime] = {}

    def watch() -> None:
        for node in drained(world.story()):
            first.setdefault(node, world.clock.now())

    world.run(world.worker(), watch)
    assert world.state() is RunState.SUCCESS, world.told()
    story = world.story()
    assert destroyed(story) == ["n1", "n2"]
    assert opens <= first["n1"] < opens + timedelta(minutes=10)
    # n1 was back 20 minutes later, when no window was open for n2.
    assert opens + timedelta(days=1) <= first["n2"] < opens + timedelta(days=1, minutes=10)
    assert story.index("ready n1") < story.index("cordoned n2")


@pytest.mark.parametrize("world", peers("drydock"), indirect=True)
def test_the_servers_after_a_wave_wait_for_its_gate(world: RedeployWorld) -> None:
    policy = {"waves": [{"name": "canary", "nodes": 1, "gates": [{"approval": True}]}]}
    world.site = replace(world.site, provisioner={"policy": policy})
    change(world, NODES, platform={"image": "noble"})
    world.create(UPDATE, **{"on-change": "reinstall"})
    approve, waited = ApproveAction(world.store(), world.clock.now), list[list[str]]()

    def watch() -> None:
        if approve.of(world.action).waiting:
            waited.append(destroyed(world.story()))
            if len(waited) == 3:
                approve.answer(world.action, {"approve": True}, Caller("ann", frozenset({"admin"}), ""))
                world.make_due()

    world.run(world.worker(), watch)
    assert world.state() is RunState.SUCCESS, world.told()
    assert waited == [["n1"]] * 3
    story = world.story()
    assert destroyed(story) == list(NODES)
    assert story.index("ready n2") < story.index("cordoned n3")


class ImageSite(Site):
    """Three servers, each with an image."""

    images: Mapping[str, str] = {}

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the documents of the design."""
        found = super().documents(labels)
        nodes = {one["metadata"]["name"]: one["data"] for one in found if "/BaremetalNode/" in one["schema"]}
        for node, image in self.images.items():
            nodes[node]["platform"] = {"image": image}
        return found

    def commit_images(self, **images: str) -> None:
        """Put a design with these images into force."""
        self.images = {**self.images, **images}
        self.commit()


def test_an_approved_plan_reinstalls_no_more_than_was_signed(database_url: str) -> None:
    """The record of a server changes after the signature, and its design does not."""
    row = {name: values[0] for name, values in OPTIONS.items()} | {"action": "update_site", "provisioner": "maas"}
    body = {"name": "update_site", "parameters": {"on-change": "reinstall", "max-reinstalls": 3}}
    with closing(ImageSite(database_url, row)) as site:
        site.commit_images(n1="jammy", n2="jammy", n3="jammy")
        site.commit_images(n2="noble")
        assert site.create("deploy_site", {"allow-intermediate-commits": "true"}).status_code == 201
        site.run()
        assert site.state() is RunState.SUCCESS, site.journal()
        site.populate()
        site.commit_images(n1="noble")
        plan = site.approved_plan(body)
        site.ask("POST", "/adoptions", {"nodes": ["n2"], "revision": 1}, expect=200)
        refused = site.create(body["name"], body["parameters"], plan=plan)
        assert refused.status_code == 409, refused.text
        assert "n2: reinstall is new" in refused.text
        site.ask("POST", "/adoptions", {"nodes": ["n2"], "revision": 2}, expect=200)
        assert site.create(body["name"], body["parameters"], plan=plan).status_code == 201
        site.run()
        assert site.state() is RunState.SUCCESS, site.journal()
        assert [one.node for one in site.peer.destroyed()] == ["n1"]
