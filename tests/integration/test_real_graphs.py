"""Fuel's own graphs on simulated hosts, with what docs/howto/run-a-fuel-graph.md supplies in place of Fuel's server."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml

from shipyard_api.adapters.ssh.connections import Access
from shipyard_api.adapters.ssh.options import JumpHost
from shipyard_api.adapters.ssh.payload import directory_name
from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.domain.actions import RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.layers import SITE, Layer
from shipyard_api.domain.task_graph.plan import Site, SkipReason, plan
from shipyard_api.domain.task_graph.roles import MASTER, ClusterNode, facts_of
from shipyard_api.domain.task_graph.tasks import parse_tasks
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host
from shipyard_simulators.hosts import programs
from shipyard_simulators.hosts.simulator import running
from tests.software_world import SoftwareWorld
from tests.task_graphs import real_graph

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "run-a-fuel-graph.md"
ROLES = {"node-1": "primary-controller", "node-2": "compute", "node-3": "cinder"}
ADDRESSES = {name: (f"10.0.0.{number}",) for number, name in enumerate((*ROLES, MASTER), 1)}
KEPT = '#!/bin/sh\necho "${0##*/} $*" >>"$SIMULATED_DIRECTORY/ran"\n'
STUBS = dict.fromkeys(("puppet", "rsync", "ruby", "ntpdate"), KEPT)
"""Programs of a node that would change this machine; each only notes its call."""
FUEL = "/var/lib/fuel"
FALSE = {
    "ceph_ready_check",
    "restart_rados",
    "vcenter_compute_zones_create",
    "vmware-vcenter",
    "top-role-cinder-vmware",
}
"""Tasks of 6.1 whose condition does not hold with the documented settings."""
SCRIPT = Path("etc/puppet/modules/osnailyfacter/modular/astute/generate_keys.sh")


def documented(name: str) -> Any:
    """Return the file of this name as the page shows it."""
    found = re.search(rf"`{re.escape(name)}`.*?```yaml\n(.*?)\n *```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found, name
    return yaml.safe_load(found[1])


def on_simulated_hosts(entries: Sequence[Mapping[str, Any]], directory: Path) -> list[dict[str, Any]]:
    """Return tasks whose commands stay in the directory of their host; uploads and copies do by themselves."""

    def local(name: str, value: Any) -> Any:
        if name == "cmd":
            return re.sub(r"(?<![\w.])/(etc|var)/", r'"$SHIPYARD_ROOT"/\1/', value)
        if name == "dst":
            return str(directory / "modules")
        if name == "files":
            fuel = f"{directory}/hosts/{MASTER}/root{FUEL}"
            return [{**file, "src": file["src"].replace(FUEL, fuel, 1)} for file in value]
        return value

    return [
        {**entry, "parameters": {name: local(name, value) for name, value in entry["parameters"].items()}}
        if "parameters" in entry
        else dict(entry)
        for entry in entries
    ]


class FuelSite:
    """Three nodes and the master of a Fuel site, on simulated hosts that have Fuel's scripts."""

    def __init__(self, cleanup: ExitStack, url: str, version: str) -> None:
        self.graph = {entry["id"]: entry for entry in real_graph(version)}
        self.own = {entry["id"]: entry for entry in documented(f"own-{version}.yaml")}
        self.simulator = cleanup.enter_context(running(addresses=ADDRESSES))
        directory = self.simulator.directory
        programs.write(directory / "bin", STUBS)
        root = directory / "hosts" / MASTER / "root"
        copied = [file for entry in self.graph.values() for file in entry.get("parameters", {}).get("files", ())]
        files = [file["src"].replace("{CLUSTER_ID}", "1") for file in copied if "/keys/" in file["src"]]
        made = "\n".join(f'echo key | install -D /dev/stdin "$SHIPYARD_ROOT"{shlex.quote(key)}' for key in files)
        programs.write((root / SCRIPT).parent, {SCRIPT.name: f"{KEPT}{made}\n"})
        (root / FUEL[1:]).mkdir(parents=True)
        jump = JumpHost("shipyard", "127.0.0.1", self.simulator.ssh_port)
        access = Access("root", str(directory / "key"), str(directory / "known_hosts"), jump=jump)
        tasks = SshRemoteTasks(access, limit=60, directory=root / FUEL[1:])
        cleanup.callback(tasks.close)
        hosts = {NodeName(name): Host(NodeName(name), address) for name, (address,) in ADDRESSES.items()}
        entries = on_simulated_hosts(list(self.graph.values()), directory)
        self.values = documented("values.yaml")
        settings = documented("settings.yaml")["editable"]
        self.facts = facts_of((), (), status="new", models={"settings": settings})
        self.world = SoftwareWorld(url, entries, ROLES, {"values": self.values}, tasks=tasks, hosts=hosts)
        cleanup.callback(self.world.close)
        with self.world.store().begin() as tx:
            cluster = tx.software.cluster(SITE)
            assert cluster
            own = Layer(tuple(on_simulated_hosts(list(self.own.values()), directory)))
            tx.software.save_cluster(replace(cluster, own=own, settings=settings))
        self.world.run(self.world.worker(), pace=0.01)
        assert self.world.state() is RunState.SUCCESS, self.world.steps()

    def started(self) -> list[tuple[str, str]]:
        """Return the task and node of each start that a host was asked for in the latest run, in order."""
        names = {directory_name(Marker(row.marker)): row.task for row in self.world.results()}
        asked = [
            (names.get(found[1]), event["host"])
            for event in self.simulator.events()
            if event["event"] == "command" and (found := re.search(r" shipyard start (\S+) ", event["command"]))
        ]
        return [(task, node) for task, node in asked if task is not None]

    def ran(self, node: str) -> Counter[str]:
        """Return how often each program that stands for one of a node was called there."""
        return Counter((self.simulator.directory / "hosts" / node / "ran").read_text().splitlines())

    def written(self, node: str, path: str) -> str:
        return (self.simulator.directory / "hosts" / node / "root" / path).read_text()


