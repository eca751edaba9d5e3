"""Random changes of the design of a site before simulated peers, of its task graph, its deploy templates and machines.

The example has a document of every kind that reaches a server; other sites are as their operators wrote them.
"""

from __future__ import annotations

import copy
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import SCHEMA as TRAITS
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.documents import BAREMETAL_NODE, Revision
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.impact import DONE, Impact, NodeImpact
from shipyard_api.domain.specification.kinds import KINDS, OTHERS, Aspect, Reach
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from shipyard_api.ports.state.deploy_templates import TemplateId
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_simulators.scenario import Scenario
from tests.changing_sites import ChangingWorld, Documents, WrittenSite, servers_of, written
from tests.conftest import ROOT
from tests.factories import document, group_entry
from tests.redeploy_world import NODES
from tests.simulated_world import CONFIGURATION, Site
from tests.task_graphs import group, task

UPDATE, REDEPLOY, REMOVE = map(ActionName, ("update_site", "redeploy_server", "remove_server"))
COMMITS = {"allow-intermediate-commits": True}
NETWORKS, LINKS = ("oob", "oam", "storage"), ("pxe", "bond0")

TEMPLATE, MACHINE, TASKS = "a deploy template", "a machine that is gone", "the task graph"
NO_NODE = "pegleg/Script/v1"


def kinds() -> set[str]:
    """Return every kind that a change may be of: of the table, of our schemas, and changes outside of documents."""
    firsts = [path.read_text("utf-8").split("\n", 1)[0] for path in (ROOT / "schemas").glob("*_v1.yaml")]
    shipped = {found[1] for first in firsts if (found := re.match(r"# (\w+/\w+/v1)\b", first))}
    others = {f"{prefix}{_OTHER.get(prefix, 'Invented')}/v1" for prefix in OTHERS if prefix != "shipyard/"}
    return {*KINDS, *shipped, *others, NO_NODE, TEMPLATE, MACHINE, TASKS}


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


@dataclass(frozen=True)
class Planned:
    """What a plan says of the servers. ``outside``: those in no deployment group, which site actions leave alone.

    ``not_undone``: it says that servers ran other tasks before.
    """

    nodes: Mapping[NodeName, NodeImpact]
    outside: Set[NodeName]
    not_undone: bool

    @property
    def differing(self) -> dict[NodeName, Impact]:
        """The class of each server that is not unchanged."""
        return {node: entry.impact for node, entry in self.nodes.items() if entry.impact is not Impact.UNCHANGED}

    def done(self, aspect: Aspect) -> set[NodeName]:
        """Return the servers that differ in an aspect, of those that the update leaves with nothing older."""
        found = {node for node, entry in self.nodes.items() if entry.impact in DONE and aspect.value in entry.aspects}
        return found - self.outside

    def with_tasks(self) -> set[NodeName]:
        """Return the servers whose tasks differ."""
        found = {node for node, entry in self.nodes.items() if Aspect.SOFTWARE.value in entry.aspects}
        return found - self.outside

    def new(self) -> set[NodeName]:
        """Return the servers that the update deploys."""
        return {node for node, impact in self.differing.items() if impact is Impact.NEW} - self.outside

    def left(self) -> dict[NodeName, Impact]:
        """Return the servers that the update leaves as they are, with their classes."""
        found = self.differing.items()
        return {node: impact for node, impact in found if impact not in DONE or node in self.outside}


