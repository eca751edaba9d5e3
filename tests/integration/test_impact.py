"""Random changes of a design before simulated peers: what the plan says of each node is what the peers' own logs show.

A run is a seed: changes of one to three values of any document that reaches a node, each followed by an update of the
site, another one, and then a redeployment or an adoption of what was left.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from shipyard_api.domain.actions import ActionName, RunState
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.impact import DONE, Impact
from shipyard_api.domain.specification.kinds import KINDS, Reach
from shipyard_api.usecases.actions.design_changes import DesignChanges, design_changes
from shipyard_api.usecases.callers.caller import Caller
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_api.usecases.nodes.adopt import AdoptNodes
from tests.factories import document, group_entry
from tests.redeploy_world import NODES, RedeployWorld
from tests.simulated_peers import PEERS

UPDATE, REDEPLOY = ActionName("update_site"), ActionName("redeploy_server")
COMMITS = {"allow-intermediate-commits": True}
CHANGES = 2
RUNS = 500 // 10
LONG = 10
NETWORKS, LINKS = ("oob", "oam", "storage"), ("pxe", "bond0")

SEEDS = [
    *(pytest.param(peer, number, CHANGES, id=f"{peer}-{number}") for number, peer in enumerate(PEERS)),
    *(
        pytest.param(peer, number, LONG, id=f"{peer}-{number}", marks=pytest.mark.crash)
        for peer in PEERS
        for number in range(100, 100 + RUNS)
    ),
]
Documents = list[dict[str, Any]]


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
        *(document(kind, kind.split("/")[1].lower(), "text") for kind in _TEXTS),
    ]


_TEXTS = sorted(kind for kind, known in KINDS.items() if known.reach is Reach.JOIN)
# What our own peers read by themselves: a random change would only break the world.
_FIXED = {"promenade/EtcdClusters/v1", "promenade/Genesis/v1", "shipyard/NodeTraits/v1"}


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
    chance: Random
    documents: Documents = field(default_factory=design)
    nodes: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: node(int(name[1:])) for name in NODES})
    changed: list[str] = field(default_factory=list)

    def commit(self) -> Revision:
        fixed = [each for each in self.world.site.further if each["schema"] in _FIXED]
        self.world.site = replace(self.world.site, nodes=self.nodes, further=[*fixed, *self.documents])
        self.world._commit([group_entry("all", selectors=[{"node_names": list(NODES)}])])
        revision = committed_revision(self.world.designs().heads())
        assert revision
        self.world.peer.publish(revision, self.world._documents)
        return revision

    def plan(self) -> DesignChanges:
        planner = self.world.check().plan_steps
        revision = committed_revision(self.world.designs().heads())
        assert revision
        deployed = planner.deployed(list(map(NodeName, NODES)))
        services = not self.world.rules.limits.no_service
        changes = design_changes(planner.specifications, revision, {}, deployed, services=services)
        assert changes
        return changes

    def act(self, name: ActionName, **parameters: Any) -> list[str]:
        """Run an action, and return what the peers' own logs say of nodes since."""
        self.world.create(name, **parameters)
        self.world.run(self.world.worker())
        assert self.world.state() is RunState.SUCCESS, self.world.told()
        return self.world.story()

    def mutate(self) -> None:
        """Change one value somewhere."""
        number = self.chance.randrange(len(self.documents) + len(self.nodes))
        if number >= len(self.documents):
            name = sorted(self.nodes)[number - len(self.documents)]
            self.changed.append(f"drydock/BaremetalNode/v1 {name} {self._within(self.nodes[name])}")
            return
        entry = self.documents[number]
        if isinstance(entry["data"], str):
            entry["data"] += "x"
            where = "data"
        else:
            where = self._within(entry["data"])
        self.changed.append(f"{entry['schema']} {entry['metadata']['name']} {where}")

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
        run = Run(world, random.Random(seed))
        run.commit()
        settle(run)
        for _ in range(changes):
            check(run)
    finally:
        world.close()


def settle(run: Run) -> None:
    """Let every node have what the design says."""
    revision = committed_revision(run.world.designs().heads())
    assert revision
    adopt = AdoptNodes(run.world.check().plan_steps, run.world.clock)
    adopt(list(map(NodeName, NODES)), revision, Caller("tester", frozenset({"admin"}), "key"))


def check(run: Run) -> None:
    run.changed.clear()
    for _ in range(run.chance.randint(1, 3)):
        run.mutate()
    run.commit()
    planned = run.plan()
    said = {node: entry.impact for node, entry in planned.nodes.items()}
    about = f"{run.changed}: {said}"
    relabelled = {node for node, entry in planned.nodes.items() if entry.impact in DONE and "labels" in entry.aspects}
    story = run.act(UPDATE, **COMMITS)
    assert happened(run, story, "destroy") == set(), about
    assert labels_set(run, story) == relabelled, about
    if run.world.peer.name != "drydock":  # which is sent all nodes, and leaves deployed ones alone itself
        assert {line for line in story if line.split()[0] in ("prepare", "deploy", "service")} == set(), about
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
    assert run.plan().counts == {Impact.UNCHANGED: len(NODES)}, about


def happened(run: Run, story: list[str], what: str) -> set[str]:
    return {line.split()[1] for line in story if line.split()[0] == what}


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
