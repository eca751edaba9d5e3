"""Random changes of a design before simulated peers: what the plan says of each node is what the peers' own logs show.

A run is a seed: changes of one to three values, of documents of any kind, of deploy templates and of the machines,
each followed by an update of the site, another one, and then a redeployment or an adoption of what was left.
"""

from __future__ import annotations

import copy
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.deploy_steps.documents import SCHEMA as TRAITS
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.documents import BAREMETAL_NODE, Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.impact import DONE, Impact
from shipyard_api.domain.specification.kinds import KINDS, OTHERS, Reach
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from shipyard_api.ports.state.deploy_templates import TemplateId
from shipyard_api.usecases.actions.design_changes import DesignChanges, design_changes
from shipyard_api.usecases.callers.caller import Caller
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_api.usecases.nodes.adopt import AdoptNodes
from tests.conftest import ROOT
from tests.factories import document, group_entry
from tests.redeploy_world import NODES, RedeployWorld
from tests.simulated_peers import PEERS
from tests.simulated_world import CONFIGURATION

UPDATE, REDEPLOY, REMOVE = map(ActionName, ("update_site", "redeploy_server", "remove_server"))
COMMITS = {"allow-intermediate-commits": True}
CHANGES = 2
LONG = 10
RUNS = 50
NETWORKS, LINKS = ("oob", "oam", "storage"), ("pxe", "bond0")

LONG_SEEDS = [(list(PEERS)[number % len(PEERS)], 100 + number) for number in range(RUNS)]
SEEDS = [
    pytest.param("maas", 1, CHANGES, id="maas-1"),  # the quickest of the three
    *(pytest.param(peer, number, LONG, id=f"{peer}-{number}", marks=pytest.mark.crash) for peer, number in LONG_SEEDS),
]
Documents = list[dict[str, Any]]

TEMPLATE, MACHINE = "a deploy template", "a machine that is gone"
NO_NODE = "pegleg/Script/v1"


def kinds() -> set[str]:
    """Return every kind that a change may be of: of the table, of our schemas, and what is no document."""
    firsts = [path.read_text("utf-8").split("\n", 1)[0] for path in (ROOT / "schemas").glob("*_v1.yaml")]
    shipped = {found[1] for first in firsts if (found := re.match(r"# (\w+/\w+/v1)\b", first))}
    others = {f"{prefix}{_OTHER.get(prefix, 'Invented')}/v1" for prefix in OTHERS if prefix != "shipyard/"}
    return {*KINDS, *shipped, *others, NO_NODE, TEMPLATE, MACHINE}


_OTHER = {"promenade/": "Kubelet"}


def design() -> Documents:
    """Documents of every kind that reaches a node, but for the nodes themselves."""
    profile = {
        "oob": {"network": "oob", "type": "ipmi", "account": "root", "credential": "calvin"},
        "platform": {"image": "jammy", "kernel": "ga", "kernel_params": {"console": "ttyS1", "quiet": True}},
        "storage": {"physical_devices": {"boot": {"labels": {"bootdrive": "true"}, "partitions": [{"name": "root"}]}}},
        "interfaces": {"bond0": {"device_link": "bond0", "slaves": ["nic1"], "networks": ["oam"]}},
        "primary_network": "oam",
        "metadata": {"owner_data": {"plane": "compute"}, "tags": ["all"]},
    }
    assets = [{"path": "/etc/x", "type": "file", "data": "x"}]
    return [
        document("drydock/HostProfile/v1", "base", profile),
        document("drydock/HostProfile/v1", "compute", {"host_profile": "base", "hardware_profile": "r740"}),
        document("drydock/HardwareProfile/v1", "r740", {"vendor": "x", "hugepages": {"dpdk": {"count": 1}}}),
        *(document("drydock/Network/v1", name, {"mtu": 1500, "cidr": "10.0.0.0/24"}) for name in NETWORKS),
        *(document("drydock/NetworkLink/v1", name, {"mtu": 9000, "bonding": {"mode": "x"}}) for name in LINKS),
        document("drydock/Rack/v1", "r1", {"location": {"grid": "a"}}),
        document(
            "drydock/Region/v1",
            "region",
            {"authorized_keys": ["k"], "tag_definitions": [], "repositories": {"remove_unlisted": True}},
        ),
        document("drydock/BootAction/v1", "all", {"assets": assets, "signaling": False}),
        document(
            "drydock/BootAction/v1",
            "some",
            {"assets": assets, "node_filter": {"filter_set": [{"filter_type": "union", "node_names": ["n1", "n2"]}]}},
        ),
        document("drydock/BootAction/v1", "join", {"assets": [{"location": "promenade+http://promenade/join"}]}),
        document("promenade/Kubelet/v1", "kubelet", {"images": {"pause": "1"}}),
        document("drydock/Invented/v1", "invented", {"a": 1}),
        document("shipyard/ExpectedHardware/v1", "hardware", {"hardware_profiles": ["none"]}),
        document("shipyard/FirmwareVersions/v1", "firmware", copy.deepcopy(_FIRMWARE)),
        document(NO_NODE, "script", "text"),
        *(document(kind, kind.split("/")[1].lower(), "text") for kind in _TEXTS),
    ]