@dataclass
class Run:
    """A world, its documents as they are committed now, and what was changed in it so far.

    ``tasks``: the command of each task of the graph; ``without``: the servers that have no role in it. ``had``: the
    commands that each server has run since it was installed, as far as its record may know.
    """

    world: ChangingWorld
    documents: Documents = field(default_factory=design)
    nodes: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: node(int(name[1:])) for name in NODES})
    changed: list[str] = field(default_factory=list)
    interval: int = 30
    critical: bool = False
    with_traits: tuple[str, ...] = ()
    template: int = 0
    tasks: dict[str, str] = field(default_factory=dict)
    without: set[str] = field(default_factory=set)
    had: dict[str, Sequence[str]] = field(default_factory=dict)
    chance: Random = field(default_factory=Random)

    @classmethod
    def of(cls, url: str, peer: str) -> Run:
        """Return a run of the site that has a document of every kind, deployed by the peer."""
        return cls(ChangingWorld.deployed(url, peer))

    @property
    def servers(self) -> list[NodeName]:
        """The servers of the site."""
        return list(map(NodeName, self.nodes))

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds that a change may be of."""
        return sorted(kinds())

    def change(self, chosen: Sequence[str]) -> None:
        """Change a value of each kind, and commit the design."""
        self.changed.clear()
        before = self.revision()
        for kind in chosen:
            self.mutate(kind)
        self.commit()
        assert self.revision() != before or {*chosen} <= _NO_DOCUMENT, "the design did not change"

    def commit(self) -> None:
        fixed = [each for each in self.world.site.further if each["schema"] in (ETCD_CLUSTERS, GENESIS)]
        further = [*fixed, *self.documents, *self.traits()]
        provisioner = {"deploy_interval": self.interval}
        self.world.site = replace(
            self.world.site, nodes=self.nodes, further=further, provisioner=provisioner, groups=()
        )
        group = group_entry("all", critical=self.critical, selectors=[{"node_names": self.servers}])
        assert self.offer([group])

    def traits(self) -> Documents:
        """Return the document by which servers request the deploy template, if any does."""
        wants = {"selectors": [{"node_names": list(self.with_traits)}], "traits": [BIOS], "requested_traits": [BIOS]}
        return [document(TRAITS, "pool", wants)] if self.with_traits else []

    def offer(self, groups: list[dict[str, Any]]) -> bool:
        """Commit the design of the world if nothing refuses it, and let the peer have it as Deckhand renders it.

        A design by which a group fails in any case counts as refused.
        """
        before = self.world._documents
        if self.world.site.documents(groups) != before:  # templates and machines are no documents
            try:
                result = self.world.offer(groups)
            except ShipyardError:
                self.world._documents = before
                return False
            if not result.committed:
                self.world._documents = before
            if not result.committed or any(finding.name == _FAILS for finding in result.findings):
                return False
        revision = self.revision()
        found = [entry.document for entry in self.world.rendered().of(revision).documents]
        self.world.peer.publish(
            revision, [{"schema": each.schema, "metadata": dict(each.metadata), "data": each.data} for each in found]
        )
        return True

    def revision(self) -> Revision:
        """Return the committed revision."""
        revision = committed_revision(self.world.designs().heads())
        assert revision
        return revision

    def plan(self) -> Planned:
        """Return what the plan of an update says of the servers."""
        plan = self.world.plan(UPDATE, **COMMITS)
        assert plan.refusal is None, plan.refusal
        assert plan.changes
        members = {node for planned in plan.groups for node in planned.members}
        said = any(finding.name == "TasksNotUndone" for finding in plan.findings)
        return Planned(plan.changes.nodes, {*self.servers} - members, said)

    def act(self, name: ActionName, **parameters: Any) -> list[str]:
        """Run an action, and return what the peers' own logs say of nodes since."""
        self.world.create(name, **parameters)
        self.world.run(self.world.worker())
        assert self.world.state() is RunState.SUCCESS, self.world.told()
        return self.world.story()

    def mutate(self, kind: str) -> None:
        """Change one value of a kind somewhere."""
        if (change := CHANGES_OF.get(kind)) is not None:
            self.changed.append(f"{kind} {change(self)}")
            return
        if kind == BAREMETAL_NODE:
            name = self.chance.choice(sorted(self.nodes))
            self.changed.append(f"{kind} {name} {self._within(self.nodes[name])}")
            return
        self._in_one_of([each for each in self.documents if each["schema"] == kind])

    def _in_one_of(self, entries: Documents) -> None:
        """Change a value of one of these documents."""
        entry = self.chance.choice(entries)
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
        spots = [spot for spot in _spots(data, ()) if spot[1][-1] not in _LEFT and "selectors" not in spot[1]]
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


