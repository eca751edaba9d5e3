"""Fuel's own graphs with what docs/howto/run-a-fuel-graph.md supplies in place of Fuel's server.

They run on hosts in memory, and a part of one on real ones: OpenSSH servers whose environment gives tasks a directory
in place of the file system, and programs that only note how they were called.
"""

import os
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml
from msgspec.structs import replace

from shipyard_api.adapters.ssh.login import Access
from shipyard_api.adapters.ssh.remote_tasks import SshRemoteTasks
from shipyard_api.adapters.ssh.supervisor import directory_name
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
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.software_world import SoftwareWorld
from tests.sshd import MISSING, Keys, Sshd, user
from tests.task_graphs import real_graph

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "run-a-fuel-graph.md"
ROLES = {"node-1": "primary-controller", "node-2": "compute", "node-3": "cinder"}
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


def in_directories(entries: Sequence[Mapping[str, Any]], directory: Path) -> list[dict[str, Any]]:
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


class HostsInMemory:
    """Hosts on which every task succeeds."""

    def __init__(self, names: Sequence[str], directory: Path) -> None:
        self.directory = directory
        self.hosts = {NodeName(name): Host(NodeName(name), f"10.0.0.{number}") for number, name in enumerate(names, 1)}


class RealHosts:
    """OpenSSH servers with the environment of simulated hosts."""

    def __init__(self, cleanup: ExitStack, names: Sequence[str], directory: Path) -> None:
        self.directory = directory
        keys = Keys(directory)
        self._servers = {}
        for name in names:
            own = directory / "hosts" / name
            environment = {
                "SHIPYARD_ROOT": str(own / "root"),
                "SIMULATED_DIRECTORY": str(own),
                "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
            }
            self._servers[name] = server = Sshd(keys, own, environment=environment)
            boot = own / "root" / "proc" / "sys" / "kernel" / "random" / "boot_id"
            boot.parent.mkdir(parents=True)
            boot.write_text("1\n")
            server.start()
            cleanup.callback(server.end_tasks)
            cleanup.callback(server.stop)
        programs.write(directory / "bin", programs.PROGRAMS)
        self.access = Access(user(), str(keys.key), str(keys.known_hosts))
        self.hosts = {
            NodeName(name): Host(NodeName(name), one.address, one.port) for name, one in self._servers.items()
        }

    def started(self) -> list[tuple[str, str]]:
        """Return the directory name and node of each task that began, in order."""
        claims = [
            (claim.stat().st_mtime_ns, claim.parent.name, name)
            for name, server in self._servers.items()
            for claim in server.tasks.glob("*/run")
        ]
        return [(task, name) for _, task, name in sorted(claims)]


class FuelSite:
    """Nodes and the master of a Fuel site, on hosts that have Fuel's scripts. ``chosen``: the only tasks that run."""

    def __init__(
        self,
        cleanup: ExitStack,
        url: str,
        version: str,
        hosts: HostsInMemory | RealHosts,
        roles: Mapping[str, str] = ROLES,
        chosen: Sequence[str] | None = None,
    ) -> None:
        self.graph = {entry["id"]: entry for entry in real_graph(version)}
        self.own = {entry["id"]: entry for entry in documented(f"own-{version}.yaml")}
        self._hosts, directory = hosts, hosts.directory
        programs.write(directory / "bin", STUBS)
        root = directory / "hosts" / MASTER / "root"
        copied = [file for entry in self.graph.values() for file in entry.get("parameters", {}).get("files", ())]
        files = [file["src"].replace("{CLUSTER_ID}", "1") for file in copied if "/keys/" in file["src"]]
        made = "\n".join(f'echo key | install -D /dev/stdin "$SHIPYARD_ROOT"{shlex.quote(key)}' for key in files)
        programs.write((root / SCRIPT).parent, {SCRIPT.name: f"{KEPT}{made}\n"})
        (root / FUEL[1:]).mkdir(parents=True)
        tasks: Any = FakeRemoteTasks()
        if not isinstance(hosts, HostsInMemory):
            tasks = SshRemoteTasks(hosts.access, limit=60, directory=root / FUEL[1:])
            cleanup.callback(tasks.close)
        entries = in_directories(list(self.graph.values()), directory)
        self.values = documented("values.yaml")
        nodes = {name: {"astute_yaml": f"{{role: {role}}}\n"} for name, role in roles.items()}
        self.values["nodes"] = {**nodes, **self.values["nodes"]}
        settings = documented("settings.yaml")["editable"]
        self.facts = facts_of((), (), status="new", models={"settings": settings})
        limited = {"values": self.values, **({} if chosen is None else {"tasks": list(chosen)})}
        self.world = SoftwareWorld(url, entries, roles, limited, tasks=tasks, hosts=hosts.hosts)
        cleanup.callback(self.world.close)
        with self.world.store().begin() as tx:
            cluster = tx.software.cluster(SITE)
            assert cluster
            own = Layer(tuple(in_directories(list(self.own.values()), directory)))
            tx.software.save_cluster(replace(cluster, own_layer=own, settings=settings))
        self.world.run(self.world.worker(), pace=0.01)
        assert self.world.state() is RunState.SUCCESS, self.world.steps()

    def started(self) -> list[tuple[str, str]]:
        """Return the task and node of each start, in order."""
        if isinstance(self._hosts, HostsInMemory):
            return self.world.started()
        names = {directory_name(Marker(row.marker)): row.task for row in self.world.results()}
        return [(names[directory], node) for directory, node in self._hosts.started()]

    def ran(self, node: str) -> Counter[str]:
        """Return how often each program that stands for one of a node was called there."""
        return Counter((self._hosts.directory / "hosts" / node / "ran").read_text().splitlines())

    def written(self, node: str, path: str) -> str:
        return (self._hosts.directory / "hosts" / node / "root" / path).read_text()


