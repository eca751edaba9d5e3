"""Cycles and orders of a dependency graph, the same for deployment groups, documents and tasks.

networkx is imported when a graph is checked: a program needs 0.1 s less CPU and 11 MB less to start (ADR 0037).
"""

from collections import deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import networkx as nx

T = TypeVar("T", bound=Hashable)


def find_cycles(dependencies: Mapping[T, Collection[T]]) -> tuple[tuple[T, ...], ...]:
    """Return one cycle for every set of nodes that depend on each other; empty if there are none.

    A set of n nodes can hold exponentially many cycles; one of each set is enough to fix it. A cycle is a path that
    begins and ends with the first node of its set in the order of the mapping, and no shorter path leads back to that
    node. A node that depends on itself is a set of its own. Cycles come in the order of their first nodes.
    Dependencies that are no keys are ignored. Linear in nodes and edges.
    """
    import networkx as nx

    graph, rank = _graph(dependencies)
    cycles = []
    for component in nx.strongly_connected_components(graph):
        start = min(component, key=rank.__getitem__)
        if len(component) > 1 or graph.has_edge(start, start):
            cycles.append(_shortest_cycle(dependencies, start, component))
    return tuple(sorted(cycles, key=lambda cycle: rank[cycle[0]]))


def in_order(dependencies: Mapping[T, Collection[T]]) -> Iterator[T]:
    """Yield each node after all that it depends on, and otherwise in the order of the mapping.

    Dependencies that are no keys are ignored. Raises ``networkx.NetworkXUnfeasible`` for a cycle.
    """
    import networkx as nx

    graph, rank = _graph(dependencies)
    return iter(nx.lexicographical_topological_sort(graph, key=rank.__getitem__))


def _graph(dependencies: Mapping[T, Collection[T]]) -> tuple["nx.DiGraph[T]", dict[T, int]]:
    """Return the graph, and the position of each node in the mapping."""
    import networkx as nx

    graph: nx.DiGraph[T] = nx.DiGraph()
    graph.add_nodes_from(dependencies)
    graph.add_edges_from((other, node) for node, others in dependencies.items() for other in others if other in graph)
    return graph, {node: position for position, node in enumerate(dependencies)}


def _shortest_cycle(dependencies: Mapping[T, Collection[T]], start: T, component: Collection[T]) -> tuple[T, ...]:
    """Return the shortest path from ``start`` back to itself, breadth first, inside its component."""
    previous: dict[T, T] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for following in dependencies[node]:
            if following == start:
                path = [start, node]
                while path[-1] != start:
                    path.append(previous[path[-1]])
                return tuple(reversed(path))
            if following in component and following not in previous:
                previous[following] = node
                queue.append(following)
    raise AssertionError(f"{start} is in a strongly connected component without a cycle")