_TEXTS = sorted(kind for kind, known in KINDS.items() if known.reach is Reach.JOIN)
BIOS = TraitName("CUSTOM_BIOS")
_FIRMWARE = {"selectors": [{"node_names": ["n1"]}], "versions": {"bios": "1"}, "template": "CUSTOM_FIRMWARE"}


def node(number: int) -> dict[str, Any]:
    return {
        "rack": "r1" if number < 3 else "r2",
        "tags": [f"t{number}"],
        "labels": {"rack": f"r-n{number}"},
        "host_profile": "compute",
        "addressing": [
            {"network": name, "address": f"10.{index}.0.{number}"} for index, name in enumerate(("oob", "oam"))
        ],
    }


@dataclass
class Run:
    """A world, its documents as they are committed now, and what was changed in it so far."""

    world: RedeployWorld
    documents: Documents = field(default_factory=design)
    nodes: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: node(int(name[1:])) for name in NODES})
    changed: list[str] = field(default_factory=list)
    kinds: Sequence[str] = field(default_factory=lambda: sorted(kinds()))
    interval: int = 30
    critical: bool = False
    with_traits: tuple[str, ...] = ()
    template: int = 0
    chance: Random = field(default_factory=Random)

    @property
    def servers(self) -> list[NodeName]:
        """The servers of the site."""
        return list(map(NodeName, self.nodes))

    def commit(self) -> Revision:
        fixed = [each for each in self.world.site.further if each["schema"] in (ETCD_CLUSTERS, GENESIS)]
        wants = {"selectors": [{"node_names": list(self.with_traits)}], "traits": [BIOS], "requested_traits": [BIOS]}
        traits = [document(TRAITS, "pool", wants)] if self.with_traits else []
        further = [*fixed, *self.documents, *traits]
        provisioner = {"deploy_interval": self.interval}
        self.world.site = replace(
            self.world.site, nodes=self.nodes, further=further, provisioner=provisioner, groups=()
        )
        group = group_entry("all", critical=self.critical, selectors=[{"node_names": self.servers}])
        return self.commit_in([group])

    def commit_in(self, groups: list[dict[str, Any]]) -> Revision:
        """Commit the design of the world, and let the peer have it as Deckhand renders it."""
        if self.world.site.documents(groups) != self.world._documents:  # templates and machines are no documents
            self.world._commit(groups)
        designs = self.world.designs()
        revision = committed_revision(designs.heads())
        assert revision
        found = [entry.document for entry in RenderedDesigns(designs).of(revision).documents]
        self.world.peer.publish(
            revision, [{"schema": each.schema, "metadata": each.metadata, "data": each.data} for each in found]
        )
        return revision

    def plan(self) -> DesignChanges:
        planner = self.world.check().plan_steps
        revision = committed_revision(self.world.designs().heads())
        assert revision
        services, steps = not self.world.rules.limits.no_service, planner(revision).chosen
        deployed = planner.deployed(self.servers)
        changes = design_changes(planner.specifications, revision, steps, deployed, services=services)
        assert changes
        return changes

    def act(self, name: ActionName, **parameters: Any) -> list[str]:
        """Run an action, and return what the peers' own logs say of nodes since."""
        self.world.create(name, **parameters)
        self.world.run(self.world.worker())
        assert self.world.state() is RunState.SUCCESS, self.world.told()
        return self.world.story()

    def mutate(self, kind: str) -> None:
        """Change one value of a kind somewhere."""
        if (change := _CHANGES.get(kind)) is not None:
            self.changed.append(f"{kind} {change(self)}")
            return
        if kind == BAREMETAL_NODE:
            name = self.chance.choice(sorted(self.nodes))
            self.changed.append(f"{kind} {name} {self._within(self.nodes[name])}")
            return
        entry = self.chance.choice([each for each in self.documents if each["schema"] == kind])
        if isinstance(entry["data"], str):
            entry["data"] += "x"
            where = "data"
        else:
            where = self._within(entry["data"])
        self.changed.append(f"{entry['schema']} {entry['metadata']['name']} {where}")

    def raised(self, name: str, key: str, at: Any) -> str:
        """Change a text of a document that has nothing else to change."""
        (entry,) = [each for each in self.documents if each["metadata"]["name"] == name]
        entry["data"][key][at] += "x"
        return key

    def _within(self, data: Any) -> str:
        """Change a value below data, or add one."""
        spots = [spot for spot in _spots(data, ()) if spot[1][-1] not in ("host_profile", "hardware_profile", "labels")]
        if not spots:
            data["invented"] = f"{data.get('invented', '')}x"
            return "invented"
        holder, path = self.chance.choice(spots)
        if self.chance.random() < 0.1 and isinstance(holder, dict) and path[0] not in ("rack", "tags", "addressing"):
            holder[f"{path[-1]}_2"] = "new"
            return f"{'.'.join(map(str, path))}_2"
        value = holder[path[-1]]
        holder[path[-1]] = _other(value)
        return ".".join(map(str, path))


