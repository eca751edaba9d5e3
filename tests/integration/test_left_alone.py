"""Servers that an action leaves alone, before simulated peers: what changed since is said until it is true."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from types import MappingProxyType, ModuleType
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from shipyard_api.adapters.prometheus.site import SiteCollector
from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface, TemplateStep
from shipyard_api.domain.deploy_steps.traits import SCHEMA, TraitName
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.facts.nodes import NodesLeft
from shipyard_api.domain.log_lines import log_line
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.given import ALL_STEPS, older_specification, stepped
from shipyard_api.domain.specification.impact import Impact, NodeImpact
from shipyard_api.domain.specification.kinds import Aspect
from shipyard_api.ports.state.deploy_templates import TemplateId
from shipyard_api.storage.site_tables import node_specifications
from shipyard_api.usecases.actions.design_changes import DesignChanges, design_changes
from shipyard_api.usecases.actions.overview import OverviewAction
from shipyard_api.usecases.actions.plan_content import classes
from shipyard_api.usecases.actions.report import Places, ReportAction
from shipyard_api.usecases.actions.way_back import way_back
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_api.usecases.nodes.adopt import AdoptNodes
from shipyard_api.usecases.nodes.compare import CompareNodes
from shipyard_api.usecases.nodes.list import ListNodes
from tests.conftest import ROOT
from tests.daily import peers
from tests.factories import document, group_entry
from tests.redeploy_world import NODES, RedeployWorld
from tests.simulated_peers import PEERS
from tests.world import MIRROR

UPDATE, DEPLOY, REDEPLOY, RELABEL, SERVICE = map(
    ActionName, ("update_site", "deploy_site", "redeploy_server", "relabel_nodes", "service_server")
)
N1 = NodeName("n1")


@pytest.fixture
def world(request: pytest.FixtureRequest, database_url: str) -> Iterator[RedeployWorld]:
    found = RedeployWorld.deployed(database_url, request.param)
    yield found
    found.close()


def change(world: RedeployWorld, **fields: Any) -> None:
    """Commit the design with another document of n1."""
    nodes: Mapping[str, Mapping[str, Any]] = {**world.site.nodes, "n1": {**world.site.nodes["n1"], **fields}}
    world.site = dataclasses.replace(world.site, nodes=nodes)
    world._commit([group_entry("all", selectors=[{"node_names": list(NODES)}])])
    world.peer.publish(committed(world), world._documents)


def committed(world: RedeployWorld) -> Revision:
    revision = committed_revision(world.designs().heads())
    assert revision
    return revision


def changed(world: RedeployWorld) -> list[str]:
    """Return the nodes that a plan names as changed."""
    return list(changes_of(world).changed)


def changes_of(world: RedeployWorld, software: Mapping[NodeName, str] = MappingProxyType({})) -> DesignChanges:
    """Return what a plan says of each node now."""
    planner = world.check().plan_steps
    revision = committed(world)
    changes = design_changes(
        planner.specifications,
        revision,
        planner(revision).chosen,
        planner.deployed(list(map(NodeName, world.site.nodes))),
        services=not world.rules.limits.no_service,
        software=software,
    )
    assert changes
    return changes


def act(world: RedeployWorld, name: ActionName, **parameters: Any) -> None:
    world.create(name, **parameters)
    world.run(world.worker())
    assert world.state() is RunState.SUCCESS, world.told()


REINSTALL = "shipyard create action redeploy_server --param=target-revision=last-site-action --param=target_nodes=n1"


def older(world: RedeployWorld, way: str = REINSTALL) -> list[str]:
    """Return what report, overview, step and journal say of servers that were left alone; they agree."""
    report = ReportAction(world.store(), world.clock, Places())(world.action)
    overview = OverviewAction(world.store(), RenderedDesigns(world.designs()), world.clock.now)(world.action)
    with world.store().begin() as tx:
        facts = [entry.fact for entry in tx.journal.entries(world.action, (NodesLeft.kind,))]
    said = [detail for _, detail in world.steps().values() if "older specification" in detail]
    assert (list(report.older), report.lacking) == (list(overview.older), overview.lacking)
    named = [fact.nodes for fact in facts if isinstance(fact, NodesLeft)]
    assert named == ([tuple(map(NodeName, report.older))] if report.older else [])
    assert len(said) == bool(report.older)
    ways = [way["command"] for way in way_back(report.action, (), (), report.lacking)]
    assert ways == ([way] if report.older else [])
    return list(report.older)


@pytest.mark.parametrize("world", peers("drydock"), indirect=True)
def test_a_changed_server_that_was_left_alone_is_named_until_it_is_redeployed(world: RedeployWorld) -> None:
    assert (older(world), changed(world)) == ([], [])
    change(world, platform={"image": "noble"})
    assert changed(world) == ["n1"]
    for _ in range(2):  # it is not forgotten by an action that changed nothing
        act(world, UPDATE)
        assert (older(world), changed(world), gauge(world)) == (["n1"], ["n1"], 1)
    act(world, REDEPLOY, target_nodes="n1")
    assert (changed(world), gauge(world)) == ([], 0)
    act(world, UPDATE)
    assert older(world) == []
    with world.store().begin() as tx:
        given = {node: record.action for node, record in tx.specifications.of(list(map(NodeName, NODES))).items()}
    # What an upgrade makes of the actions alone is the same.
    with world.engine().begin() as connection:
        assert {row.name: row.action_id for row in connection.execute(migration()._SENT)} == given
        connection.execute(node_specifications.update().values(aspects={}, revisions={}, provisioner=""))
    assert changed(world) == []  # compared by the revision of each record


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_what_an_update_leaves_is_said_in_the_same_words_everywhere(world: RedeployWorld) -> None:
    change(world, platform={"image": "noble"})
    for choice in ("leave", "least"):
        act(world, UPDATE, **{"on-change": choice})
        sentence = older_specification([N1])
        # Report, overview and page: their ways back are of one function, and `older` compares their lists.
        assert older(world) == ["n1"]
        report = ReportAction(world.store(), world.clock, Places())(world.action)
        ways = way_back(report.action, (), (), report.lacking)
        with world.store().begin() as tx:
            (event,) = tx.journal.entries(world.action, (NodesLeft.kind,))
        said = {
            "step": [detail for _, detail in world.steps().values() if sentence in detail],
            "report, overview, page": [way["when"] for way in ways if sentence in way["when"]],
            "event": [line for line in [log_line(event)] if sentence in line],
        }
        assert {place: len(lines) for place, lines in said.items()} == dict.fromkeys(said, 1)
        assert metric(world) == 1.0
        rendered = RenderedDesigns(world.designs())
        compare = CompareNodes(world.check().plan_steps.specifications, rendered.committed)
        listed = ListNodes(world.store(), lambda _: None, lambda _: None, rendered.committed_nodes, compare)
        page = listed.page(status=(), prefix="", after="", limit=9)
        column = {record.node.name: record.impact and record.impact.impact for record in page}
        assert column == {"n1": Impact.REINSTALL, "n2": Impact.UNCHANGED, "n3": Impact.UNCHANGED}


def metric(world: RedeployWorld) -> float | None:
    """Return the metric as Prometheus scrapes it."""
    registry = CollectorRegistry()
    registry.register(SiteCollector(lambda: world.store().read(lambda tx: tx.measures.counts()), dict))
    return registry.get_sample_value("shipyard_older_nodes")


def gauge(world: RedeployWorld) -> int:
    """Return how many servers run an older specification by the metrics."""
    return world.store().read(lambda tx: tx.measures.counts()).older


def migration() -> ModuleType:
    """Return the migration that makes the records of sites that exist."""
    path = ROOT / "migrations/versions/0034_node_specifications.py"
    spec = spec_from_file_location("node_specifications", path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_upgrade_makes_the_digests_of_this_release() -> None:
    steps = [TemplateStep(MIRROR.name, step) for step in MIRROR.steps]
    assert dict(migration()._digests([step.to_json() for step in steps])) == stepped(steps)


@pytest.mark.parametrize("world", PEERS, indirect=True)
def test_labels_are_set_by_an_update_of_the_site(world: RedeployWorld) -> None:
    change(world, labels={"rack": "r9"}, rack="r9")
    assert changes_of(world).nodes[N1] == NodeImpact(Impact.RELABEL, ("labels", "placement"))
    act(world, UPDATE)
    assert (older(world), changed(world)) == ([], [])
    assert "relabel_nodes" in world.steps()
    # A move in the design alone takes no step, and no label that a peer refuses stops an update.
    change(world, labels={"rack": "r9"}, rack="r10")
    act(world, UPDATE)
    assert (older(world), changed(world), "relabel_nodes" in world.steps()) == ([], [], False)


@pytest.mark.parametrize("world", ["drydock", "ironic"], indirect=True)
def test_labels_of_a_deployment_are_left_and_given_by_a_relabelling(world: RedeployWorld) -> None:
    change(world, labels={"rack": "r9"})
    act(world, DEPLOY)
    relabel = "shipyard create action relabel_nodes --param=target_nodes=n1"
    assert (older(world, relabel), changed(world)) == (["n1"], ["n1"])
    act(world, RELABEL, target_nodes="n1")
    assert changed(world) == []


@pytest.mark.parametrize("world", ["maas"], indirect=True)
def test_a_server_that_nobody_knows_is_adopted(world: RedeployWorld) -> None:
    with world.engine().begin() as connection:
        connection.execute(node_specifications.delete())
    assert changes_of(world).counts == {Impact.UNKNOWN: 3}
    adopt = AdoptNodes(world.check().plan_steps, world.clock)
    caller = Caller("tester", frozenset({"admin"}), "key")
    assert adopt([NodeName("n2"), N1], committed(world), caller) == [N1, "n2"]
    assert changes_of(world).counts == {Impact.UNCHANGED: 2, Impact.UNKNOWN: 1}
    with world.store().begin() as tx:
        record = tx.specifications.of([N1])[N1]
    assert (record.adopted_by, record.revision, record.provisioner) == ("tester", committed(world), "MAAS")
    with pytest.raises(ShipyardError, match="has no node n9"):
        adopt([NodeName("n9")], committed(world), caller)
    with pytest.raises(ShipyardError, match="revision=99"):
        adopt([N1], Revision(99), caller)
    # What another provisioner's machine was given says nothing of this one.
    with world.engine().begin() as connection:
        connection.execute(node_specifications.update().values(provisioner="Ironic"))
    assert changes_of(world).counts == {Impact.UNKNOWN: 3}


@pytest.mark.parametrize("world", ["maas"], indirect=True)
def test_tasks_that_a_server_has_not_run_are_software(world: RedeployWorld) -> None:
    specifications, revision = world.check().plan_steps.specifications, committed(world)
    found = specifications.impacts(revision, [N1], {}, deployed=[N1], services=False, software={N1: "digest"})
    assert found == {N1: NodeImpact(Impact.SOFTWARE, ("software",))}


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_values_are_shown_once_with_their_documents(world: RedeployWorld) -> None:
    profile = document("drydock/HostProfile/v1", "base", {"platform": {"image": "noble"}})
    world.site = dataclasses.replace(
        world.site,
        nodes={name: {**entry, "host_profile": "base"} for name, entry in world.site.nodes.items()},
        further=[*world.site.further, profile],
    )
    change(world)
    changes = changes_of(world)
    assert (changes.counts, changes.uncompared) == ({Impact.REINSTALL: 3}, 0)
    (value,) = changes.values
    assert (value.aspect, value.path, value.old, value.new) == (Aspect.IMAGE, "platform.image", "-", '"noble"')
    assert [(ref.name, ref.path) for ref in value.documents] == [("base", "/data/platform/image")]
    assert classes(changes) == dict.fromkeys(NODES, "reinstall")  # what a signature covers
    assert list(value.nodes) == list(NODES)


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_steps_alone_are_given_by_a_service(world: RedeployWorld) -> None:
    bios = DeployTemplate(TraitName("CUSTOM_BIOS"), (DeployStep(Interface.BIOS, "factory_reset", {}, 10),))
    with world.store().begin() as tx:
        tx.deploy_templates.create(TemplateId(str(uuid.UUID(int=1))), bios, {})
    wants = {"selectors": [{"node_names": ["n1"]}], "traits": ["CUSTOM_BIOS"], "requested_traits": ["CUSTOM_BIOS"]}
    world.site = dataclasses.replace(
        world.site, further=[*world.site.further, document("shipyard/NodeTraits/v1", "pool", wants)]
    )
    change(world)
    act(world, UPDATE)
    service = "shipyard create action service_server --param=template=CUSTOM_BIOS --param=target_nodes=n1"
    assert older(world, service) == ["n1"]
    act(world, SERVICE, template="CUSTOM_BIOS", target_nodes="n1")
    act(world, UPDATE)
    assert older(world) == []


BIOS = DeployTemplate(TraitName("CUSTOM_BIOS"), (DeployStep(Interface.BIOS, "factory_reset", {}, 10),))
SETTINGS = {"settings": [{"name": "vt", "value": "on"}]}
VT = DeployTemplate(TraitName("CUSTOM_VT"), (DeployStep(Interface.BIOS, "apply_configuration", SETTINGS, 150),))


def traits(world: RedeployWorld, *names: str) -> None:
    """Commit the design with these traits of n1."""
    wants = {"selectors": [{"node_names": ["n1"]}], "traits": list(names), "requested_traits": list(names)}
    rest = [entry for entry in world.site.further if entry["schema"] != SCHEMA]
    world.site = dataclasses.replace(world.site, further=[*rest, *([document(SCHEMA, "pool", wants)] if names else [])])
    change(world)


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_a_template_that_the_design_chooses_no_more_is_seen_and_a_service_of_one_is_not(world: RedeployWorld) -> None:
    with world.store().begin() as tx:
        for number, template in enumerate((BIOS, VT), 1):
            tx.deploy_templates.create(TemplateId(str(uuid.UUID(int=number))), template, {})
    act(world, SERVICE, template="CUSTOM_VT", target_nodes="n1")
    assert changed(world) == []  # the design did not ask for it, and does not
    traits(world, "CUSTOM_BIOS")
    act(world, REDEPLOY, target_nodes="n1", **{"target-revision": "committed"})
    assert changed(world) == []
    traits(world, "CUSTOM_BIOS", "CUSTOM_VT")
    act(world, SERVICE, template="CUSTOM_VT", target_nodes="n1")
    assert changed(world) == []
    traits(world, "CUSTOM_BIOS")
    gone = NodeImpact(Impact.REINSTALL, ("gone:steps:CUSTOM_VT",))
    for _ in range(2):
        assert changes_of(world).nodes[N1] == gone
        act(world, UPDATE, **{"allow-intermediate-commits": True})
        assert older(world) == ["n1"]
    # A service of it is no way to be rid of it, nor does it hide it.
    act(world, SERVICE, template="CUSTOM_VT", target_nodes="n1")
    assert changes_of(world).nodes[N1] == gone
    # The design chooses the other one still, which has vanished itself.
    with world.store().begin() as tx:
        tx.deploy_templates.delete(TemplateId(str(uuid.UUID(int=1))))
    assert changes_of(world).nodes[N1].aspects == ("gone:steps:CUSTOM_BIOS", *gone.aspects)
    act(world, REDEPLOY, target_nodes="n1", **{"target-revision": "committed"})
    assert changed(world) == []


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_a_service_of_the_release_before_counts_for_the_design_if_that_chose_it(world: RedeployWorld) -> None:
    traits(world, "CUSTOM_BIOS")
    chosen = committed(world)
    traits(world)
    with world.store().begin() as tx:
        deployed = tx.specifications.of([N1])[N1]

    def recorded(revision: Revision | None) -> NodeImpact:
        """Return what a plan says if that release has recorded a service, of this revision, or else a deployment."""
        aspects = {aspect: digest for aspect, digest in deployed.aspects.items() if aspect != ALL_STEPS}
        record = replace(deployed, aspects={**aspects, "steps:CUSTOM_BIOS": "1"})
        record = replace(record, revisions={"steps:CUSTOM_BIOS": revision} if revision else {})
        with world.store().begin() as tx:
            tx.specifications.adopt({N1: record}, now=world.clock.now())
        return changes_of(world).nodes[N1]

    gone = NodeImpact(Impact.REINSTALL, ("gone:steps:CUSTOM_BIOS",))
    # What cannot be read any more counts as chosen.
    assert [recorded(revision) for revision in (chosen, None, Revision(99))] == [gone] * 3
    assert recorded(committed(world)) == NodeImpact(Impact.UNCHANGED)


@pytest.mark.parametrize("world", ["maas"], indirect=True)
def test_tasks_that_are_gone_are_seen_once(world: RedeployWorld) -> None:
    with world.store().begin() as tx:
        records = tx.specifications.of(list(map(NodeName, NODES)))
        ran = replace(records[N1], aspects={**records[N1].aspects, "software": "1"})
        tx.specifications.adopt({N1: ran}, now=world.clock.now())
    none = dict.fromkeys(map(NodeName, NODES), "")
    changes = changes_of(world, none)
    assert changes.counts == {Impact.UNCHANGED: 2, Impact.SOFTWARE: 1}
    assert [finding.name for finding in changes.findings] == ["TasksNotUndone"]
    assert changes_of(world).counts == {Impact.UNCHANGED: 3}  # nobody asked
    act(world, UPDATE)  # the site has no task graph: there is nothing to run
    assert changes_of(world, none).counts == {Impact.UNCHANGED: 3}


@pytest.mark.parametrize("world", ["ironic"], indirect=True)
def test_a_server_that_was_destroyed_has_no_record_and_a_deployed_one_without_any_is_named(
    world: RedeployWorld,
) -> None:
    with world.store().begin() as tx:
        assert tx.specifications.of([N1])[N1].action == world.action
    world.fates(n1={"deploy": "fail", "reason": "no luck"})
    world.create(REDEPLOY, target_nodes="n1")
    world.run(world.worker())
    with world.store().begin() as tx:
        assert not tx.specifications.of([N1])
    world.fates()
    act(world, REDEPLOY, target_nodes="n1")
    with world.engine().begin() as connection:
        connection.execute(node_specifications.delete().where(node_specifications.c.name == N1))
    act(world, UPDATE)
    with world.store().begin() as tx:
        (fact,) = [entry.fact for entry in tx.journal.entries(world.action, (NodesLeft.kind,))]
    assert (fact, changed(world)) == (NodesLeft((), (N1,), {}, services=True), ["n1"])
