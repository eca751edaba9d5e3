"""The engine's share of running a task graph: ``python benchmarks/software.py [--nodes 1000] [FILE]``.

One worker in this process runs the graph on hosts that answer at once, on a durable embedded Postgres: what is left is
the cost of Shipyard itself. FILE and the sites are those of ``task_graph.py``. Reported are the planning, the run as
wall and CPU time, the cost of a piece of work (one task on up to fifty nodes) and of a row (one task on one node), and
the peak memory.

Exits 1 if a piece takes more than ``MOST_OF_PHASE`` times eight bare transactions and a fixed loop of Python
(``reference``), or the process needs more than 500 MB.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import installation
import reference
import sqlalchemy as sa
from task_graph import made_up_graph, peak_megabytes, site_of

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.software_steps import SOFTWARE
from shipyard_api.actions.steps.software.software_stage import PlanSoftware, SoftwareStage
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.actions.steps.software.task_item import TaskItem
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.execution import Rules
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.plan import Site, plan
from shipyard_api.domain.task_graph.roles import MASTER, ClusterNode, facts_of
from shipyard_api.domain.task_graph.tasks import parse_tasks
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host, Output, RemoteResult, RemoteState, RemoteTask
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.turn import Engine

ROOT = Path(__file__).resolve().parents[1]
UPDATE = ActionName("update_software")
ACTION = ActionId("0" * 26)
MOST_OF_PHASE, MOST_MEGABYTES = 6.0, 500.0


class InstantHosts:
    """Hosts on which every task has ended before they are asked."""

    def start(self, marker: Marker, task: RemoteTask, hosts: Sequence[Host]) -> Mapping[NodeName, RemoteResult]:
        """Return a success of every host."""
        return {host.name: RemoteResult(RemoteState.SUCCESS, 0, 1, 0.1, "done", 4) for host in hosts}

    look = stop = start

    def output(self, marker: Marker, host: Host, **_: Any) -> Output | None:
        """Return nothing."""
        return None


def planned(entries: list[dict[str, Any]], number: int) -> StageSoftware:
    """Return the plan of a graph for a site of this size."""
    graph = TaskGraph.of(parse_tasks(entries))
    nodes, primaries = site_of(number)
    facts = facts_of(nodes, nodes, status="new", models={"settings": {}, "cluster": {}})
    made, findings = plan(graph, Site(tuple(nodes), primaries, facts))
    assert made is not None, [finding.message for finding in findings]
    # The commands of the graph do not matter here.
    documents = {task: {"id": task, "type": "shell", "parameters": {"cmd": "true"}} for task in graph.tasks}
    hosts = {node.name: Host(node.name, "192.0.2.1") for node in (*nodes, ClusterNode(MASTER))}
    return StageSoftware(made.flow, Rules.of(graph, made.groups), documents, hosts)


def run(url: str, software: StageSoftware) -> int:
    """Run the action in this process until it has ended; return the number of its work items."""
    database = connect(url, pool_size=3)
    store = Store(database, ProcrastinateWakeup())

    def plan_it(_: PlanSoftware) -> StageSoftware:
        return software

    step = SoftwareStage(SOFTWARE, plan_it, TaskItem(InstantHosts(), splits=True))
    engine = Engine(
        store,
        {UPDATE: Definition(UPDATE, fixed(step), read=ActionInputs.from_json)},
        DatabaseClock(database, ProcrastinateWakeup()),
        settle=1.0,
        worker="worker-1",
    )
    inputs = {"v": 1, "revision": 1, "action": ACTION, "software": {}}
    with store.begin() as tx:
        tx.actions.create(NewAction(ACTION, UPDATE, {}, "ann", str(uuid4()), None, None, inputs, (SOFTWARE,)))
    while True:
        engine.run(ACTION)
        engine.items.run(ACTION, "run-1")
        with store.begin() as tx:
            record = tx.actions.get(ACTION)
        assert record is not None
        if record.state in ENDED:
            with store.begin() as tx:
                assert record.state is RunState.SUCCESS, tx.actions.steps([ACTION])
            break
    with database.connect() as connection:
        items: int = connection.execute(sa.text("SELECT count(*) FROM work_items")).scalar_one()
    database.dispose()
    return items


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("file", nargs="?")
    options = parser.parse_args(arguments)
    entries = made_up_graph()
    if options.file:
        data = json.loads(Path(options.file).read_text("utf-8"))
        entries = data["tasks"] if isinstance(data, dict) else data
    began = time.perf_counter()
    software = planned(entries, options.nodes)
    planning = time.perf_counter() - began
    flow = software.flow
    rows = sum(len(flow.nodes[cell.number]) for cell in flow.cells)
    with installation.address() as url:
        began, cpu = time.perf_counter(), time.process_time()
        pieces = run(url, software)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        database = connect(url, pool_size=1)
        ratio = seconds / pieces / reference.Phase(database)()
        database.dispose()
    peak = peak_megabytes()
    size = f"{rows} results in {pieces} pieces"
    print(f"{options.nodes} nodes, {len(entries)} tasks: {size}")
    print(f"  planned in {planning * 1e3:.0f} ms; run in {seconds:.1f} s, {cpu:.1f} s of CPU")
    print(f"  {seconds / pieces * 1e3:.2f} ms a piece, {seconds / rows * 1e6:.0f} µs a result, peak {peak:.0f} MB")
    print(f"  a piece: {ratio:.2f} times the reference (at most {MOST_OF_PHASE:g})")
    return int(ratio > MOST_OF_PHASE or peak > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