_LEFT = ("host_profile", "hardware_profile", "labels")
"""What no change is of: a profile that does not exist, and the names by which documents are found."""


@dataclass
class WrittenRun(Run):
    """A run on a site as its operators wrote it, with all layers. A refused change is undone, and another made."""

    @classmethod
    def of_site(cls, url: str, peer: str, name: str) -> WrittenRun:
        """Return a run of a written site, deployed by the peer."""
        documents = written(name)
        servers = servers_of(documents)

        def site(played: Scenario) -> Site:
            return WrittenSite({name: {} for name in servers}, played, written=documents)

        world = ChangingWorld.deployed(url, peer, names=servers, members=servers, site=site)
        return cls(world, documents, {name: {} for name in servers})

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of the documents, and changes outside of documents."""
        others = {TRAITS, TEMPLATE, TASKS, *((MACHINE,) if len(self.nodes) > 1 else ())}
        return sorted(others.union(each["schema"] for each in self.documents).difference(_NO_CHANGE))

    def change(self, chosen: Sequence[str]) -> None:
        self.changed.clear()
        for kind in (each for each in chosen if each in _OF_EVERY_SITE):
            self.mutate(kind)
        done, before, revision = [*self.changed], self.documents, self.revision()
        for _ in range(_ATTEMPTS):
            self.changed, self.documents = [*done], copy.deepcopy(before)
            for kind in (each for each in chosen if each not in _OF_EVERY_SITE):
                self._in_one_of([each for each in self.documents if each["schema"] == kind])
            if self._committed():
                assert self.revision() != revision or {*chosen} <= _NO_DOCUMENT, "the design did not change"
                return
        raise AssertionError(f"every change of {chosen} is refused")

    def commit(self) -> None:
        assert self._committed()

    def _committed(self) -> bool:
        assert isinstance(self.world.site, WrittenSite)
        self.world.site = replace(self.world.site, written=[*self.documents, *self.traits()])
        return self.offer([])


_NO_CHANGE = ("deckhand/LayeringPolicy/v1", ETCD_CLUSTERS)
_ATTEMPTS = 20
_FAILS = "DeploymentGroupMinimumUnreachable"


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
    run.world.peer.enrol(name)
    return name


def _tasks(run: Run) -> str:
    """Change the task graph: a task more, another one, one less, none any more, or the servers that it is for."""
    names, chance = sorted(run.tasks), run.chance
    match chance.choice(("more", "other", "less", "none", "role")) if names else "more":
        case "more":
            run.tasks[f"t{len(run.had)}{chance.randrange(10**6)}"] = "run it"
        case "other":
            run.tasks[chance.choice(names)] += " again"
        case "less":
            del run.tasks[chance.choice(names)]
        case "none":
            run.tasks.clear()
        case _:
            run.without ^= {chance.choice(sorted(run.nodes))}
    entries = [task(name, groups=["web"], parameters={"cmd": f"{cmd} {name}"}) for name, cmd in run.tasks.items()]
    roles = {name: () if name in run.without else ("web",) for name in run.nodes}
    run.world.give_tasks([group("web"), *entries] if entries else [], roles)
    return f"{run.tasks} without {sorted(run.without)}"


CHANGES_OF: Mapping[str, Callable[[Run], str]] = {
    CONFIGURATION: _configuration,
    "shipyard/DeploymentStrategy/v1": _strategy,
    "shipyard/ExpectedHardware/v1": lambda run: run.raised("hardware", "hardware_profiles", 0),
    "shipyard/FirmwareVersions/v1": lambda run: run.raised("firmware", "versions", "bios"),
    ETCD_CLUSTERS: _fixed(ETCD_CLUSTERS, _renamed),
    GENESIS: _fixed(GENESIS, _invented),
    TRAITS: _traits,
    TEMPLATE: _template,
    MACHINE: _gone,
    TASKS: _tasks,
}
_NO_DOCUMENT = frozenset({TEMPLATE, MACHINE, TASKS})
_OF_EVERY_SITE = frozenset({TRAITS, TEMPLATE, MACHINE, TASKS})
"""What written sites change as the example does: no document that they have."""


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