def is_computed(entry: Mapping[str, Any]) -> bool:
    return any(isinstance(entry.get(field), dict) for field in ("condition", "cross-depends", "cross-depended-by"))


def expected(graph: Mapping[str, Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """Return each task that can be evaluated, and whose condition holds, on its nodes."""
    found: Counter[tuple[str, str]] = Counter()
    for entry in graph.values():
        runs = entry["type"] not in ("group", "stage", "skipped") and not is_computed(entry)
        placed = entry.get("role") or entry.get("groups") or ()
        names = {placed} if isinstance(placed, str) else {*placed}
        for node, role in (*ROLES.items(), (MASTER, MASTER)):
            everywhere = role != MASTER and not names.isdisjoint({"*", "/.*/"})
            if runs and entry["id"] not in FALSE and (role in names or everywhere):
                found[entry["id"], node] += 1
    return found


def disorder(started: Sequence[tuple[str, str]], graph: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return each task on a node that began before one that it waits for, with that one and its node.

    On one node a task waits for all that it requires, and everywhere for those of the master. A stage, and a group, is
    one point for all nodes where tasks have no version, as before Fuel 8.
    """
    order = nx.DiGraph()
    for name, entry in graph.items():
        order.add_node(name)
        order.add_edges_from((early, name) for early in entry.get("requires", ()) if early in graph)
        order.add_edges_from((name, late) for late in entry.get("required_for", ()) if late in graph)
    across = not any("version" in entry for entry in graph.values())
    wrong = []
    for position, (late, node) in enumerate(started):
        waits = nx.ancestors(order, late)
        stages = [one for one in waits if graph[one]["type"] == "stage"] if across else []
        everywhere = {early for stage in stages for early in nx.ancestors(order, stage)}
        everywhere |= {early for early in waits if graph[early].get("role") == MASTER}
        group = ROLES.get(node) if across and "groups" in graph[late] else None
        groups = {one for one in nx.ancestors(order, group) if graph[one]["type"] == "group"} if group else set()
        wrong += [
            (early, at, late, node)
            for early, at in started[position + 1 :]
            if (early in waits and at == node)
            or early in everywhere
            or ("groups" in graph[early] and ROLES.get(at) in groups)
        ]
    return wrong


# Tasks on nodes that run, how many tasks these are, and those that are not evaluated: as the page has them.
COUNTS = {"6.1": (106, 63, 0), "9.2": (24, 10, 171)}


@pytest.mark.parametrize("version", COUNTS)
def test_a_graph_of_fuel_runs_with_what_its_server_supplied(database_url: str, version: str) -> None:
    with ExitStack() as cleanup:
        site = FuelSite(cleanup, database_url, version)
        started, graph = site.started(), {**site.graph, **site.own}

        computed = {name for name, entry in graph.items() if is_computed(entry)}
        nodes = tuple(ClusterNode(NodeName(name), roles=(role,)) for name, role in ROLES.items())
        planned, _ = plan(TaskGraph.of(parse_tasks(graph.values())), Site(nodes, facts=site.facts))
        assert planned is not None
        assert {name for name, why in planned.skipped.items() if why is SkipReason.COMPUTED} == computed
        assert Counter(started) == expected(graph)
        assert (len(started), len({task for task, _ in started}), len(computed)) == COUNTS[version]
        assert disorder(started, graph) == []

        puppet = Counter(node for task, node in started if graph[task]["type"] == "puppet")
        for name in ROLES:
            assert sum(times for call, times in site.ran(name).items() if call.startswith("puppet ")) == puppet[name]
            assert site.written(name, "var/lib/astute/nova/nova.pub") == "key\n"
            assert site.written(name, "etc/astute.yaml") == site.values["nodes"][name]["astute_yaml"]
        if version == "6.1":
            assert site.written("node-2", "etc/hiera/nodes.yaml") == site.values["all"]["nodes_yaml"]
