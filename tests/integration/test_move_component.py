"""Moving a component to another node, on real hosts (seed 002, Documentation impact; howto: place-software-by-tags)."""

import sys
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.ports.remote_tasks import Host
from tests.contract.remote_task_sites import sshd
from tests.software_world import SoftwareWorld
from tests.task_graphs import task

BACKENDS = f"""{sys.executable} - >"${{SHIPYARD_TASKS%/tasks}}/haproxy.cfg" <<'end'
import json, os
for name, networks in json.load(open(os.environ["SHIPYARD_FACTS"]))["tags"]["mysql"].items():
    print("server", name, networks["oam"])
end
grep -q '"mysql":' "$SHIPYARD_FACTS_YAML"
"""
GRAPH = [
    task("mysql", tags=["mysql"], parameters={"cmd": 'echo {NODE} {ADDRESS.oam} >"${SHIPYARD_TASKS%/tasks}/my.cnf"'}),
    task("haproxy", tags=["controller-common"], requires=["mysql"], parameters={"cmd": BACKENDS}),
]


def test_haproxy_finds_mysql_after_it_has_moved(database_url: str, tmp_path: Path) -> None:
    with ExitStack() as cleanup:
        site = sshd(cleanup, tmp_path, count=2)
        hosts = {NodeName(one.name): Host(one.name, one.address, one.port) for one in site.hosts}
        world = SoftwareWorld(database_url, GRAPH, dict.fromkeys(hosts, "controller"), tasks=site.tasks, hosts=hosts)
        cleanup.callback(world.close)

        def assign(**tags: tuple[str, ...]) -> None:
            with world.store().begin() as tx:
                for node in tx.software.nodes(SITE):
                    tx.software.save_node(replace(node, tags=tags.get(node.name, node.tags)))

        def run(number: int, nodes: list[str], tasks: list[str]) -> None:
            world.limited = {"nodes": nodes, "tasks": tasks}
            world.create(ActionId(str(number).rjust(26, "0")))
            world.run(world.worker(), pace=0.02)
            assert world.state() is RunState.SUCCESS, world.steps()

        def written(node: str, file: str) -> str:
            return (tmp_path / node / file).read_text()

        assign(n1=("mysql", "controller-common"))
        world.run(world.worker(), pace=0.02)
        assert world.state() is RunState.SUCCESS, world.steps()
        assert (written("n1", "my.cnf"), written("n1", "haproxy.cfg")) == ("n1 10.0.0.1\n", "server n1 10.0.0.1\n")

        assign(n2=("mysql",))
        run(1, ["n2"], ["mysql"])
        assert written("n2", "my.cnf") == "n2 10.0.0.2\n"
        assign(n1=("controller-common",))
        run(2, ["n1"], ["haproxy"])

        assert written("n1", "haproxy.cfg") == "server n2 10.0.0.2\n"
