"""The growth of planning a task graph with the site: ``python benchmarks/task_graph.py [FILE ...]``.

Checks, parses and plans one graph for sites of 1,000 to 10,000 nodes: three controllers, the other nodes in five roles,
every role with a tag of its name. A FILE holds a graph as JSON: a list of tasks, or an object with ``tasks``. Without a
FILE, a made-up graph of 204 tasks is used: 13 groups, 6 stages, half of the tasks in groups, half of version 2 with
relations across nodes, every second one with a condition.

Exits 1 if a plan for 1,000 nodes takes more CPU than 400 fixed loops of Python (``reference``), a node of a larger site
costs more than twice a node of the smallest, or the process needs more than 500 MB.
"""

import gc
import json
import random
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import reference

from shipyard_api.domain.findings import errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.checks import check_tasks
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.plan import Plan, Site, plan
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries, choose_primaries, facts_of
from shipyard_api.domain.task_graph.tasks import Domain, parse_tasks

SIZES = (1_000, 2_000, 5_000, 10_000)
ROUNDS = 3
LIMIT_LOOPS, LIMIT_RATIO, LIMIT_MEGABYTES = 400, 2.0, 500.0
ROLES = ("compute", "ceph-osd", "cinder", "mongo", "ironic")
TAGS = ("rabbitmq", "database", "keystone", "neutron")
HA = ("controller", "mongo")


def made_up_graph() -> list[dict[str, Any]]:
    """Return a graph of 204 tasks, always the same one."""
    dice = random.Random(204)
    stages = ["pre_start", "pre_end", "deploy_start", "deploy_end", "post_start", "post_end"]
    groups = ["primary-controller", "controller", "primary-mongo", *ROLES, *(f"spare{number}" for number in range(5))]
    entries: list[dict[str, Any]] = [
        {"id": name, "type": "stage", "requires": stages[max(0, number - 1) : number]}
        for number, name in enumerate(stages)
    ]
    for number, name in enumerate(groups):
        strategy = {"type": "one_by_one"} if name.startswith("primary") else {"type": "parallel"}
        requires = ["deploy_start", *(groups[:number][-1:] if number < 3 else ["controller"])]
        entries.append(
            {
                "id": name,
                "type": "group",
                "role": [name],
                "requires": requires,
                "required_for": ["deploy_end"],
                "parameters": {"strategy": strategy},
            }
        )
    tasks = [f"task{number:03}" for number in range(204 - len(entries))]
    for number, name in enumerate(tasks):
        entry: dict[str, Any] = {"id": name, "type": "shell", "parameters": {"cmd": "true"}}
        entry["requires"] = sorted({f"task{dice.randrange(number):03}" for _ in range(3)}) if number else []
        entry["condition"] = "settings:storage.ceph == true or api.nodes_count() > 10" if number % 2 else True
        if number < len(tasks) // 2:
            # What a task of one group requires is in every group, as "hiera" and "globals" are in real graphs.
            everywhere = [one for one in entry["requires"] if int(one[4:]) % 2 == 0]
            entry |= {"requires": everywhere, "groups": [groups[number % 13]] if number % 2 else groups}
        else:
            entry |= {"version": "2.2.0", "tags": sorted(dice.sample((*ROLES, *TAGS, "/(primary-)?controller/"), 3))}
            entry["requires"] = [one for one in entry["requires"] if one >= tasks[len(tasks) // 2]]
            entry["cross-depends"] = [{"name": one, "role": "/.*/"} for one in entry["requires"][:2]]
        entries.append(entry)
    return entries


def site_of(number: int) -> tuple[list[ClusterNode], Primaries]:
    nodes = []
    for index in range(number):
        roles = ("controller",) if index < 3 else (ROLES[index % 5], *(("cinder",) if index % 7 == 0 else ()))
        tags = (*roles, *(TAGS if index < 3 else ()))
        nodes.append(ClusterNode(NodeName(f"n{index:05}"), tuple(dict.fromkeys(roles)), tuple(dict.fromkeys(tags))))
    return nodes, Primaries(
        choose_primaries(nodes, Domain.ROLES, HA, {}), choose_primaries(nodes, Domain.TAGS, (*HA, *TAGS), {})
    )


def measure(graph: TaskGraph, number: int) -> tuple[float, Plan]:
    """Return the seconds of the fastest plan for a site of this size, and the plan."""
    nodes, primaries = site_of(number)
    facts = facts_of(nodes, nodes, status="new", models={"settings": {}, "cluster": {}})
    fastest, made = float("inf"), None
    for _ in range(ROUNDS):
        gc.collect()
        start = process_time()
        made, findings = plan(graph, Site(tuple(nodes), primaries, facts))
        fastest = min(fastest, process_time() - start)
        assert not errors(findings), [finding.message for finding in findings]
    assert made is not None
    return fastest, made


def peak_megabytes() -> float:
    """Return the most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


def faults(title: str, entries: list[dict[str, Any]]) -> Iterator[str]:
    """Print the table of one graph; yield what is over its limit."""
    start = process_time()
    wrong = errors(check_tasks(entries))
    checked = process_time() - start
    print(f"\n{title}: {len(entries)} tasks, checked in {checked * 1e3:.0f} ms")
    if wrong:
        print(f"  refused: {wrong[0].message}" + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""))
        return
    start = process_time()
    graph = TaskGraph.of(parse_tasks(entries))
    print(f"  built in {(process_time() - start) * 1e3:.0f} ms: {sum(map(len, graph.before.values()))} edges")
    print(
        f"  {'nodes':>8}{'ms':>9}{'µs/node':>9}{'per node, against the smallest':>32}{'batches':>9}{'task × node':>13}"
    )
    first = 0.0
    for number in SIZES:
        taken, made = measure(graph, number)
        first = first or taken / number
        ratio = taken / number / first
        placed = sum(len(run.nodes) * len(run.tasks) for batch in made.batches for run in batch.runs)
        print(
            f"  {number:>8,}{taken * 1e3:>9.1f}{taken / number * 1e6:>9.1f}{ratio:>32.2f}"
            f"{len(made.batches):>9,}{placed:>13,}"
        )
        if number == SIZES[0]:
            loops = taken / reference.loops()
            print(f"  {'':>8}{loops:>9.0f} loops of the reference (at most {LIMIT_LOOPS})")
            if loops > LIMIT_LOOPS:
                yield f"{title}: a plan for {number:,} nodes takes {loops:.0f} loops, more than {LIMIT_LOOPS}"
        if ratio > LIMIT_RATIO:
            yield f"{title}: {number:,} nodes cost {ratio:.2f} times as much a node as {SIZES[0]:,}"


def main(files: list[str]) -> int:

    found: list[str] = []
    for name in files:
        data = json.loads(Path(name).read_text("utf-8"))
        found += faults(Path(name).name, data["tasks"] if isinstance(data, dict) else data)
    if not files:
        found += faults("made-up graph", made_up_graph())
    peak = peak_megabytes()
    print(f"\npeak memory {peak:.0f} MB")
    if peak > LIMIT_MEGABYTES:
        found.append(f"peak memory {peak:.0f} MB, more than {LIMIT_MEGABYTES:.0f} MB")
    for line in found:
        print(f"OVER THE LIMIT: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