def _configuration(run: Run) -> str:
    run.interval += 1
    return "deploy_interval"


def _strategy(run: Run) -> str:
    run.critical = not run.critical
    return "critical"


def _fixed(schema: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Run], str]:
    """Return a change of a document that our own peers read by themselves: of what they do not look at."""

    def changed(run: Run) -> str:
        further = copy.deepcopy([*run.world.site.further])
        for entry in further:
            if entry["schema"] == schema:
                change(entry["data"])
        run.world.site = replace(run.world.site, further=further)
        return "a value"

    return changed


def _renamed(data: dict[str, Any]) -> None:
    data["clusters"][0]["name"] += "x"


def _invented(data: dict[str, Any]) -> None:
    data["invented"] = data.get("invented", 0) + 1


def _traits(run: Run) -> str:
    before = run.with_traits
    while run.with_traits == before:
        run.with_traits = tuple(name for name in sorted(run.nodes) if run.chance.random() < 0.5)
    return f"{before} {run.with_traits}"


def _template(run: Run) -> str:
    """Create the template, delete it, or change it; only Ironic runs any."""
    identity = TemplateId(str(uuid.UUID(int=1)))
    if run.world.rules.limits.no_service:
        return "none"
    with run.world.store().begin() as tx:
        if run.template:
            tx.deploy_templates.delete(identity)
        run.template = 0 if run.template and run.chance.random() < 0.4 else run.template + 1
        if run.template:
            settings = {"settings": [{"name": "x", "value": str(run.template)}]}
            steps = (DeployStep(Interface.BIOS, "apply_configuration", settings, 10),)
            tx.deploy_templates.create(identity, DeployTemplate(BIOS, steps), {})
    return str(run.template)


def _gone(run: Run) -> str:
    """Take a server down: its machine has nothing any more."""
    name = run.chance.choice(sorted(run.nodes))
    run.act(REMOVE, target_nodes=name)
    return name


_CHANGES: Mapping[str, Callable[[Run], str]] = {
    CONFIGURATION: _configuration,
    "shipyard/DeploymentStrategy/v1": _strategy,
    "shipyard/ExpectedHardware/v1": lambda run: run.raised("hardware", "hardware_profiles", 0),
    "shipyard/FirmwareVersions/v1": lambda run: run.raised("firmware", "versions", "bios"),
    ETCD_CLUSTERS: _fixed(ETCD_CLUSTERS, _renamed),
    GENESIS: _fixed(GENESIS, _invented),
    TRAITS: _traits,
    TEMPLATE: _template,
    MACHINE: _gone,
}


