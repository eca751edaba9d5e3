"""Plans of task graphs for tests."""

from collections.abc import Iterable, Sequence
from typing import Any

from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.conditions import Facts
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.plan import Batch, Plan, Site, plan
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries
from shipyard_api.domain.task_graph.selection import EVERYTHING, Selection
from shipyard_api.domain.task_graph.tasks import TaskId
from tests.task_graphs import graph


def node(name: str, *roles: str, tags: Sequence[str] = (), **fields: Any) -> ClusterNode:
    return ClusterNode(NodeName(name), tuple(roles), tuple(tags), **fields)


def order_on(made: Plan, name: str) -> tuple[TaskId, ...]:
    """Return the tasks of a node in the order in which they run."""
    return tuple(task for batch in made.batches for run in batch.runs if name in run.nodes for task in run.tasks)


def planned(
    entries: Sequence[dict[str, Any]] | TaskGraph,
    nodes: Iterable[ClusterNode],
    *,
    primaries: Primaries | None = None,
    facts: Facts | None = None,
    selection: Selection = EVERYTHING,
) -> Plan:
    """Return the plan of a graph and nodes that have one."""
    made, findings = attempt(entries, nodes, primaries=primaries, facts=facts, selection=selection)
    assert errors(findings) == ()
    assert made is not None
    return made


def attempt(
    entries: Sequence[dict[str, Any]] | TaskGraph,
    nodes: Iterable[ClusterNode],
    *,
    primaries: Primaries | None = None,
    facts: Facts | None = None,
    selection: Selection = EVERYTHING,
) -> tuple[Plan | None, tuple[Finding, ...]]:
    tasks = entries if isinstance(entries, TaskGraph) else graph(*entries)
    return plan(tasks, Site(tuple(nodes), primaries or Primaries(), facts or Facts()), selection)


def nodes_of(batch: Batch) -> list[str]:
    return [name for run in batch.runs for name in run.nodes]


def waves_of(made: Plan) -> list[list[str]]:
    """Return the nodes of each batch."""
    return [nodes_of(batch) for batch in made.batches]


SEED_NODES = [
    node("node-1", "primary-controller"),
    *(node(f"node-{number}", "controller") for number in (4, 2, 3, 5)),
    node("node-6", "cinder"),
    node("node-7", "network"),
    node("node-8", "compute"),
]