def is_computed(entry: Mapping[str, Any]) -> bool:
    return any(isinstance(entry.get(field), dict) for field in ("condition", "cross-depends", "cross-depended-by"))


def expected(graph: Mapping[str, Mapping[str, Any]], roles: Mapping[str, str] = ROLES) -> Counter[tuple[str, str]]:
    """Return each task that can be evaluated, and whose condition holds, on its nodes."""
    found: Counter[tuple[str, str]] = Counter()
    for entry in graph.values():
        runs = entry["type"] not in ("group", "stage", "skipped") and not is_computed(entry)
        placed = entry.get("role") or entry.get("groups") or ()
        names = {placed} if isinstance(placed, str) else {*placed}
        for node, role in (*roles.items(), (MASTER, MASTER)):
            everywhere = role != MASTER and not names.isdisjoint({"*", "/.*/"})
            if runs and entry["id"] not in FALSE and (role in names or everywhere):
                found[entry["id"], node] += 1
    return found


def disorder(
    started: Sequence[tuple[str, str]], graph: Mapping[str, Mapping[str, Any]], roles: Mapping[str, str] = ROLES
) -> list[tuple[str, ...]]:
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
        group = roles.get(node) if across and "groups" in graph[late] else None
        groups = {one for one in nx.ancestors(order, group) if graph[one]["type"] == "group"} if group else set()
        wrong += [
            (early, at, late, node)
            for early, at in started[position + 1 :]
            if (early in waits and at == node)
            or early in everywhere
            or ("groups" in graph[early] and roles.get(at) in groups)
        ]
    return wrong


# Tasks on nodes that run, how many tasks these are, and those that are not evaluated: as the page has them.
COUNTS = {"6.1": (106, 63, 0), "9.2": (24, 10, 171)}


@pytest.mark.parametrize("version", COUNTS)
def test_a_graph_of_fuel_runs_with_what_its_server_supplied(database_url: str, tmp_path: Path, version: str) -> None:
    with ExitStack() as cleanup:
        site = FuelSite(cleanup, database_url, version, HostsInMemory((*ROLES, MASTER), tmp_path))
        started, graph = site.started(), {**site.graph, **site.own}

        computed = {name for name, entry in graph.items() if is_computed(entry)}
        nodes = tuple(ClusterNode(NodeName(name), roles=(role,)) for name, role in ROLES.items())
        planned, _ = plan(TaskGraph.of(parse_tasks(graph.values())), Site(nodes, facts=site.facts))
        assert planned is not None
        assert {name for name, why in planned.skipped.items() if why is SkipReason.COMPUTED} == computed
        assert Counter(started) == expected(graph)
        assert (len(started), len({task for task, _ in started}), len(computed)) == COUNTS[version]
        assert disorder(started, graph) == []


PART = (
    *("upload_settings", "upload_core_repos", "generate_keys", "copy_keys", "rsync_core_puppet"),
    *("globals", "netconfig", "cluster", "database", "keystone", "openstack-controller"),
    *("top-role-compute", "top-role-cinder"),
    *("upload_nodes_info", "update_hosts"),
)
"""Tasks of 6.1 of each type, stage and group: every node has some, and waits for others."""


def test_a_part_of_a_graph_of_fuel_runs_on_real_hosts(database_url: str, tmp_path: Path) -> None:
    if MISSING:
        pytest.skip(MISSING)
    with ExitStack() as cleanup:
        hosts = RealHosts(cleanup, (*ROLES, MASTER), tmp_path)
        site = FuelSite(cleanup, database_url, "6.1", hosts, chosen=PART)
        started, graph = site.started(), {**site.graph, **site.own}

        wanted = Counter(one for one in expected(graph).elements() if one[0] in PART)
        assert Counter(started) == wanted
        assert {task for task, _ in started} == {*PART}
        assert disorder(started, graph) == []
        puppet = Counter(node for task, node in started if graph[task]["type"] == "puppet")
        for name in ROLES:
            assert sum(times for call, times in site.ran(name).items() if call.startswith("puppet ")) == puppet[name]
            assert site.written(name, "var/lib/astute/nova/nova.pub") == "key\n"
            assert site.written(name, "etc/astute.yaml") == site.values["nodes"][name]["astute_yaml"]
            assert site.written(name, "etc/hiera/nodes.yaml") == site.values["all"]["nodes_yaml"]