def _spots(data: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    pairs: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        if isinstance(value, (dict, list)) and value:
            yield from _spots(value, (*path, key))
        else:
            yield data, (*path, key)


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case _:
            return ["x"]


@pytest.mark.parametrize(("peer", "seed", "changes"), SEEDS)
def test_what_a_plan_says_of_a_node_is_what_its_peers_show(
    module_database_url: str, peer: str, seed: int, changes: int
) -> None:
    world = RedeployWorld.deployed(module_database_url, peer)
    try:
        run = Run(world)
        run.commit()
        settle(run)
        for number, chosen in enumerate(plans_of(seed, changes)):
            run.chance = Random(f"{seed} {number}")
            check(run, chosen)
    finally:
        world.close()


def plans_of(seed: int, changes: int) -> Sequence[Sequence[str]]:
    """Return the kinds of each change of a run: all of them one after another, whatever the seed begins with."""
    every, at, found = sorted(kinds()), seed * LONG * 2, []
    for number in range(changes):
        some = Random(f"kinds {seed} {number}").randint(1, 3)
        found.append([every[(at + step) % len(every)] for step in range(some)])
        at += some
    return found


@pytest.mark.parametrize("peer", PEERS)
def test_every_kind_is_changed(peer: str) -> None:
    chosen = [kind for name, seed in LONG_SEEDS if name == peer for each in plans_of(seed, LONG) for kind in each]
    assert {*chosen} == kinds()
    assert KINDS.keys() - kinds() == set()
    have = {entry["schema"] for entry in design()}
    assert kinds() - have - {BAREMETAL_NODE, *_CHANGES} == set()  # each has a document, or a change of its own


def settle(run: Run) -> None:
    """Let every node have what the design says."""
    revision = committed_revision(run.world.designs().heads())
    assert revision
    adopt = AdoptNodes(run.world.check().plan_steps, run.world.clock)
    adopt(run.servers, revision, Caller("tester", frozenset({"admin"}), "key"))


def check(run: Run, kinds_changed: Sequence[str]) -> None:
    """Change values of these kinds, and compare what the plan says with what the peers show."""
    run.changed.clear()
    for kind in kinds_changed:
        run.mutate(kind)
    run.commit()
    planned = run.plan()
    said = {node: entry.impact for node, entry in planned.nodes.items()}
    new = {node for node, impact in said.items() if impact is Impact.NEW}
    about = f"{run.world.peer.name}: {json.dumps(run.changed)}: {said}"
    relabelled = {node for node, entry in planned.nodes.items() if entry.impact in DONE and "labels" in entry.aspects}
    story = run.act(UPDATE, **COMMITS)
    assert happened(run, story, "destroy") == set(), about
    assert labels_set(run, story) - new == relabelled, about
    if run.world.peer.name != "drydock":  # which is sent all nodes, and leaves deployed ones alone itself
        assert happened(run, story, "prepare") | happened(run, story, "service") <= new, about
        assert happened(run, story, "deploy") == new, about
    assert joined(story) == new, about
    # What was left is not forgotten: not after this action, and not after the next.
    left = {node: impact for node, impact in said.items() if impact not in DONE}
    for _ in range(2):
        now = {node: entry.impact for node, entry in run.plan().nodes.items() if entry.impact is not Impact.UNCHANGED}
        assert now == left, about
        named = {node for node, record in run.world.nodes().items() if record.older}
        assert named == set(left), about
        assert happened(run, run.act(UPDATE, **COMMITS), "destroy") == set(), about
    if left and run.chance.random() < 0.3:
        story = run.act(REDEPLOY, **{"target_nodes": ",".join(left), "target-revision": "committed"})
        assert happened(run, story, "destroy") == happened(run, story, "deploy") == set(left), about
    else:
        settle(run)
    assert run.plan().counts == {Impact.UNCHANGED: len(run.nodes)}, about


def happened(run: Run, story: list[str], what: str) -> set[str]:
    return {line.split()[1] for line in story if line.split()[0] == what}


def joined(story: list[str]) -> set[str]:
    """Return the servers that were installed: their kubelets joined anew."""
    return {line.split()[-1] for line in story if line.startswith("node joined")}


def labels_set(run: Run, story: list[str]) -> set[str]:
    """Return the nodes whose labels were set since the action began."""
    if run.world.peer.name == "drydock":
        asked = (event for event in run.world.peer.events() if event["event"] == "task_requested")
        since = run.world.since.isoformat()
        return {
            name
            for event in asked
            if event["action"] == "relabel_nodes" and event["time"] > since
            for name in event["nodes"]
        }
    return {line.split()[-1] for line in story if line.startswith("set ")}
