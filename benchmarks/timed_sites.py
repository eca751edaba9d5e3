"""Sites with the seconds that each node takes in each phase, and the shortest time in which they can be deployed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx


@dataclass(frozen=True)
class Group:
    """A deployment group with its own nodes; ``tolerates``: how many of them may fail."""

    name: str
    nodes: Sequence[str]
    parents: Sequence[str] = ()
    tolerates: int | None = None


@dataclass(frozen=True)
class Site:
    """Groups, and the seconds of each node in each phase."""

    title: str
    groups: Sequence[Group]
    prepare: Mapping[str, float]
    deploy: Mapping[str, float]

    def bound(self) -> float:
        """Return the length of the critical path, in seconds."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(group.name for group in self.groups)
        graph.add_edges_from((parent, group.name) for group in self.groups for parent in group.parents)
        ends: dict[str, float] = {}
        by_name = {group.name: group for group in self.groups}
        for name in nx.topological_sort(graph):
            group = by_name[name]
            began = max((ends[parent] for parent in group.parents), default=0.0)
            prepared = sorted(self.prepare[node] for node in group.nodes)
            # Without criteria the first prepared node is deployed at once, otherwise when enough nodes are prepared.
            needed = 1 if group.tolerates is None else max(len(prepared) - group.tolerates, 1)
            enough = prepared[needed - 1]
            ends[name] = began + max(max(self.prepare[one], enough) + self.deploy[one] for one in group.nodes)
        return max(ends.values())


def flat(groups: int, nodes: int, number: int) -> Site:
    """Return a chain of groups, each depending on the previous one; ``number`` is in the names of the nodes."""
    made = [
        Group(
            f"group{at:03}",
            [f"n{number}-{at:03}-{one:03}" for one in range(nodes)],
            [f"group{at - 1:03}"] if at else [],
        )
        for at in range(groups)
    ]
    return timed(f"{groups} groups of {nodes}", made, 1)


def timed(title: str, groups: Sequence[Group], seed: int) -> Site:
    """Return the site with realistic times: 10 to 25 minutes to prepare a node, 20 to 45 to deploy it."""
    dice = random.Random(seed)
    nodes = [node for group in groups for node in group.nodes]
    prepare = {node: dice.triangular(600, 1500, 800) for node in nodes}
    deploy = {node: dice.triangular(1200, 2700, 1500) for node in nodes}
    return Site(title, groups, prepare, deploy)


def shapes() -> Iterator[Site]:
    """Yield the three shapes."""

    def nodes(prefix: str, count: int) -> list[str]:
        return [f"{prefix}{number:03}" for number in range(count)]

    yield timed(
        "the design's five groups, 240 nodes",
        [
            Group("ntp-node", nodes("ntp", 1), tolerates=0),
            Group("control-nodes", nodes("ctl", 9), ["ntp-node"], tolerates=1),
            Group("compute-nodes-1", nodes("ca", 100), ["control-nodes"], tolerates=50),
            Group("compute-nodes-2", nodes("cb", 100), ["control-nodes"], tolerates=50),
            Group("monitoring-nodes", nodes("mon", 30)),
        ],
        2,
    )
    yield timed(
        "one control group, then 38 racks, 780 nodes",
        [
            Group("control", nodes("ctl", 20), tolerates=2),
            *(Group(f"rack{at:02}", nodes(f"r{at:02}-", 20), ["control"], tolerates=4) for at in range(38)),
        ],
        3,
    )
    dice = random.Random(4)
    yield timed(
        "40 groups in 8 layers, 400 nodes",
        [
            Group(
                f"g{layer}{column}",
                nodes(f"g{layer}{column}-", 10),
                [f"g{layer - 1}{one}" for one in dice.sample(range(5), 2)] if layer else [],
                tolerates=dice.choice([None, 0, 1, 3]),
            )
            for layer in range(8)
            for column in range(5)
        ],
        5,
    )
